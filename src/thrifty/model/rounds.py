"""In which rounds rows ask for features: all that a row wants at once is one round.

`Frozen.rounds` has the rounds of many rows at once, where a model can tell them without walking
every row. Other models are walked. What a row has already is not asked for again: whoever reads
the rounds keeps account of that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_PATHS", "Path", "Round"]

# Of a model with more paths than this, the slowest is not searched.
MAX_PATHS = 64

# What a row wants, round after round: each (d,).
Path = list[NDArray[np.bool_]]


class Round(NamedTuple):
    """Rows that want features at once.

    Attributes
    ----------
    rows : int array (m,)
        Positions of the rows in the table.
    wanted : bool array (d,) or (m, d)
        The features, the same for all of the rows or for each of them.
    """

    rows: NDArray[np.intp]
    wanted: NDArray[np.bool_]

    def of(self, rows: NDArray[np.intp]) -> Round:
        """Return the round by positions in a larger table, from which `rows` were taken."""
        return Round(rows[self.rows], self.wanted)
