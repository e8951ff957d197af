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
    """Run scikit-learn's `check_estimator`; raise one `LawError` that tells all failures.

    Parameters
    ----------
    estimator : estimator
        It is cloned.
    expected_failed : mapping of str to str, optional
        Checks that cannot pass, and why. One that passes after all is a failure.

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
    problems = [problem for result in results if (problem := _problem(result))]
    if problems:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        raise LawError(f"scikit-learn's checks [{type(estimator).__name__}]:{lines}")


def _problem(result: Mapping[str, Any]) -> str | None:
    if result["status"] == "failed":
        return f"{result['check_name']}: {_told(result['exception'])}"
    if result["status"] == "passed" and result["expected_to_fail"]:
        return f"{result['check_name']} passes; it was expected to fail"
    return None


def _told(error: Exception) -> str:
    """What an error says; a bare assertion says its line."""
    text = str(error).strip() or traceback.extract_tb(error.__traceback__)[-1].line
    return f"{type(error).__name__}: {text}"
