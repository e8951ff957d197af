"""Law 2: a value that `used` marks as unused can be anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from thrifty.checks.batch_outputs import BatchOutputs
from thrifty.checks.cases import Case
from thrifty.checks.tables import fillers
from thrifty.checks.verdict import law

__all__ = ["law_unused"]


@law("a value that is not used can be replaced by anything")
def law_unused(estimator: Any, case: Case) -> None:
    """Replace unused values by NaN, huge numbers, zero, categories, and values of other rows."""
    fitted = case.fit(estimator)
    outputs = BatchOutputs.of(fitted, case.test_table)
    unused = ~outputs.used
    replaced = []
    for number in range(len(fillers(case.columns[0]))):
        values = case.test.values.copy()
        for j, column in enumerate(case.columns):
            values[unused[:, j], j] = [fillers(column)[number]] * int(unused[:, j].sum())
        replaced.append((f"with filler {number} for what is not used", values))
    rng = np.random.default_rng(0)
    for _ in range(2):
        values = case.test.values.copy()
        some = unused & (rng.random(unused.shape) < 0.5)
        values[some] = rng.permutation(values)[some]
        replaced.append(("with values of other rows for what is not used", values))
    for when, values in replaced:
        outputs.require_same(BatchOutputs.of(fitted, case.table(values)), when)
