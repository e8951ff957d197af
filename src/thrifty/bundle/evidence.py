"""How often a predictor was right, by how far its walks had come and how confident it was.

The evidence comes from labeled rows that the model has not seen, or that were scored out of fold.
A walk is at a *stage*, which is what its features and evaluations cost at full price: this means
the same for every kind of model. Rows of similar stage and confidence make up a cell, with enough
rows that the share of right answers in it says something. Rows that ended at a stage and rows that
passed it have cells of their own, as a model stops where it is confident.

A cell of a classifier has the interval of the share that was right (Wilson 1927). In a cell of a
regressor it is that of the residuals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.untrusted import LARGEST

__all__ = ["LEVEL", "Cell", "Evidence", "States"]

Floats = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]

LEVEL = 0.95
"""Confidence level of the intervals."""

# The normal quantile of the level.
Z = 1.959963984540054
# More rows would hardly make the intervals narrower; they are spread evenly over the table.
MAX_ROWS = 5_000
# Rows of less weight, compared with the largest, do not count.
LEAST_WEIGHT = 1e-12
# More cells than any model has are damage.
MAX_FILE_CELLS = 100_000
# The arrays of a model file that hold the evidence.
ARRAYS = {"evidence.ends": "ends", "evidence.passes": "interim"}


class CellSize(NamedTuple):
    """The fewest rows of a stage and of a cell, and the most cells of a stage."""

    stage_rows: int
    rows: int
    per_stage: int


# A gain is a difference of two figures: it takes more rows than an interval.
ENDS_SIZE, PASSES_SIZE = CellSize(60, 40, 10), CellSize(80, 80, 6)


class States(NamedTuple):
    """Some labeled rows at one moment of their walks.

    Attributes
    ----------
    rows : int array (m,)
        Positions of the rows.
    scores : array (m, K) or (m,)
        Class probabilities, or values, at that moment.
    bills : array (m,)
        What they have paid by then.
    """

    rows: NDArray[np.intp]
    scores: Floats
    bills: Floats

    def take(self, kept: NDArray[np.bool_]) -> States:
        """Return those of the rows that are kept, (n,)."""
        some = kept[self.rows]
        return States(self.rows[some], self.scores[some], self.bills[some])

    @classmethod
    def alike(cls, n: int, scores: Floats, bill: float) -> Self:
        """Return n rows that all have the same scores, (K,) or (1,), and bill."""
        every = np.tile(scores, (n, 1)) if len(scores) > 1 else np.full(n, scores[0])
        return cls(np.arange(n), every, np.full(n, bill))


class Cell(NamedTuple):
    """What is known of rows at one stage with similar confidence.

    Attributes
    ----------
    bill : float
        The smallest bill of the stage.
    start : float
        The smallest confidence of the cell; 0 for the first of its stage, and for values.
    rows : float
        Number of rows; where they have weights, the number of equal rows that say as much.
    confidence : float
        Their mean confidence, the probability of the most probable class; 0 for values.
    now, later : float
        Risk of a wrong answer, or mean absolute error of values, at this stage and at the end.
    total : float
        Their mean bill at the end.
    low, high : float
        Interval of the share of right answers, or of the residuals, at this stage.
    """

    bill: float
    start: float
    rows: float
    confidence: float
    now: float
    later: float
    total: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """What labeled rows say about a predictor, stage by stage.

    Parameters
    ----------
    ends : array (cells, 9)
        A `Cell` per row, for rows that ended at a stage, by stage and confidence.
    interim : array (cells, 9)
        The same for rows that went on; empty if nothing is known about them.

    Examples
    --------
    Half of 200 rows stop after a first purchase for 1, the others go on and pay 5:

    >>> import numpy as np
    >>> from thrifty.bundle.evidence import Evidence, States
    >>> rng = np.random.default_rng(0)
    >>> rows, y = np.arange(200), rng.integers(2, size=200)
    >>> first = np.where(rows < 100, 0.9, 0.6)  # the probability of the right class is drawn
    >>> is_right = rng.random(200) < first
    >>> said = np.where(is_right, y, 1 - y)
    >>> scores = np.where(said[:, np.newaxis] == [0, 1], first[:, np.newaxis], 1 - first[:, None])
    >>> last = scores.copy()
    >>> last[100:] = np.where(y[100:, np.newaxis] == [0, 1], 0.95, 0.05)
    >>> interim = [States(rows[100:], scores[100:], np.full(100, 1.0))]
    >>> evidence = Evidence.of(y, None, last, np.where(rows < 100, 1.0, 5.0), interim)
    >>> low, high = evidence.interval(1.0, scores[0], is_done=True)
    >>> round(low, 2), round(high, 2)
    (0.78, 0.91)
    >>> cell = evidence.find(1.0, scores[150], is_done=False)
    >>> round(cell.now, 2), round(cell.later, 2), cell.total
    (0.43, 0.03, 5.0)
    """

    ends: Floats
    interim: Floats

    @classmethod
    def of(
        cls,
        y: NDArray[Any],
        weight: Floats | None,
        scores: Floats,
        bills: Floats,
        interim: Sequence[States] = (),
    ) -> Self:
        """Summarize what happened to n labeled rows.

        Parameters
        ----------
        y : array (n,)
            Codes of the classes, or values.
        weight : array (n,) or None
            Weights of the rows.
        scores : array (n, K) or (n,)
            Scores at the end of the walks.
        bills : array (n,)
            Bills at the end of the walks.
        interim : sequence of States
            Where rows were before the end, if it is known.
        """
        weight = np.ones(len(y)) if weight is None else weight / weight.max()
        end = _loss(scores, y), bills
        heavy = np.flatnonzero(weight > LEAST_WEIGHT)
        kept = np.zeros(len(y), dtype=bool)
        kept[heavy[np.linspace(0, len(heavy) - 1, min(len(heavy), MAX_ROWS)).astype(int)]] = True
        final = States(np.arange(len(y)), scores, bills).take(kept)
        ends = _cells(final, y, weight, end, ENDS_SIZE)
        parts = [states.take(kept) for states in interim]
        if not any(len(part.rows) for part in parts):
            return cls(ends, np.empty((0, len(Cell._fields))))
        joined = States(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        return cls(ends, _cells(joined, y, weight, end, PASSES_SIZE))

    def find(self, bill: float, scores: Floats, is_done: bool) -> Cell | None:
        """Return the cell of a walk; None if no rows were that far.

        Parameters
        ----------
        bill : float
            What the walk has read so far, at full price.
        scores : array (K,), or (1,) for values
        is_done : bool
            Whether the model asks for nothing more.
        """
        cells = self.ends if is_done else self.interim
        stage = cells[:, 0][cells[:, 0] <= bill]
        if not len(stage):
            return None
        confidence = 0.0 if len(scores) == 1 else float(scores.max())
        cells = cells[(cells[:, 0] == stage[-1]) & (cells[:, 1] <= confidence)]
        return Cell(*cells[-1].tolist()) if len(cells) else None

    def interval(
        self, bill: float, scores: Floats, is_done: bool, place: int | None = None
    ) -> tuple[float, float] | None:
        """Return the interval of the value, or of the probability of the class at `place`.

        Parameters
        ----------
        bill, scores, is_done
            As in `find`.
        place : int, optional
            The class that is predicted; the most probable one by default.

        Returns
        -------
        (float, float) or None
            None if nothing is known: no rows were that far, or of more than two classes another one
            than the most probable is predicted.
        """
        cell = self.find(bill, scores, is_done)
        if cell is None:
            return None
        if len(scores) == 1:
            return float(scores[0]) + cell.low, float(scores[0]) + cell.high
        top = int(scores.argmax())
        # Within a cell, rows of higher confidence are right more often.
        shift = min(max(float(scores[top]) - cell.confidence, -cell.low), 1.0 - cell.high)
        low, high = cell.low + shift, cell.high + shift
        if place is None or place == top:
            return low, high
        return (1.0 - high, 1.0 - low) if len(scores) == 2 else None

    @property
    def is_sound(self) -> bool:
        """Whether a model file may hold it: not if values are so large that errors overflow."""
        return not any(True for array in (self.ends, self.interim) for _ in _faults(array))

    @property
    def is_of_classes(self) -> bool:
        """Whether losses and intervals are shares, as those of a classifier are."""
        cells = np.concatenate([self.ends, self.interim])
        shares = cells[:, [Cell._fields.index(name) for name in ("now", "later", "low", "high")]]
        return bool(((shares >= 0) & (shares <= 1)).all())

    def arrays(self) -> dict[str, Floats]:
        """Return what a model file keeps, by name."""
        return {name: getattr(self, field) for name, field in ARRAYS.items()}

    @classmethod
    def take(cls, arrays: Arrays) -> tuple[Self | None, Arrays]:
        """Check and take the evidence from the arrays of a model file; return the others, too.

        Raises
        ------
        BundleError
            If an array is absent or damaged.
        """
        others = {name: array for name, array in arrays.items() if name not in ARRAYS}
        if len(others) == len(arrays):
            return None, others
        absent = [name for name in ARRAYS if name not in arrays]
        problems = [f"the array {name!r} is absent" for name in absent]
        for name in ARRAYS.keys() - absent:
            problems += [f"{name}: {fault}" for fault in _faults(arrays[name])]
        raise_all(BundleError, "evidence", sorted(problems))
        return cls(**{field: arrays[name] for name, field in ARRAYS.items()}), others


def _loss(scores: Floats, y: NDArray[Any]) -> Floats:
    """Return the risk of a wrong answer, or the absolute error of the value, of each row, (n,).

    The risk is half what happened, half what the model says: on few rows, errors alone are noisy.
    """
    if scores.ndim == 1:
        return np.asarray(np.abs(y - scores))
    return np.asarray((1.0 - _confidence(scores) + (scores.argmax(axis=1) != y)) / 2.0)


def _confidence(scores: Floats) -> Floats:
    """Return the largest class probability of each row, (n,); 0 for values."""
    if scores.ndim == 1:
        return np.zeros(len(scores))
    return np.asarray(np.minimum(scores.max(axis=1), 1.0))  # sums may be rounded up


def _cells(
    states: States, y: NDArray[Any], weight: Floats, end: tuple[Floats, Floats], size: CellSize
) -> Floats:
    """Divide states by stage, then by confidence, and describe each cell, (cells, 9).

    `end` has the loss and the bill of each row at the end of its walk.
    """
    confidence = _confidence(states.scores)
    order = np.argsort(states.bills, kind="stable")
    bills, starts, cuts = states.bills[order], [], []
    stages = [*_cuts(bills, size.stage_rows, len(bills)), len(bills)]
    for first, last in pairwise(stages):
        part = order[first:last]
        order[first:last] = part = part[np.argsort(confidence[part], kind="stable")]
        inner = _cuts(confidence[part], size.rows, size.per_stage)
        cuts += [first + cut for cut in inner]
        starts += [(bills[first], confidence[part[cut]] if cut else 0.0) for cut in inner]
    rows, scores = states.rows[order], states.scores[order]
    w = weight[rows]
    total = np.add.reduceat(w, cuts)

    def mean(values: Floats) -> Floats:
        means = np.add.reduceat(w * values, cuts) / total
        return np.asarray(np.clip(means, values.min(), values.max()))  # as sums are rounded

    n = total**2 / np.add.reduceat(w**2, cuts)
    if scores.ndim == 2:
        low, high = _wilson(mean(scores.argmax(axis=1) == y[rows]), n)
    else:
        low, high = _spread(y[rows] - scores, w, cuts)
    now, later, paid = _loss(scores, y[rows]), end[0][rows], end[1][rows]
    figures = [n, mean(confidence[order]), mean(now), mean(later), mean(paid), low, high]
    return np.column_stack([np.array(starts), *figures])


def _cuts(values: Floats, fewest: int, most: int) -> list[int]:
    """Return where to cut increasing values into at most `most` runs of at least `fewest` values.

    Equal values stay together, and all values are one run if there are too few for two.
    """
    size = max(fewest, math.ceil(len(values) / most))
    ends = np.flatnonzero(np.diff(values) > 0) + 1
    cuts = [0]
    while True:
        k = int(np.searchsorted(ends, cuts[-1] + size))
        if k == len(ends) or ends[k] > len(values) - size:
            return cuts
        cuts.append(int(ends[k]))


def _wilson(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's intervals of shares among n rows."""
    scale = 1.0 + Z**2 / n
    center = (share + Z**2 / (2.0 * n)) / scale
    half = Z / scale * np.sqrt(share * (1.0 - share) / n + Z**2 / (4.0 * n**2))
    return np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)


