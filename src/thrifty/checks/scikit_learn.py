"""Law 6: scikit-learn's own checks pass."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from thrifty.checks.verdict import LawError

__all__ = ["check_sklearn"]


def check_sklearn(estimator: Any, expected_failed: Mapping[str, str] | None = None) -> None:
    """Run scikit-learn's `check_estimator`; raise one `LawError` that lists all failures.

    Parameters
    ----------
    estimator : estimator
        It is cloned.
    expected_failed : mapping of str to str, optional
        Names of checks that cannot pass, and why. It is a failure if one of them passes.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.checks import check_sklearn
    >>> check_sklearn(GreedyMiserRegressor(n_estimators=10))
    """
    reasons = dict(expected_failed or {})
    results = check_estimator(
        clone(estimator), expected_failed_checks=reasons, on_skip=None, on_fail=None
    )
    problems = []
    for result in results:
        name, error = result["check_name"], result["exception"]
        if result["status"] == "failed":
            # A bare assertion has no message: show its line instead.
            text = str(error).strip() or traceback.extract_tb(error.__traceback__)[-1].line
            problems.append(f"{name}: {type(error).__name__}: {text}")
        elif result["status"] == "passed" and result["expected_to_fail"]:
            problems.append(f"{name} passes; it was expected to fail")
    if problems:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        raise LawError(f"scikit-learn's checks [{type(estimator).__name__}]:{lines}")
