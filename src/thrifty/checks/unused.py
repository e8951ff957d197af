"""Law 2: what `used` says was not used can be anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from thrifty.checks.cases import Case
from thrifty.checks.faces import Faces
from thrifty.checks.tables import fillers
from thrifty.checks.verdict import law

__all__ = ["law_unused"]


@law("a value that is not used can be replaced by anything")
def law_unused(estimator: Any, case: Case) -> None:
    """NaN, huge numbers, zero, categories known and unknown, values of other rows."""
    fitted = case.fit(estimator)
    faces = Faces.of(fitted, case.held_table)
    idle = ~faces.used
    for number in range(len(fillers(case.columns[0]))):
        values = case.held.values.copy()
        for j, column in enumerate(case.columns):
            values[idle[:, j], j] = [fillers(column)[number]] * int(idle[:, j].sum())
        _compare(fitted, case, faces, values, f"with filler {number} for what is not used")
    random = np.random.default_rng(0)
    for _ in range(2):
        values = case.held.values.copy()
        some = idle & (random.random(idle.shape) < 0.5)
        values[some] = random.permutation(values)[some]
        _compare(fitted, case, faces, values, "with values of other rows for what is not used")


def _compare(fitted: Any, case: Case, faces: Faces, values: Any, when: str) -> None:
    faces.agree(Faces.of(fitted, case.table(values)), when)