def _spread(residuals: Floats, weight: Floats, cuts: list[int]) -> tuple[Floats, Floats]:
    """Return the interval, for each run, in which a new residual lies with confidence `LEVEL`."""
    tail = (1.0 - LEVEL) / 2.0
    bounds = []
    for part, w in zip(np.split(residuals, cuts[1:]), np.split(weight, cuts[1:]), strict=True):
        upper = min((len(part) + 1) / len(part) * (1.0 - tail), 1.0)
        levels = [1.0 - upper, upper]
        bounds.append(np.quantile(part, levels, weights=w, method="inverted_cdf"))
    low, high = np.array(bounds).T
    return low, high


def _faults(array: NDArray[Any]) -> Iterator[str]:
    """Yield what keeps an array from being cells."""
    if array.dtype != np.float64 or array.ndim != 2 or array.shape[1] != len(Cell._fields):
        yield f"expected numbers of the shape (cells, {len(Cell._fields)})"
        return
    if len(array) > MAX_FILE_CELLS or not (np.abs(array) <= LARGEST).all():
        yield f"expected at most {MAX_FILE_CELLS} cells of finite numbers"
        return
    column = dict(zip(Cell._fields, array.T, strict=True))
    positive = ("bill", "start", "confidence", "now", "later", "total")
    if (column["rows"] <= 0).any() or any((column[name] < 0).any() for name in positive):
        yield "rows must be above 0; bills, confidences and losses must not be negative"
    if (column["low"] > column["high"]).any() or (column["confidence"] > 1).any():
        yield "an interval ends before it starts, or a confidence is above 1"
    bills, starts = np.diff(column["bill"]), np.diff(column["start"])
    if (bills < 0).any() or (starts[bills == 0] <= 0).any():
        yield "cells must be in the order of bills and confidences"
