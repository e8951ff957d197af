"""A forest that stops requesting features once no unread tree can change its prediction.

The trees have a fixed order. A row buys the feature that the first unfinished tree waits for, and
every tree moves on as far as the features bought so far lead it, at no charge. Before each
purchase, the bounds of `thrifty.model.short_circuit.bounds` say whether the prediction is settled.
The whole forest would buy all that a row buys here: the class is the same and no bill is higher.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.kernels.descent import run_short_circuit
from thrifty.kernels.threads import blocks, run
from thrifty.lazy import cached_property
from thrifty.model.base import Frozen, Price, sealed
from thrifty.model.forest.forest import SHARES_TOL, Forest
from thrifty.model.forest.walk import ForestLists
from thrifty.model.links import apply_link
from thrifty.model.path_bounds import PathBounds
from thrifty.model.short_circuit.bounds import Bounds
from thrifty.model.short_circuit.walk import ShortCircuitWalk
from thrifty.untrusted import is_number, shown

__all__ = ["ShortCircuit"]

# Rows that one thread takes at a time.
ROWS_PER_BLOCK = 1024


class Outcome(NamedTuple):
    """What happens to each row of a table.

    Attributes
    ----------
    raw : array (n, k)
        Outputs before the link.
    used : bool array (n, n_features)
        Features bought.
    done : int array (n,)
        Number of trees that reached a leaf.
    ends : int array (n, 2)
        Smallest and largest value of the first output that were still possible, in fixed point.
    """

    raw: NDArray[np.float64]
    used: NDArray[np.bool_]
    done: NDArray[np.int64]
    ends: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ShortCircuit(Frozen):
    """A forest in which a row stops once its prediction is settled.

    Every predicted class is that of the forest. In the scores of a row that stopped early, each
    unfinished tree counts with the value of the node where it stands, clipped to what its leaves
    can still give; the class of the largest score is that of the forest. A row that finished all
    trees has the scores of the forest to the bit.

    Parameters
    ----------
    forest : Forest
    order : int array (trees,)
        Positions of the trees: the first unfinished one names the feature to buy next.
    tolerance : float
        How far a value may be from that of the forest, for the link "sum". At 0 no row stops
        early.

    Examples
    --------
    Three trees, each of which votes by the sign of its own feature:

    >>> import numpy as np
    >>> from thrifty.model import Forest, ShortCircuit
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> nodes = empty_nodes(9)
    >>> for tree in range(3):
    ...     nodes[3 * tree] = (0.0, 3 * tree + 1, tree)
    >>> values = np.tile([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]], (3, 1))
    >>> forest = Forest(nodes, values, np.array([0, 3, 6]), np.zeros(3, np.int64), np.zeros(2),
    ...                 "vote", 3)
    >>> model = ShortCircuit.of(forest)
    >>> X = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]])
    >>> model.used(X)  # two of three votes settle the first row
    array([[ True,  True, False],
           [ True,  True,  True]])
    >>> model.score(X).argmax(axis=1)
    array([1, 1])
    """

    kind: ClassVar[str] = "short-circuit"

    forest: Forest
    order: NDArray[np.int64]
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", sealed(self.order))

    @classmethod
    def of(cls, forest: Forest, order: ArrayLike | None = None, tolerance: float = 0.0) -> Self:
        """Short-circuit `forest`; without `order`, its trees keep their order.

        Raises
        ------
        DataError
            If `order` does not have every tree once, or `tolerance` does not suit the link.
        """
        trees = np.arange(len(forest.roots))
        positions = trees if order is None else np.asarray(order, dtype=np.int64)
        raise_all(DataError, "short circuit", _problems(forest, positions, tolerance))
        return cls(forest, positions, float(tolerance))

    def reordered(self, order: ArrayLike) -> Self:
        """Return the model with its trees in another order; it shares the bounds of this one."""
        model = self.of(self.forest, order, self.tolerance)
        vars(model)["bounds"] = self.bounds
        return model

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.forest.n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model that predicts values."""
        return self.forest.n_scores

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return class probabilities (n, K), or values (n,) for the link "sum"."""
        return self.score_and_used(X)[0]

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row touches, (n, n_features)."""
        return self._run(X).used

    def score_and_used(
        self, X: NDArray[np.floating]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return `score` and `used` from one pass over the trees."""
        outcome = self._run(X)
        scores = apply_link(self.forest.link, outcome.raw)
        if self.forest.link == "sum":
            stopped = outcome.done < len(self.order)
            scores = self.bounds.clip_values(scores, outcome.ends, stopped)
        return scores, outcome.used

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return how many trees reach a leaf for each row, (n,)."""
        return self._run(X).done

    @property
    def most_evaluations(self) -> int:
        """The number of trees."""
        return self.forest.most_evaluations

    @property
    def support(self) -> NDArray[np.bool_]:
        """Which features some split of the forest reads, (n_features,)."""
        return self.forest.support

    def path_bounds(self) -> PathBounds:
        """Return what single rows use at most: no more than in the forest without bounds."""
        return self.forest.path_bounds()

    def probability_problems(self) -> Iterator[str]:
        """Yield why the scores of a row that stops early, or not, would not be probabilities."""
        # It may stop at any node of a tree.
        yield from self.forest.probability_problems(everywhere=True)
        if self.forest.link == "mean":
            # What unfinished trees contribute is within the bounds of their leaves.
            change = np.abs(self.bounds.fills.sum(axis=1) - self.forest.values.sum(axis=1))
            if np.any(change > SHARES_TOL):
                yield "the class shares of a node must lie between those of its leaves"

    def walk(self, price: Price | None = None) -> ShortCircuitWalk:
        """Start one example; it requests one feature at a time, whatever the price."""
        return ShortCircuitWalk(self.as_lists, self.bounds, self.order.tolist())

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps."""
        plain, arrays = self.forest.state()
        return {**plain, "tolerance": self.tolerance}, {**arrays, "order": self.order}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model."""
        if "tolerance" not in plain or "order" not in arrays:
            raise BundleError("short circuit: the tolerance or the order of the trees is absent")
        forest = Forest.build(
            {name: plain[name] for name in plain if name != "tolerance"},
            {name: arrays[name] for name in arrays if name != "order"},
        )
        order, tolerance = arrays["order"], plain["tolerance"]
        raise_all(BundleError, "short circuit", _problems(forest, order, tolerance))
        return cls(forest, order, float(tolerance))

    @cached_property
    def bounds(self) -> Bounds:
        """What unfinished trees can still add, and the rule that settles a row."""
        return Bounds.of(self.forest, self.tolerance)

    @cached_property
    def as_lists(self) -> ForestLists:
        """The forest as Python lists, for walks, with unfinished trees clipped to their bounds."""
        return replace(self.forest.as_lists, contributions=self.bounds.fills)

    def _run(self, X: NDArray[np.floating]) -> Outcome:
        """Send rows down the trees until they are settled."""
        self.check_columns(X)
        n, forest, bounds = len(X), self.forest, self.bounds
        outcome = Outcome(
            raw=np.tile(forest.base, (n, 1)),
            used=np.zeros((n, self.n_features), dtype=bool),
            done=np.zeros(n, dtype=np.int64),
            ends=np.zeros((n, 2), dtype=np.int64),
        )
        table = sealed(X)

        def run_block(first: int, last: int) -> None:
            rows = slice(first, last)
            run_short_circuit(
                forest.nodes, forest.subsets, forest.roots, forest.outputs, self.order,
                bounds.low, bounds.high, bounds.fills, bounds.start, bounds.rule, table[rows],
                outcome.raw[rows], outcome.used[rows].view(np.uint8), outcome.done[rows],
                outcome.ends[rows],
            )  # fmt: skip

        run(run_block, blocks(n, ROWS_PER_BLOCK))
        if forest.link in ("mean", "vote"):
            outcome.raw[:] /= max(len(self.order), 1)
        return outcome


def _problems(forest: Forest, order: NDArray[Any], tolerance: Any) -> list[str]:
    """Return what is wrong with the order of the trees and the tolerance."""
    problems = []
    whole = order.dtype == np.int64 and order.ndim == 1
    if not whole or not np.array_equal(np.sort(order), np.arange(len(forest.roots))):
        problems.append(f"the order must have each of the {len(forest.roots)} trees once")
    if not is_number(tolerance, 0):
        problems.append(f"tolerance must be a number from 0 up, got {shown(tolerance)}")
    elif tolerance > 0 and forest.link != "sum":
        problems.append("a tolerance is for models of values; classes are kept as they are")
    return problems
