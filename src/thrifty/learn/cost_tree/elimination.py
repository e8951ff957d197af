"""Weakest-link elimination: from one hard tree to ever cheaper ones, as the penalty increases.

A node alone can rarely give up an input: a route keeps what the leaves below it pay for anyway,
and a leaf keeps what a route above it has paid for. So here a column, a group or a base tree is
dropped from a node and everything below it at once. Its part of each linear function is projected
on the inputs that remain, thresholds move to their best places, and the exact objective (Xu 2014,
eq. 3.11) decides. A node may also become a leaf, or be replaced by one of its children.

A step that does not pay is tried again only when the penalty comes near the one from which it would
have paid, as in cost-complexity pruning. So one elimination covers all penalties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.hard_tree import HardTree, best_threshold
from thrifty.learn.cost_tree.leaf_fit import (
    VALUE_TOL,
    QuadraticModel,
    exiting_rows,
    fit_output,
)
from thrifty.learn.cost_tree.objective import SoftObjective

__all__ = ["Elimination"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# A step is tried again once the penalty is this share of the one from which it paid when it was
# last tried: other steps may have made it cheaper since.
RETRY_SHARE = 0.8
# Most rounds of moving thresholds and fitting outputs, each of which depends on the other.
MAX_ROUNDS = 6
# In place of a set of inputs to drop: make the node a leaf, or replace it by a child.
LEAF, LEFT, RIGHT = -1, -2, -3


@dataclass(eq=False)
class _Step:
    """The tree after a step, and what the step changes.

    `values` and `losses` are those of `Elimination` that are new, by node, for the rows that reach
    the node of the step; `decrease` is that of the objective, and `pays_from` the penalty from
    which there is one.
    """

    tree: HardTree
    values: dict[int, Floats] = field(default_factory=dict)
    losses: dict[int, Floats] = field(default_factory=dict)
    decrease: float = -np.inf
    pays_from: float = np.inf


class Elimination:
    """Eliminates inputs and branches of a tree.

    Parameters
    ----------
    objective : SoftObjective
        On the training rows; its penalty is replaced.
    tree : HardTree
        Where to start; it is not changed.

    Attributes
    ----------
    values : array of shape (n, N)
        What the thresholds are compared with: inputs of each row times the route of each node.
    losses : array of shape (n, N)
        Weighted loss of each row if it exited at each node.
    exits : int array of shape (n,)
        Where each row exits.
    """

    def __init__(self, objective: SoftObjective, tree: HardTree) -> None:
        self.objective = objective
        self._start(tree.copy())

    def trees(self, penalties: Sequence[float]) -> Iterator[HardTree]:
        """Yield the tree after the elimination at each of some increasing penalties."""
        for penalty in penalties:
            self.objective = self.objective.at(penalty)
            self._settle()
            while self._take_best_step():
                pass
            self._settle()
            yield self.tree.copy()
            if len(self.tree.shape) == 1 and not self.tree.uses.any():
                return

    def _start(self, tree: HardTree) -> None:
        """Fit the outputs of a tree; nothing is known about its steps yet."""
        self.tree = tree
        self.values = self.objective.Z @ tree.route.T
        self.losses = np.empty_like(self.values)
        self.models: list[QuadraticModel | None] = [None] * len(tree.shape)
        self.inputs: list[Rows] = [np.arange(0)] * len(tree.shape)
        self.fitted: list[Rows] = [np.array([-1])] * len(tree.shape)
        self.pays_from: dict[tuple[int, int], float] = {}
        self.tried: set[tuple[int, int]] = set()
        self._route()
        self._fit_outputs()

    def _route(self) -> None:
        """Find the rows that reach each node, and where rows exit."""
        shape = self.tree.shape
        self.reaches = np.zeros((len(shape), len(self.values)), dtype=bool)
        self.reaches[0] = True
        self.exits = np.zeros(len(self.values), dtype=np.intp)
        for node in range(len(shape)):
            self.exits[self.reaches[node]] = node
            right = self.values[:, node] > self.tree.threshold[node]
            for child, goes in ((shape.left[node], ~right), (shape.right[node], right)):
                if child >= 0:
                    self.reaches[child] = self.reaches[node] & goes

    def _fit_outputs(self) -> None:
        """Fit the output of every node whose rows or inputs are not those of its last fit."""
        on, tree = self.objective, self.tree
        for node in range(len(tree.shape)):
            rows = exiting_rows(on, tree, node, np.flatnonzero(self.reaches[node]))
            inputs = np.flatnonzero(tree.uses[node])
            same_inputs = np.array_equal(self.inputs[node], inputs)
            if same_inputs and np.array_equal(self.fitted[node], rows):
                continue
            problem = fit_output(on, tree, node, rows)
            self.fitted[node], self.inputs[node], self.models[node] = rows, inputs, None
            if problem is not None and len(inputs):
                solution = tree.weights[node, inputs], float(tree.bias[node])
                self.models[node] = QuadraticModel(problem, *solution)
            self.losses[:, node] = self._node_losses(self.objective, tree, node)

    def _node_losses(self, on: SoftObjective, tree: HardTree, node: int) -> Floats:
        """Return the weighted loss of some rows if they exited at a node."""
        outputs = on.Z @ tree.weights[node] + tree.bias[node]
        return np.asarray(on.loss_weight * on.loss.value(outputs, on.y))

    def _settle(self) -> None:
        """Move all thresholds to their best places, drop empty branches, and fit the outputs."""
        for _ in range(MAX_ROUNDS):
            tree, before = self.tree, self.exits
            inner = [node for node in range(len(tree.shape)) if not tree.shape.is_leaf(node)]
            self._exits_of(0, _Step(tree), tree.path_costs(self.objective), inner)
            self._route()
            for node in reversed(inner):
                right = self.values[self.reaches[node], node] > tree.threshold[node]
                if len(right) and (right.all() or not right.any()):
                    child = int((tree.shape.right if right.all() else tree.shape.left)[node])
                    self._start(tree.collapse(node, None if child < 0 else child))
                    break
            else:
                self._fit_outputs()
                if np.array_equal(self.exits, before):
                    break
        self.tried.clear()

    def _exits_of(
        self, start: int, step: _Step, costs: Floats, moving: Sequence[int] = ()
    ) -> NDArray[np.intp]:
        """Return where the rows that reach a node exit after a step.

        The thresholds of the `moving` nodes are first set to their best; in place.
        """
        on, tree = self.objective, step.tree
        rows = np.flatnonzero(self.reaches[start])
        exits: dict[int, NDArray[np.intp]] = {}
        for node in reversed(tree.shape.subtree(start)):
            own = np.full(len(rows), node)
            sides = (int(tree.shape.left[node]), int(tree.shape.right[node]))
            left, right = (own if child < 0 else exits.pop(child) for child in sides)
            exits[node] = own
            if tree.shape.is_leaf(node):
                continue
            values = step.values[node] if node in step.values else self.values[rows, node]
            here = np.flatnonzero(self.reaches[node][rows])
            if node in moving and len(here):
                gap = self._losses_of(rows, right, step, here)
                gap -= self._losses_of(rows, left, step, here)
                gap += on.weight[rows[here]] * (costs[right[here]] - costs[left[here]])
                current = float(gap[values[here] > tree.threshold[node]].sum())
                threshold, least = best_threshold(values[here], gap)
                if least < current - VALUE_TOL:
                    tree.threshold[node] = threshold
            exits[node] = np.where(values > tree.threshold[node], right, left)
        return exits[start]

    def _losses_of(
        self, rows: Rows, exits: NDArray[np.intp], step: _Step, some: Rows | slice = slice(None)
    ) -> Floats:
        """Return the weighted losses of some of the rows of a step, given where they exit."""
        losses = self.losses[rows[some], exits[some]]
        for node, column in step.losses.items():
            here = exits[some] == node
            losses[here] = column[some][here]
        return losses

    def _take_best_step(self) -> bool:
        """Take the step that lowers the objective most; return whether there is one."""
        tree, sets = self.tree, self.objective.terms.droppable_sets
        uses, ancestry = tree.uses, tree.shape.ancestry
        best, best_key = _Step(tree), (0, 0)
        for node in np.flatnonzero(self.reaches.any(axis=1)).tolist():
            above = uses[ancestry[node] & (np.arange(len(uses)) != node)].any(axis=0)
            # What the nodes above use is paid for in any case.
            priced = sets & (uses[ancestry[:, node]].any(axis=0) & ~above)
            kinds = np.flatnonzero(priced.any(axis=1)).tolist()
            kinds += [] if tree.shape.is_leaf(node) else [LEAF, LEFT, RIGHT]
            for key in ((node, kind) for kind in kinds):
                share = 1.0 if key in self.tried else RETRY_SHARE
                if share * self.pays_from.get(key, 0.0) > self.objective.penalty:
                    continue
                step = self._drop(node, sets[key[1]]) if key[1] >= 0 else self._collapse(*key)
                self.pays_from[key] = step.pays_from
                self.tried.add(key)
                if step.decrease > max(best.decrease, VALUE_TOL):
                    best, best_key = step, key
        if best.decrease <= VALUE_TOL:
            return False
        if best_key[1] < 0:
            self._start(best.tree)
        else:
            self._take(best_key[0], best)
        return True

    def _take(self, node: int, step: _Step) -> None:
        """Take a step that drops inputs from a node and those below it."""
        on = self.objective
        for changed in step.losses:
            gone = np.flatnonzero(self.tree.uses[changed] & ~step.tree.uses[changed])
            model = self.models[changed]
            if model is not None:
                model.drop(np.searchsorted(self.inputs[changed], gone))
            self.losses[:, changed] = self._node_losses(on, step.tree, changed)
            self.values[:, changed] = on.Z @ step.tree.route[changed]
        self.tree = step.tree
        self._route()
        ancestry = self.tree.shape.ancestry
        related = np.flatnonzero(ancestry[node] | ancestry[:, node])
        self.tried = {key for key in self.tried if key[0] not in related}

    def _drop(self, node: int, inputs: NDArray[np.bool_]) -> _Step:
        """Try to drop a set of inputs from a node and those below it."""
        on, step = self.objective, _Step(self.tree.copy())
        on = on if self.reaches[node].all() else on.take(np.flatnonzero(self.reaches[node]))
        tree, moving = step.tree, []
        for below in tree.shape.subtree(node):
            gone = np.flatnonzero(inputs & tree.uses[below])
            if not len(gone):
                continue
            model, own = self.models[below], self.inputs[below]
            if model is None:  # no rows
                tree.route[below, gone] = tree.weights[below, gone] = 0.0
                continue
            places = np.searchsorted(own, gone)
            solution = np.append(tree.weights[below, own], tree.bias[below])
            solution = model.project(solution, places)
            tree.weights[below, own], tree.bias[below] = solution[:-1], solution[-1]
            step.losses[below] = self._node_losses(on, tree, below)
            if not tree.shape.is_leaf(below):
                route = model.project(np.append(tree.route[below, own], 0.0), places)[:-1]
                tree.route[below, own] = route
                step.values[below] = on.Z @ tree.route[below]
                moving.append(below)
        costs = tree.path_costs(on)
        return self._judge(node, step, self._exits_of(node, step, costs, moving), costs)

    def _collapse(self, node: int, kind: int) -> _Step:
        """Try to make a node a leaf, or to replace it by a child."""
        tree = self.tree
        rows = np.flatnonzero(self.reaches[node])
        on = self.objective.take(rows)
        child = {LEAF: -1, LEFT: int(tree.shape.left[node]), RIGHT: int(tree.shape.right[node])}[
            kind
        ]
        if kind != LEAF and child < 0:
            return _Step(tree)
        step = _Step(tree.copy())
        if kind == LEAF:
            if tree.shape.left[node] < 0 or tree.shape.right[node] < 0:  # fitted to some rows only
                fit_output(self.objective, step.tree, node, rows)
                step.losses[node] = self._node_losses(on, step.tree, node)
            exits, costs = np.full(len(rows), node), tree.path_costs(on)
        else:
            step.tree.route[node] = step.tree.weights[node] = 0.0
            step.tree.threshold[node] = 1.0 if kind == LEFT else -1.0
            step.values[node] = np.zeros(len(rows))
            costs = step.tree.path_costs(on) - on.weighted_visit_price
            exits = self._exits_of(node, step, costs)
        self._judge(node, step, exits, costs)
        step.tree = step.tree.collapse(node, None if kind == LEAF else child)
        return step

    def _judge(self, node: int, step: _Step, exits: NDArray[np.intp], costs: Floats) -> _Step:
        """Compare a step, after which the rows at a node exit elsewhere, with none; in place."""
        on, rows = self.objective, np.flatnonzero(self.reaches[node])
        old = self.exits[rows]
        saved = float(on.weight[rows] @ (self.tree.path_costs(on)[old] - costs[exits]))
        losses = self._losses_of(rows, exits, step) - self.losses[rows, old]
        added = float(losses.sum())
        step.decrease = saved - added
        if saved > 0:
            step.pays_from = on.penalty * max(added, 0.0) / saved
        elif step.decrease > 0:
            step.pays_from = 0.0
        return step
