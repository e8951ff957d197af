"""The laws that every estimator obeys, as a suite that anyone can run on an estimator.

1. A walk says what the batch says, in any order the values arrive.
2. A value that is not used can be replaced by anything.
3. A group is paid once, prices scale, a free feature never raises a bill.
4. A model is saved and loaded to the same bits, and a damaged file is refused.
5. The same seed gives the same model for any number of threads.
6. scikit-learn's own checks pass.
7. Along `path`, bill and quality are those of the models.

The laws need no test framework: a law that is broken raises `LawError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from thrifty.checks.bills import law_bills, law_free, law_penalty, law_receipts, law_scale
from thrifty.checks.cases import Case, Rows, make_cases, make_crowd
from thrifty.checks.files import law_damage, law_files, law_twin
from thrifty.checks.paths import law_path, law_score
from thrifty.checks.scikit_learn import check_sklearn
from thrifty.checks.threads import law_threads
from thrifty.checks.unused import law_unused
from thrifty.checks.verdict import LawError
from thrifty.checks.walks import law_known, law_rows_alone, law_walks

__all__ = [
    "Case",
    "LawError",
    "Rows",
    "check_laws",
    "check_sklearn",
    "law_bills",
    "law_damage",
    "law_files",
    "law_free",
    "law_known",
    "law_path",
    "law_penalty",
    "law_receipts",
    "law_rows_alone",
    "law_scale",
    "law_score",
    "law_threads",
    "law_twin",
    "law_unused",
    "law_walks",
    "laws",
    "make_cases",
    "make_crowd",
]

_LAWS = (
    law_walks,
    law_rows_alone,
    law_known,
    law_unused,
    law_bills,
    law_receipts,
    law_scale,
    law_free,
    law_files,
    law_damage,
    law_twin,
    law_score,
)


def laws(
    estimator: Any, expected_failed: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Every law on every case that applies to an estimator: its name, and a call that checks it.

    Parameters
    ----------
    estimator : estimator
        It is cloned; give it a small size, the tables are small too.
    expected_failed : mapping of str to str, optional
        Checks of scikit-learn that cannot pass, and why.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.checks import laws
    >>> for name, check in laws(GreedyMiserRegressor(n_estimators=3)):
    ...     if name.startswith("unused"):
    ...         check()
    """
    chosen = list(_LAWS)
    if "penalty" in estimator.get_params(deep=False):
        chosen.append(law_penalty)
    if hasattr(estimator, "path"):
        chosen.append(law_path)
    for case in make_cases(estimator):
        for law in chosen:
            yield _named(law, case), partial(law, estimator, case)
    shared = make_crowd(estimator)
    yield _named(law_threads, shared), partial(law_threads, estimator, shared)
    yield "sklearn", partial(check_sklearn, estimator, expected_failed)


def check_laws(estimator: Any, expected_failed: Mapping[str, str] | None = None) -> None:
    """Run all laws; raise one `LawError` that tells every breach.

    Parameters
    ----------
    estimator, expected_failed
        As in `laws`.

    Raises
    ------
    LawError
        It tells the law, the case and the first offending row.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.checks import check_laws
    >>> check_laws(GreedyMiserRegressor(n_estimators=10))
    """
    breaches = []
    for _, check in laws(estimator, expected_failed):
        try:
            check()
        except LawError as error:
            breaches.append(str(error))
    if breaches:
        lines = "".join("\n  - " + breach.replace("\n", "\n    ") for breach in breaches)
        raise LawError(f"{len(breaches)} laws are broken:{lines}")


def _named(law: Any, case: Case) -> str:
    return f"{law.__name__.removeprefix('law_')}-{case.name}"
