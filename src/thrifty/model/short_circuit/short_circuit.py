"""A forest that stops asking once no unasked tree can change its answer.

The trees stand in a fixed order. A row buys the feature that the first unfinished tree waits
for, and every tree moves on as far as the features bought so far lead it, at no charge. Before
each purchase the bounds of `model.short_circuit.bounds` say whether the answer is settled. What a
row buys, the whole forest would have bought too: the class is the same and no bill rises.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price
from thrifty.model.forest.forest import Forest
from thrifty.model.links import apply_link
from thrifty.model.short_circuit.bounds import Settling, settle
from thrifty.model.short_circuit.walk import ShortCircuitWalk

__all__ = ["ShortCircuit"]

# Rows that the plain twin keeps at a time, and that one thread of the kernel takes.
ROWS_PER_BLOCK = 1024


class Outcome(NamedTuple):
    """What a batch comes to: one entry per row."""

    raw: NDArray[np.float64]
    used: NDArray[np.bool_]
    done: NDArray[np.int64]
    ends: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ShortCircuit(Frozen):
    """A forest whose rows stop when their answer is settled.

    Every predicted class is that of the forest. The scores of a row that stopped are those of
    its finished trees, with each other tree at the value of the node where it stands, brought
    within what its leaves can still give; their largest is the class of the forest. A row that
    finished every tree has the scores of the forest to the bit.

    Parameters
    ----------
    forest : Forest
    order : int array (trees,)
        Positions of the trees: the first unfinished one says what is bought next.
    tolerance : float
        How far a value may be from that of the forest, for the link "sum". At 0 no row stops.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> from thrifty.model.short_circuit.short_circuit import ShortCircuit
    >>> nodes = empty_nodes(9)
    >>> for tree in range(3):  # each asks whether its own feature is positive
    ...     nodes[3 * tree] = (0.0, 3 * tree + 1, tree)
    >>> values = np.tile([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]], (3, 1))
    >>> forest = Forest(nodes, values, np.array([0, 3, 6]), np.zeros(3, np.int64), np.zeros(2),
    ...                 "vote", 3)
    >>> quick = ShortCircuit.of(forest)
    >>> X = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]])
    >>> quick.used(X).sum(axis=1)  # two of three votes settle the first row
    array([2, 3])
    >>> quick.score(X).argmax(axis=1)
    array([1, 1])
    """

    kind: ClassVar[str] = "short-circuit"

    forest: Forest
    order: NDArray[np.int64]
    tolerance: float = 0.0

    @classmethod
    def of(cls, forest: Forest, order: ArrayLike | None = None, tolerance: float = 0.0) -> Self:
        """Short-circuit `forest`; without an `order`, in that of its trees.

        Raises
        ------
        DataError
            If `order` does not have every tree once, or `tolerance` does not suit the link.
        """
        trees = np.arange(len(forest.roots))
        found = trees if order is None else np.asarray(order, dtype=np.int64)
        raise_all(DataError, "short circuit", _problems(forest, found, tolerance))
        return cls(forest, _sealed(found), float(tolerance))

    def reordered(self, order: ArrayLike) -> Self:
        """The same with the trees in another order; shares the bounds of this one."""
        model = self.of(self.forest, order, self.tolerance)
        vars(model)["_settling"] = self._settling
        return model

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.forest.n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model of values."""
        return self.forest.n_scores

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Class probabilities (n, K), or values (n,) for the link "sum"."""
        return self._scores(self._run(X))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features each row touched, (n, n_features)."""
        return self._run(X).used

    def score_and_used(
        self, X: NDArray[np.floating]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Both in one pass over the trees."""
        found = self._run(X)
        return self._scores(found), found.used

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """How many trees came to a leaf."""
        return self._run(X).done

    @property
    def most_evaluations(self) -> int:
        """The number of trees."""
        return self.forest.most_evaluations

    @property
    def support(self) -> NDArray[np.bool_]:
        """The features of all splits of the forest."""
        return self.forest.support

    def walk(self, price: Price | None = None) -> ShortCircuitWalk:
        """Start one example; it asks for one feature at a time, whatever the price."""
        return ShortCircuitWalk(self.forest._outline, self._settling, self.order.tolist())

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        plain, arrays = self.forest.state()
        return {**plain, "tolerance": self.tolerance}, {**arrays, "order": self.order}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        if "tolerance" not in plain or "order" not in arrays:
            raise BundleError("short circuit: the tolerance or the order of the trees is absent")
        forest = Forest.build(
            {name: plain[name] for name in plain if name != "tolerance"},
            {name: arrays[name] for name in arrays if name != "order"},
        )
        order, tolerance = arrays["order"], plain["tolerance"]
        raise_all(BundleError, "short circuit", _problems(forest, order, tolerance))
        return cls(forest, _sealed(order), float(tolerance))

    @cached_property
    def _settling(self) -> Settling:
        return Settling.of(self.forest, self.tolerance)

    def _run(self, X: NDArray[np.floating]) -> Outcome:
        n, d = len(X), self.n_features
        if X.ndim != 2 or X.shape[1] != d:
            raise ValueError(f"the model reads {d} columns, got shape {X.shape}")
        found = Outcome(
            raw=np.tile(self.forest.base, (n, 1)),
            used=np.zeros((n, d), dtype=bool),
            done=np.zeros(n, dtype=np.int64),
            ends=np.zeros((n, 2), dtype=np.int64),
        )
        run = _run_kernel if find_spec("numba") else _run_plain
        run(self, _sealed(X), found)
        if self.forest.link in ("mean", "vote"):
            found.raw[:] /= max(len(self.order), 1)
        return found

    def _scores(self, found: Outcome) -> NDArray[np.float64]:
        scores = apply_link(self.forest.link, found.raw)
        if self.forest.link != "sum":
            return scores
        return self._settling.bring_near(scores, found.ends, found.done < len(self.order))


def _problems(forest: Forest, order: NDArray[Any], tolerance: Any) -> list[str]:
    problems = []
    whole = order.dtype == np.int64 and order.ndim == 1
    if not whole or not np.array_equal(np.sort(order), np.arange(len(forest.roots))):
        problems.append(f"the order must have each of the {len(forest.roots)} trees once")
    if type(tolerance) not in (int, float) or not 0 <= tolerance < math.inf:
        problems.append(f"tolerance must be a number from 0 on, got {tolerance!r}")
    elif tolerance > 0 and forest.link != "sum":
        problems.append("a tolerance is for models of values; classes are kept as they are")
    return problems


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def _run_kernel(model: ShortCircuit, X: NDArray[np.floating], found: Outcome) -> None:
    # Imported here: a program that only walks never pays for loading Numba.
    from thrifty.kernels.short_circuit import run_short_circuit
    from thrifty.kernels.threads import blocks, run

    forest, settling = model.forest, model._settling

    def task(first: int, last: int) -> None:
        rows = slice(first, last)
        run_short_circuit(
            forest.nodes, forest.subsets, forest.roots, forest.outputs, model.order, settling.low,
            settling.high, settling.fills, settling.start, settling.rule, X[rows],
            *(part[rows] for part in found),
        )  # fmt: skip

    run(task, blocks(len(X), ROWS_PER_BLOCK))


def _run_plain(model: ShortCircuit, X: NDArray[np.floating], found: Outcome) -> None:
    forest, settling = model.forest, model._settling
    for first in range(0, len(X), ROWS_PER_BLOCK):
        rows = slice(first, first + ROWS_PER_BLOCK)
        place, done = settle(forest, settling, model.order, X[rows], found.used[rows])
        least, most = settling.ends(forest, place)
        found.done[rows] = done
        found.ends[rows] = np.column_stack([least[:, 0], most[:, 0]])
        for tree, output in enumerate(forest.outputs):
            if settling.fills.shape[1] == 1:
                found.raw[rows, output] += settling.fills[place[:, tree], 0]
            else:
                found.raw[rows] += settling.fills[place[:, tree]]
