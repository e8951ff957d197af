"""A gate on the trees of another model: one more weight for each leaf, and the margin.

Where the answers of a small boosted model are computed anyway, what its leaves say of a row is
free. The value of the gate is a weight of each leaf that the row comes to, plus a slope times the
margin of the model: the distance of the two best classes (Nan and Saligrama 2017, sec. 7.7).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.base import Frozen, Price, Walk, pack, unpack
from thrifty.model.forest.forest import Forest
from thrifty.model.forest.walk import ForestWalk

__all__ = ["LeafGate", "margin_of"]

Floats = NDArray[np.float64]


def margin_of(raw: Floats) -> Floats:
    """Distance of the two best classes: the size of one output (n, 1), else the gap of the best.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.leaf_gate import margin_of
    >>> margin_of(np.array([[-2.0]])), margin_of(np.array([[1.0, 4.0, 3.5]]))
    (array([2.]), array([0.5]))
    """
    if raw.shape[1] == 1:
        return np.abs(raw[:, 0])
    best = np.sort(raw, axis=1)
    return np.asarray(best[:, -1] - best[:, -2])


@dataclass(frozen=True, eq=False)
class LeafGate(Frozen):
    """A value for each row from the leaves and the margin of a forest.

    Parameters
    ----------
    forest : Forest
        Link "mean"; its last output is the gate's own, those before it are the model's.
    slope : float
        What a margin of one adds; negative where sure rows need no second opinion.

    Examples
    --------
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
        """The gate on the trees of `local` with a weight (nodes,) for each of its nodes."""
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
            # The carrier averages over the trees, whose sums are meant.
            values *= max(trees, 1)
        start = np.append(local.base, base) * max(trees, 1)
        carrier = replace(
            local, values=values, base=start, link="mean", outputs=np.zeros(trees, dtype=np.int64)
        )
        return cls(carrier, float(slope))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.forest.n_features

    @property
    def n_scores(self) -> int:
        """A value."""
        return 1

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Values (n,)."""
        return self.value(self.forest.score(X))

    def value(self, raw: Floats) -> Floats:
        """Values (n,) of the outputs (n, k + 1) of the forest."""
        return np.asarray(raw[:, -1] + self.slope * margin_of(raw[:, :-1]))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features each row touched, (n, n_features)."""
        return self.forest.used(X)

    @property
    def support(self) -> NDArray[np.bool_]:
        """The features of all splits."""
        return self.forest.support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Every row is sent down every tree."""
        return self.forest.evaluations(X)

    @property
    def most_evaluations(self) -> int:
        """The number of trees."""
        return self.forest.most_evaluations

    def same_trees(self, model: Frozen) -> bool:
        """Whether a model has the trees of this gate, so that its leaves are known here."""
        if not isinstance(model, Forest):
            return False
        ours = self.forest
        pairs = (
            (ours.nodes, model.nodes),
            (ours.roots, model.roots),
            (ours.subsets, model.subsets),
        )
        return all(np.array_equal(one, other) for one, other in pairs)

    def walk(self, price: Price | None = None) -> LeafGateWalk:
        """Start one example."""
        return LeafGateWalk(self, self.forest.walk(price))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        parts, arrays = pack([self.forest])
        return {"parts": parts, "slope": self.slope}, arrays

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        if set(plain) != {"parts", "slope"}:
            raise BundleError("leaf gate: expected the entries parts and slope")
        parts = unpack(plain["parts"], arrays)
        raise_all(BundleError, "leaf gate", list(_problems(parts, plain["slope"])))
        return cls(parts[0], float(plain["slope"]))  # type: ignore[arg-type]


class LeafGateWalk(Walk):
    """The walk of a `LeafGate`: that of its forest."""

    def __init__(self, gate: LeafGate, walk: ForestWalk) -> None:
        self._gate, self._walk = gate, walk

    @property
    def asks(self) -> tuple[int, ...]:
        """What the trees wait for."""
        return self._walk.asks

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values and move every tree as far as they allow."""
        self._walk.tell(values)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far."""
        return self._walk.touched

    @property
    def scores(self) -> Floats:
        """The value of the nodes where the trees stand, (1,)."""
        return self._gate.value(self._walk.scores[np.newaxis])

    @property
    def evaluations(self) -> int:
        """Trees that have reached a leaf."""
        return self._walk.evaluations


def _problems(parts: list[Frozen], slope: Any) -> Iterator[str]:
    if len(parts) != 1 or not isinstance(parts[0], Forest):
        yield "a gate on leaves has one forest"
    elif parts[0].link != "mean" or len(parts[0].base) < 2:
        yield "the forest must average two outputs or more, the last of them the gate's"
    if type(slope) not in (int, float) or not math.isfinite(slope):
        yield f"slope must be a finite number, got {slope!r}"
