"""Cross-fitting: every row is scored by models that have not seen it.

On a small table all rows are evidence: it is divided into folds, several times over, and each row
is scored by the models that were fitted without its fold. On a large table one division is enough:
models are fitted on four fifths of the rows, and the other fifth is the evidence. Rows that belong
together, such as those of one patient, stay on the same side of every division.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError
from thrifty.learn.folds import assign_folds

__all__ = ["CrossFit", "Division"]

Floats = NDArray[np.float64]

# From this many rows on, a fifth of them is evidence enough.
LARGE = 20_000
LARGE_FOLDS = 5


class Division(NamedTuple):
    """Rows to fit a model on, and rows that it has not seen; both are increasing positions."""

    fit: NDArray[np.intp]
    unseen: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Divisions of the rows of a table.

    Parameters
    ----------
    divisions : tuple of Division
        A model is fitted for each.
    rows : int array of shape (m,)
        The evidence: rows that some division has not seen, increasing.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.crossfit import CrossFit
    >>> y = np.array([0.0, 0.0, 6.0, 6.0])
    >>> crossfit = CrossFit.draw(y, None, folds=2, repeats=1, random=np.random.RandomState(0))
    >>> crossfit.collect(lambda fit, unseen: np.full(len(unseen), y[fit].mean()))
    array([3., 3., 3., 3.])
    """

    divisions: tuple[Division, ...]
    rows: NDArray[np.intp]

    @classmethod
    def draw(
        cls,
        y: NDArray[Any],
        groups: NDArray[np.int64] | None,
        folds: int,
        repeats: int,
        random: np.random.RandomState,
        one_fold: bool = False,
    ) -> Self:
        """Divide rows at random, with targets spread evenly.

        Parameters
        ----------
        y : array of shape (n,)
            The target.
        groups : int array of shape (n,) or None
            Group of each row; groups are kept whole.
        folds : int
            Number of folds of a small table.
        repeats : int
            How often a small table is divided.
        random : RandomState
        one_fold : bool
            Whether one fold of a small table is evidence enough: then there is one division.

        Raises
        ------
        DataError
            If there are fewer rows, or groups, than folds.
        """
        if len(y) >= LARGE or one_fold:
            fold = _assign(y, groups, LARGE_FOLDS if len(y) >= LARGE else folds, random)
            division = Division(np.flatnonzero(fold != 0), np.flatnonzero(fold == 0))
            return cls((division,), division.unseen)
        divisions = []
        for _ in range(repeats):
            fold = _assign(y, groups, folds, random)
            divisions += [
                Division(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(folds)
            ]
        return cls(tuple(divisions), np.arange(len(y)))

    def with_validation(self, n: int, n_validation: int) -> Self:
        """Append validation rows n, n + 1, ...: they are seen by no division."""
        added = np.arange(n, n + n_validation)
        divisions = tuple(
            Division(fit, np.concatenate([unseen, added])) for fit, unseen in self.divisions
        )
        return type(self)(divisions, np.concatenate([self.rows, added]))

    @property
    def n_once(self) -> int:
        """Number of divisions that score all of the evidence once: those of the first repeat."""
        scored = np.zeros(int(self.rows[-1]) + 1, dtype=bool)
        for count, division in enumerate(self.divisions, start=1):
            scored[division.unseen] = True
            if scored[self.rows].all():
                return count
        return len(self.divisions)

    def thin(self, n_divisions: int, share: float, random: np.random.RandomState) -> Self:
        """Keep the first divisions, and a random share of the rows that each is fitted on."""
        divisions = []
        for fit, unseen in self.divisions[:n_divisions]:
            some = fit
            if share < 1:
                some = np.sort(random.permutation(fit)[: max(1, round(share * len(fit)))])
            divisions.append(Division(some, unseen))
        rows = np.unique(np.concatenate([division.unseen for division in divisions]))
        return type(self)(tuple(divisions), rows)

    def take(self, kept: NDArray[np.bool_]) -> Self:
        """Keep some of the rows, given as a mask; positions are those among the kept rows."""
        place = np.cumsum(kept) - 1

        def among(rows: NDArray[np.intp]) -> NDArray[np.intp]:
            return np.asarray(place[rows[kept[rows]]])

        divisions = tuple(Division(among(fit), among(unseen)) for fit, unseen in self.divisions)
        return type(self)(divisions, among(self.rows))

    def collect(self, score: Callable[[NDArray[np.intp], NDArray[np.intp]], Floats]) -> Floats:
        """Score the evidence: the mean over all divisions that have not seen a row, (m, ...).

        `score` takes the rows to fit on and the unseen rows of a division, and returns a score, or
        a row of scores, for each of the unseen rows.
        """
        total: Floats | None = None
        count = np.zeros(len(self.rows))
        for division in self.divisions:
            scores = score(division.fit, division.unseen)
            if total is None:
                total = np.zeros((len(self.rows), *scores.shape[1:]))
            place = np.searchsorted(self.rows, division.unseen)
            total[place] += scores
            count[place] += 1
        assert total is not None
        return np.asarray(total / count.reshape(-1, *[1] * (total.ndim - 1)))


def _assign(
    y: NDArray[Any],
    groups: NDArray[np.int64] | None,
    folds: int,
    random: np.random.RandomState,
) -> NDArray[np.int64]:
    """Assign rows, or whole groups by their mean target, to folds."""
    what, count = "rows", len(y)
    if groups is not None:
        what, count = "groups", int(groups.max()) + 1
    if count < folds:
        raise DataError(
            f"table: {folds} folds need at least as many {what}, there are {count}; give more "
            f"{what}, or a validation set of your own"
        )
    return assign_folds(y, folds, random, groups)
