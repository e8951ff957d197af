"""A tree of linear models as a picture: where rows go, and what they buy on the way."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.costs.money import money
from thrifty.report.branches import Branch, branches, similarity
from thrifty.report.displays.canvas import COLORS, INK, SOFT, canvas

__all__ = ["TreeDisplay"]

# Names beyond these, and letters of a name, would not fit in a node.
NAMES, WIDTH = 4, 18
# Inches for a level and for a branch.
ACROSS, DOWN = 2.9, 0.85
SIGNS = {"left": "\u2264", "right": ">"}


class TreeDisplay:
    """Nodes from left to right: the share of the rows that come, what is bought there, its price.

    A line from a node to its child is as wide as the share of the rows that take it; the lower
    side of a threshold is drawn above the upper one. A node tells what is new on its way, since
    what the nodes before it bought is not paid again.

    Make one with `from_estimator` or `from_predictor`.

    Parameters
    ----------
    branches : tuple of thrifty.report.branches.Branch
        The nodes, parents first, left branches before right ones.
    exits : tuple of int
        Nodes from which rows exit.
    similarity : array of shape (exits, exits)
        Jaccard coefficients of the features that are read on the way to two exits.
    unit : str
        What the prices count.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    nodes_ : dict of int to matplotlib Text

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices, SubmodularTreeRegressor, TreeDisplay
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = 4.0 * X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2])
    >>> prices = Prices([1.0, 5.0, 5.0], unit="EUR")
    >>> model = SubmodularTreeRegressor(prices, node_budget=5, max_depth=2).fit(X, y)
    >>> display = TreeDisplay.from_estimator(model, X)
    >>> print(display.nodes_[1].get_text())
    1: 50 % of the rows
    + 2 (EUR 5.00)
    mean -3.57
    >>> display.similarity.round(2)  # the leaves share column 0, and have one each of their own
    array([[1.  , 0.33],
           [0.33, 1.  ]])
    """

    def __init__(
        self,
        branches: tuple[Branch, ...],
        exits: tuple[int, ...],
        similarity: NDArray[np.float64],
        unit: str = "",
    ) -> None:
        self.branches, self.exits = tuple(branches), tuple(exits)
        self.similarity, self.unit = similarity, unit

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> Self:
        """Draw the tree of a fitted estimator with the rows of X; see `from_predictor`."""
        return cls.from_predictor(estimator.predictor_, X, ax=ax)

    @classmethod
    def from_predictor(cls, predictor: Predictor, X: Any, *, ax: Any = None) -> Self:
        """Draw the tree of a predictor with the rows of X.

        Raises
        ------
        DataError
            If its model is not a tree of linear models.
        """
        found = branches(predictor, X)
        return cls(found, *similarity(predictor), predictor.prices.unit).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the tree on `ax`, or on axes of its own."""
        heights = self._heights()
        depth = 1 + max(branch.depth for branch in self.branches)
        rows = 1 + max(heights.values())
        self.ax_ = canvas(ax, size=(ACROSS * depth, DOWN * rows + 0.4))
        self.figure_ = self.ax_.figure
        self.ax_.set_axis_off()
        self.ax_.set_xlim(-0.5, depth - 0.5)
        self.ax_.set_ylim(rows - 0.4, -0.6)
        for branch in self.branches[1:]:
            self._draw_line(branch, heights)
        self.nodes_ = {branch.node: self._draw_node(branch, heights) for branch in self.branches}
        return self

    def plot_similarity(self, ax: Any = None) -> Any:
        """Draw how much the ways to two exits have in common; gives the axes."""
        size = 1.8 + 0.5 * len(self.exits)
        ax = canvas(ax, size=(size, size))
        ax.imshow(self.similarity, vmin=0.0, vmax=1.0, cmap="Greys", alpha=0.4)
        for (i, j), alike in np.ndenumerate(self.similarity):
            ax.text(j, i, f"{alike:.2f}", ha="center", va="center", color=INK, fontsize="small")
        names = [str(node) for node in self.exits]
        ax.set_xticks(np.arange(len(names)), labels=names)
        ax.set_yticks(np.arange(len(names)), labels=names)
        ax.set_xlabel("node where rows exit", color=INK)
        ax.set_title("features in common", loc="left", fontsize="medium", color=INK)
        return ax

    def _heights(self) -> dict[int, float]:
        """Where each node stands: leaves one below the other, a parent amid its children."""
        children: dict[int, list[int]] = {branch.node: [] for branch in self.branches}
        for branch in self.branches[1:]:
            children[branch.parent].append(branch.node)
        heights: dict[int, float] = {}
        leaves = [branch.node for branch in self.branches if not children[branch.node]]
        heights.update({node: float(place) for place, node in enumerate(leaves)})
        for branch in sorted(self.branches, key=lambda branch: -branch.depth):
            if children[branch.node]:
                places = [heights[child] for child in children[branch.node]]
                heights[branch.node] = sum(places) / len(places)
        return heights

    def _draw_line(self, branch: Branch, heights: dict[int, float]) -> None:
        parent = next(other for other in self.branches if other.node == branch.parent)
        x, y = (parent.depth, branch.depth), (heights[parent.node], heights[branch.node])
        self.ax_.plot(x, y, color=COLORS[0], alpha=0.35, linewidth=1.0 + 9.0 * branch.share,
                      solid_capstyle="round", zorder=1)  # fmt: skip
        told = f"{SIGNS[branch.side]} {parent.threshold:.3g}"
        self.ax_.text(sum(x) / 2, sum(y) / 2, told, ha="center", va="center", color=INK,
                      fontsize="x-small", zorder=2)  # fmt: skip

    def _draw_node(self, branch: Branch, heights: dict[int, float]) -> Any:
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": SOFT}
        return self.ax_.text(branch.depth, heights[branch.node], self._told(branch), ha="center",
                             va="center", fontsize="small", color=INK, bbox=box, zorder=3,
                             parse_math=False)  # fmt: skip

    def _told(self, branch: Branch) -> str:
        lines = [f"{branch.node}: {_percent(branch.share)} of the rows"]
        if branch.bought:
            price = money(round(branch.price, 2), self.unit)
            lines.append(f"+ {_names(branch.bought)} ({price})")
        lines.append(branch.answer)
        if branch.threshold is not None and branch.exits:
            lines.append(f"{_percent(branch.exits)} exit")
        return "\n".join(lines)


def _names(features: tuple[str | int, ...]) -> str:
    shown = [str(feature) for feature in features[:NAMES]]
    shown = [name if len(name) <= WIDTH else f"{name[: WIDTH - 1]}\u2026" for name in shown]
    more = len(features) - NAMES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
