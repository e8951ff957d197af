"""Plot of a tree of linear models: where rows go, and what they buy on the way."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.costs.money import money
from thrifty.report.displays.style import COLORS, INK, SOFT, prepare_axes, shorten
from thrifty.report.tree_nodes import TreeNode, exit_similarity, tree_nodes

__all__ = ["TreeDisplay"]

# More names, or longer ones, would not fit into the box of a node.
MAX_NAMES, MAX_NAME_LENGTH = 4, 18
# Height of a leaf, length of the visible part of an edge, and margin of the text in a box.
LEAF_INCHES, EDGE_INCHES, MARGIN_INCHES = 0.85, 1.0, 0.1
SIGNS = {"left": "\u2264", "right": ">"}


class TreeDisplay:
    """A tree of linear models from left to right: rows, purchases and predictions of each node.

    The line to a child is as wide as the share of rows that take it; the child for scores up to the
    threshold is drawn above the other one. A node lists only the features that are new there: what
    the nodes before it bought is not paid again.

    Use `from_estimator` or `from_predictor` to create one.

    Parameters
    ----------
    nodes : tuple of thrifty.report.tree_nodes.TreeNode
        The nodes in preorder.
    exits : tuple of int
        Nodes where rows can stop.
    similarity : float array of shape (exits, exits)
        Jaccard coefficients of the features that are read on the way to two exits.
    unit : str
        Unit of the prices.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    nodes_ : dict of int to matplotlib Text
        The box of each node.

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
    1: 50% of the rows
    + 2 (EUR 5.00)
    mean -3.57
    >>> display.similarity.round(2)  # both leaves read column 0 and one more
    array([[1.  , 0.33],
           [0.33, 1.  ]])
    """

    def __init__(
        self,
        nodes: tuple[TreeNode, ...],
        exits: tuple[int, ...],
        similarity: NDArray[np.float64],
        unit: str = "",
    ) -> None:
        self.nodes, self.exits = tuple(nodes), tuple(exits)
        self.similarity, self.unit = similarity, unit

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> Self:
        """Plot the tree of a fitted estimator and the rows of X; see `from_predictor`."""
        return cls.from_predictor(estimator.predictor_, X, ax=ax)

    @classmethod
    def from_predictor(cls, predictor: Predictor, X: Any, *, ax: Any = None) -> Self:
        """Plot the tree of a predictor and where the rows of X go.

        Raises
        ------
        DataError
            If its model is not a tree of linear models.
        """
        exits, similarity = exit_similarity(predictor)
        unit = predictor.prices.unit
        nodes = tree_nodes(predictor, predictor.schema.encode(X))
        return cls(nodes, exits, similarity, unit).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the tree on `ax`, or on new axes that are as large as it needs."""
        heights, new = self._heights(), ax is None
        rows = 1 + max(heights.values())
        self.ax_ = ax = prepare_axes(ax)
        self.figure_ = ax.figure
        ax.set_axis_off()
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": SOFT}
        self.nodes_ = {
            node.node: ax.text(0, heights[node.node], self._label(node), ha="center", va="center",
                               fontsize="small", color=INK, bbox=box, zorder=3, parse_math=False)
            for node in self.nodes
        }  # fmt: skip
        # Each level is as wide as its widest box; x is in inches.
        widths = {
            node: text.get_window_extent().width / ax.figure.dpi + 2 * MARGIN_INCHES
            for node, text in self.nodes_.items()
        }
        centers: list[float] = []
        right = 0.0
        for depth in range(1 + max(node.depth for node in self.nodes)):
            level = max(widths[node.node] for node in self.nodes if node.depth == depth)
            centers.append(right + level / 2)
            right += level + EDGE_INCHES
        for node in self.nodes:
            self.nodes_[node.node].set_x(centers[node.depth])
        ax.set_xlim(-MARGIN_INCHES, right - EDGE_INCHES + MARGIN_INCHES)
        ax.set_ylim(rows - 0.4, -0.6)
        if new:
            ax.figure.set_size_inches(right - EDGE_INCHES + 0.4, LEAF_INCHES * rows + 0.4)
        self._draw_edges(centers, heights, widths)
        return self

    def _draw_edges(
        self, centers: list[float], heights: dict[int, float], widths: dict[int, float]
    ) -> None:
        """Draw a line to each child, with its condition in the middle of what the boxes leave."""
        by_number = {node.node: node for node in self.nodes}
        for node in self.nodes[1:]:
            parent = by_number[node.parent]
            x = centers[parent.depth], centers[node.depth]
            y = heights[parent.node], heights[node.node]
            self.ax_.plot(x, y, color=COLORS[0], alpha=0.35, linewidth=1.0 + 9.0 * node.share,
                          solid_capstyle="round", zorder=1)  # fmt: skip
            middle = (x[0] + widths[parent.node] / 2 + x[1] - widths[node.node] / 2) / 2
            self.ax_.text(middle, float(np.interp(middle, x, y)),
                          f"{SIGNS[node.side]} {parent.threshold:.3g}", ha="center", va="center",
                          color=INK, fontsize="small", zorder=4,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip

    def plot_similarity(self, ax: Any = None) -> Any:
        """Draw the similarity of the exits as a matrix; returns the axes."""
        size = 1.8 + 0.5 * len(self.exits)
        ax = prepare_axes(ax, size=(size, size))
        ax.imshow(self.similarity, vmin=0.0, vmax=1.0, cmap="Greys", alpha=0.4)
        for (i, j), value in np.ndenumerate(self.similarity):
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", color=INK, fontsize="small")
        names = [str(node) for node in self.exits]
        ax.set_xticks(np.arange(len(names)), labels=names)
        ax.set_yticks(np.arange(len(names)), labels=names)
        ax.set_xlabel("node where rows stop", color=INK)
        ax.set_title("shared features (Jaccard)", loc="left", fontsize="medium", color=INK)
        return ax

    def _heights(self) -> dict[int, float]:
        """Place the leaves one below the other and each parent halfway between its children."""
        children: dict[int, list[int]] = {node.node: [] for node in self.nodes}
        for node in self.nodes[1:]:
            children[node.parent].append(node.node)
        leaves = [node.node for node in self.nodes if not children[node.node]]
        heights = {leaf: float(row) for row, leaf in enumerate(leaves)}
        for node in sorted(self.nodes, key=lambda node: -node.depth):
            if children[node.node]:
                below = [heights[child] for child in children[node.node]]
                heights[node.node] = sum(below) / len(below)
        return heights

    def _label(self, node: TreeNode) -> str:
        """Return the text of a node: share of rows, purchases, prediction, share that stops."""
        lines = [f"{node.node}: {100 * node.share:.0f}% of the rows"]
        if node.bought:
            names = [shorten(str(name), MAX_NAME_LENGTH) for name in node.bought[:MAX_NAMES]]
            more = len(node.bought) - MAX_NAMES
            bought = ", ".join(names) + (f" and {more} more" if more > 0 else "")
            lines.append(f"+ {bought} ({money(round(node.price, 2), self.unit)})")
        lines.append(node.prediction)
        if node.threshold is not None and node.exits:
            lines.append(f"{100 * node.exits:.0f}% stop")
        return "\n".join(lines)
