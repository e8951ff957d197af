"""The laws that every estimator obeys, as a suite that anyone can run on an estimator.

1. A walk gives what the batch gives, in any order the values arrive, and says why (`walks`).
2. A value that is not used can be replaced by anything (`unused`).
3. A group is paid once, prices scale, a free feature never raises a bill (`bills`).
4. A model is saved and loaded to the same bits, and a damaged file is refused (`files`).
5. The same seed gives the same model for any number of threads (`threads`).
6. scikit-learn's own checks pass (`scikit_learn`).
7. `path` reports the bill and quality that its models have (`paths`).
8. The order of the columns of a table with names decides nothing (`columns`).

The module that checks a law is given in parentheses. Each law takes an estimator and a random
`Case` (`cases`, `tables`); it needs no test framework and raises `LawError` if the estimator
breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from thrifty.checks.bills import law_bills, law_free, law_penalty, law_receipts, law_scale
from thrifty.checks.cases import Case, Rows, make_cases, make_large_case
from thrifty.checks.columns import law_columns
from thrifty.checks.files import law_damage, law_files
from thrifty.checks.paths import law_path, law_score
from thrifty.checks.scikit_learn import check_sklearn
from thrifty.checks.threads import law_threads
from thrifty.checks.unused import law_unused
from thrifty.checks.verdict import LawError
from thrifty.checks.walks import law_known, law_reasons, law_rows_alone, law_walks

__all__ = [
    "Case",
    "LawError",
    "Rows",
    "check_laws",
    "check_sklearn",
    "law_bills",
    "law_columns",
    "law_damage",
    "law_files",
    "law_free",
    "law_known",
    "law_path",
    "law_penalty",
    "law_reasons",
    "law_receipts",
    "law_rows_alone",
    "law_scale",
    "law_score",
    "law_threads",
    "law_unused",
    "law_walks",
    "laws",
    "make_cases",
    "make_large_case",
]

_LAWS = (
    law_walks,
    law_rows_alone,
    law_known,
    law_reasons,
    law_unused,
    law_bills,
    law_receipts,
    law_scale,
    law_free,
    law_files,
    law_damage,
    law_score,
)


def laws(
    estimator: Any, expected_failed: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield every law with every case that applies to an estimator, one pair at a time.

    Parameters
    ----------
    estimator : estimator
        It is cloned. Make it small: the tables are small, too.
    expected_failed : mapping of str to str, optional
        Names of scikit-learn checks that cannot pass, and why.

    Yields
    ------
    name : str
        The law and the case, such as "unused-pandas".
    check : callable
        Takes no arguments; raises `LawError` if the law is broken.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.checks import laws
    >>> for name, check in laws(GreedyMiserRegressor(n_estimators=3)):
    ...     if name.startswith("unused"):
    ...         check()
    ...         print(name)
    unused-numbers
    unused-float32
    unused-wide
    unused-pandas
    unused-polars
    """
    chosen = list(_LAWS)
    if "penalty" in estimator.get_params(deep=False):
        chosen.append(law_penalty)
    if hasattr(estimator, "path"):
        chosen.append(law_path)
    pairs = [(law, case) for case in make_cases(estimator) for law in chosen]
    named = [case for case in make_cases(estimator) if isinstance(case.names[0], str)]
    pairs += [(law_columns, case) for case in named]
    pairs.append((law_threads, make_large_case(estimator)))
    for law, case in pairs:
        yield f"{law.__name__.removeprefix('law_')}-{case.name}", partial(law, estimator, case)
    yield "sklearn", partial(check_sklearn, estimator, expected_failed)


def check_laws(estimator: Any, expected_failed: Mapping[str, str] | None = None) -> None:
    """Run all laws; raise one `LawError` that lists every law that is broken.

    Parameters
    ----------
    estimator, expected_failed
        As in `laws`.

    Raises
    ------
    LawError
        With the law, the case and the first offending row of every failure.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.checks import check_laws
    >>> check_laws(GreedyMiserRegressor(n_estimators=10))
    """
    failures = []
    for _, check in laws(estimator, expected_failed):
        try:
            check()
        except LawError as error:
            failures.append(str(error))
    if failures:
        lines = "".join("\n  - " + failure.replace("\n", "\n    ") for failure in failures)
        raise LawError(f"{len(failures)} laws are broken:{lines}")
