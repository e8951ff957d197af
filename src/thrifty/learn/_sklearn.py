"""Everything that Thrifty takes from scikit-learn's private modules, in one place.

scikit-learn may move these names in any release; then this is the only file to mend.
"""

from __future__ import annotations

from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as count_rows

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_sample_weight",
    "count_rows",
    "take_rows",
]
