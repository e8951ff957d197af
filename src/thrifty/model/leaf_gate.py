"""A gate on the trees of the local model: one more weight for each leaf, and the margin.

Where a small boosted model is evaluated anyway, its leaves are free information about a row. The
gate value is the sum of a weight for each leaf that the row reaches, plus a slope times the model's
margin, the distance of its two best classes (Nan and Saligrama 2017, sec. 7.7).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.base import Frozen, Price, Walk, pack, unpack
from thrifty.model.file_checks import number_problems
from thrifty.model.forest.forest import Forest
from thrifty.model.forest.walk import ForestWalk
from thrifty.model.path_bounds import PathBounds
from thrifty.untrusted import LARGEST

__all__ = ["LeafGate", "LeafGateWalk", "margin_of"]

Floats = NDArray[np.float64]


def margin_of(raw: Floats) -> Floats:
    """Return how far the two best classes are apart, (n,), in outputs `raw` before the link.

    That is the absolute value of a single output (n, 1), or the gap between the two largest of K
    outputs (n, K).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.leaf_gate import margin_of
    >>> margin_of(np.array([[-2.0]])), margin_of(np.array([[1.0, 4.0, 3.5]]))
    (array([2.]), array([0.5]))
    """
    if raw.shape[1] == 1:
        return np.abs(raw[:, 0])
    ascending = np.sort(raw, axis=1)
    return np.asarray(ascending[:, -1] - ascending[:, -2])


@dataclass(frozen=True, eq=False)
class LeafGate(Frozen):
    """A gate value for each row, from the leaves and the margin of a forest.

    Parameters
    ----------
    forest : Forest
        With the link "mean". Its last output is the sum of the gate's leaf weights, the others are
        the outputs of the local model.
    slope : float
        What a margin of one adds to the gate value. It is negative if confident rows need the
        expensive model less.

    Examples
    --------
    The left leaf has an output of -3, so a margin of 3, and a gate weight of 0.5:

    >>> import numpy as np
    >>> from thrifty.model import Forest, LeafGate
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> nodes = empty_nodes(3)
    >>> nodes[0] = (0.0, 1, 0)
    >>> stump = Forest(nodes, np.array([[0.0], [-3.0], [1.0]]), np.array([0]), np.array([0]),
    ...                np.zeros(1), "sigmoid", n_features=1)
    >>> gate = LeafGate.on(stump, weights=np.array([0.0, 0.5, 0.0]), base=0.0, slope=-1.0)
    >>> gate.score(np.array([[-1.0], [1.0]]))
    array([-2.5, -1. ])
    """

    kind: ClassVar[str] = "leaf-gate"

    forest: Forest
    slope: float

    @classmethod
    def on(cls, local: Forest, weights: Floats, base: float, slope: float) -> Self:
        """Put a gate on the trees of `local`.

        Parameters
        ----------
        local : Forest
            The local model, with k outputs.
        weights : float array (nodes,)
            Gate weight of each node of `local`; those of inner nodes are only read by walks.
        base, slope : float
            The gate value is the base, plus the leaf weights, plus the slope times the margin.
        """
        k, nodes = len(local.base), len(local.nodes)
        trees = len(local.roots)
        values = np.zeros((nodes, k + 1))
        if local.values.shape[1] == 1:
            size = np.diff(np.append(local.roots, nodes))
            values[np.arange(nodes), np.repeat(local.outputs, size)] = local.values[:, 0]
        else:
            values[:, :k] = local.values
        values[:, k] = weights
        if local.link not in ("mean", "vote"):
            # The new forest averages over the trees; multiplied, its averages are sums.
            values *= max(trees, 1)
        start = np.append(local.base, base) * max(trees, 1)
        forest = replace(
            local, values=values, base=start, link="mean", outputs=np.zeros(trees, dtype=np.int64)
        )
        return cls(forest, float(slope))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.forest.n_features

    @property
    def n_scores(self) -> int:
        """One value."""
        return 1

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Return the gate values (n,)."""
        return self.value(self.forest.score(X))

    def value(self, raw: Floats) -> Floats:
        """Return the gate values (n,) of outputs (n, k + 1) of the forest."""
        return np.asarray(raw[:, -1] + self.slope * margin_of(raw[:, :-1]))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row reads, (n, n_features)."""
        return self.forest.used(X)

    @property
    def support(self) -> NDArray[np.bool_]:
        """The features of all splits, (n_features,)."""
        return self.forest.support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the number of trees for each row, (n,)."""
        return self.forest.evaluations(X)

    @property
    def most_evaluations(self) -> int:
        """The number of trees."""
        return self.forest.most_evaluations

    def path_bounds(self) -> PathBounds:
        """Return what single rows use at most: that of the forest."""
        return self.forest.path_bounds()

    def same_trees(self, model: Frozen) -> bool:
        """Return whether `model` is a forest with the trees of this gate, whatever its leaves."""
        return isinstance(model, Forest) and all(
            np.array_equal(getattr(self.forest, name), getattr(model, name))
            for name in ("nodes", "roots", "subsets")
        )

    def walk(self, price: Price | None = None) -> LeafGateWalk:
        """Start one example."""
        return LeafGateWalk(self, self.forest.walk(price))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps: plain entries, and arrays by name."""
        parts, arrays = pack([self.forest])
        return {"parts": parts, "slope": self.slope}, arrays

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model from it."""
        if set(plain) != {"parts", "slope"}:
            raise BundleError("leaf gate: expected the entries parts and slope")
        parts, slope, problems = unpack(plain["parts"], arrays, raw=[0]), plain["slope"], []
        if len(parts) != 1 or not isinstance(parts[0], Forest):
            problems.append("a leaf gate has exactly one forest")
        elif parts[0].link != "mean" or len(parts[0].base) < 2:
            problems.append("the forest must average two outputs or more, the last one the gate's")
        problems += number_problems(plain, {"slope": (-LARGEST, LARGEST)})
        raise_all(BundleError, "leaf gate", problems)
        return cls(parts[0], float(slope))  # type: ignore[arg-type]


class LeafGateWalk(Walk):
    """The walk of a `LeafGate`: that of its forest."""

    def __init__(self, gate: LeafGate, walk: ForestWalk) -> None:
        self._gate, self._walk = gate, walk

    @property
    def asks(self) -> tuple[int, ...]:
        """Features that the trees need now."""
        return self._walk.asks

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, and descend in every tree as far as they allow."""
        self._walk.tell(values)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of first reading."""
        return self._walk.touched

    @property
    def scores(self) -> Floats:
        """Gate value (1,) of the nodes reached so far."""
        return self._gate.value(self._walk.scores[np.newaxis])

    @property
    def evaluations(self) -> int:
        """Trees that have reached a leaf."""
        return self._walk.evaluations

    def evaluations_after(self, features: Collection[int]) -> int:
        """Return the trees that reach a leaf if all those finish that wait for these features."""
        return self._walk.evaluations_after(features)
