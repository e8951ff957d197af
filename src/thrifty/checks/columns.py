"""Law 8: the order of the columns decides nothing, where columns have names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.checks.batch_outputs import BatchOutputs
from thrifty.checks.cases import Case, Rows
from thrifty.checks.verdict import law

__all__ = ["law_columns"]


@law("the order of the columns decides nothing")
def law_columns(estimator: Any, case: Case) -> None:
    """Fit the same table with its columns permuted: everything is the same by name, to the bit.

    In a table without names nothing tells the columns apart but their order, so the law holds for
    tables with names only.
    """
    order = np.random.default_rng(len(case.columns)).permutation(len(case.columns))
    permuted = replace(
        case,
        columns=tuple(case.columns[j] for j in order),
        train=_permute(case.train, order),
        test=_permute(case.test, order),
    )
    fitted, again = case.fit(estimator), permuted.fit(estimator)
    expected = BatchOutputs.of(fitted, case.test_table)
    # Columns of calls, which no table has, stay where they are.
    n_calls = expected.used.shape[1] - len(order)
    by_name = np.append(order, len(order) + np.arange(n_calls))
    expected = replace(expected, used=expected.used[:, by_name])
    found = BatchOutputs.of(again, permuted.test_table)
    expected.require_same(found, "with permuted columns")
    other_order = BatchOutputs.of(again, case.test_table)
    found.require_same(other_order, "of a table in another order than that of training")


def _permute(rows: Rows, order: NDArray[np.intp]) -> Rows:
    """Return the same rows with their columns in another order."""
    return replace(rows, values=rows.values[:, order])
