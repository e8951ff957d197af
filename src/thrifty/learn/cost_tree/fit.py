"""Learn the trees of linear models of one target, for all penalties.

A soft tree is learned by block coordinate descent (Xu 2014, algorithm 5): it is initialized from
the root down, then each node in turn is minimized with the others fixed. A node changes only if
the objective decreases.

The relaxed cost of a weight below 1 is less than its price, so a soft tree learned at the penalty
itself may buy too much, and the objective has many local minima. So soft trees are learned at many
penalties and for every depth, each is hardened at many penalties, and among all the hard trees the
one with the least exact objective is taken. On boosted trees, sums of the first base trees are
candidates, too, see `prefixes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.cost_tree.criteria import Criterion
from thrifty.learn.cost_tree.elimination import Elimination
from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.cost_tree.harden import harden
from thrifty.learn.cost_tree.inputs import Inputs, OutputScale, TreeInputs
from thrifty.learn.cost_tree.leaf_fit import polish
from thrifty.learn.cost_tree.leaf_step import LeafProblem, solve_leaf
from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.prefixes import ExitShape, Prefixes, undominated
from thrifty.learn.cost_tree.soft_tree import SoftTree, TreeShape
from thrifty.learn.cost_tree.split_step import MAX_SLOPE, MIN_SLOPE, SplitProblem, solve_split
from thrifty.model import Frozen

__all__ = [
    "MAX_FULL_DEPTH",
    "Candidate",
    "TreeLearner",
    "descend",
    "grow_tree",
    "initial_tree",
    "sweep",
]

Floats = NDArray[np.float64]

# Descent ends with the first sweep that lowers the objective by a smaller share than this.
SWEEP_TOL = 1e-4
# Rows that reach a node with this probability or less are left out of its problem, if those that
# remain are few enough to be worth a copy.
MIN_REACH = 1e-10
MAX_COPIED_SHARE = 0.8
# Initial slope of a sigmoid, in standard deviations of the values: a row one deviation above the
# threshold goes right with a probability of 95 %.
INITIAL_SLOPE = 3.0
# Most nodes of a tree that is deeper than `MAX_FULL_DEPTH`.
MAX_GROWN_NODES = 63
MAX_FULL_DEPTH = 4
# Soft trees are learned at these multiples of each penalty, unless one was learned at about the
# same penalty before: at 2.5 times it or less.
PENALTY_FACTORS = (10.0, 3.0, 1.0)
MIN_DECREASE = 0.4
# Sweeps at factors above 1, whose trees are only a warm start for the next factor.
N_SWEEPS_WARM = 3
# The elimination of a soft tree starts at this share of the penalty that it was learned at.
FIRST_ELIMINATION = 0.05
# The path of penalties falls by this factor at a time, for as long as a linear model buys more,
# from that many times the largest penalty at which a single input pays: several together may pay
# at an even larger one.
PATH_DECREASE = 0.6
LARGEST_FACTOR = 4.0
MIN_PATH_SHARE = 1e-7
# Nothing pays at this penalty, and multiples of it are still finite.
LARGEST_PENALTY = 1e200


class Candidate(NamedTuple):
    """A hard tree with its mean loss and mean bill on the rows that judge it.

    `quality` is that of a ranking criterion, if there is one. `penalty` and `shrinkage` are those
    of the soft tree that it comes from, if it does.
    """

    tree: HardTree
    loss: float
    bill: float
    quality: float
    penalty: float | None = None
    shrinkage: float | None = None


@dataclass(frozen=True, eq=False)
class TreeLearner:
    """Learns a tree for one target.

    Parameters
    ----------
    inputs : Inputs
        Inputs of the nodes.
    objective : SoftObjective
        On the training rows; its penalty is replaced.
    on_validation : SoftObjective or None
        On the validation set, which judges candidates; None to judge on the training rows.
    initial_trees : sequence of callables
        Each makes a soft tree, before it is trained and pruned, for an objective.
    max_sweeps : int
    scale : OutputScale
        Penalties are in units of the model's loss; the objective has the units of scaled outputs.
    constant : Frozen
        The model that buys nothing.
    shrinkages : sequence of float
        Weights of the l1 norm (rho) to choose from, by the single linear models.
    exits : ExitShape or None
        How rows may exit after the first base trees.
    criterion : callable or None
        Judges the outputs for the validation set, larger is better; None for the loss.
    """

    inputs: Inputs
    objective: SoftObjective
    on_validation: SoftObjective | None
    initial_trees: Sequence[Callable[[SoftObjective], SoftTree]]
    max_sweeps: int
    scale: OutputScale
    constant: Frozen
    shrinkages: Sequence[float]
    exits: ExitShape | None = None
    criterion: Criterion | None = None

    def candidates(self, penalties: Sequence[float]) -> list[Candidate]:
        """Return hard trees that no other of their kind beats in both loss and bill.

        Those of the first kind come from soft trees of all depths that are learned for some
        penalties; the others are sums of the first base trees.
        """
        soft: list[Candidate] = []
        boosted: list[Candidate] = []
        if self.objective.Z.shape[1]:  # else no split of the table paid: there are no base trees
            scaled = [self._scaled(penalty) for penalty in penalties if np.isfinite(penalty)]
            linear, *larger = self.initial_trees
            by_shrinkage = {
                rho: list(self._candidates_of([linear], rho, scaled)) for rho in self.shrinkages
            }
            best = min(by_shrinkage, key=lambda rho: _mean_objective(by_shrinkage[rho], scaled))
            soft = [one for some in by_shrinkage.values() for one in some]
            soft += self._candidates_of(larger, best, scaled)
            boosted += self._prefixes()
        if self.criterion is not None and soft:
            judged = _judged_by_quality([*soft, *boosted])
            soft, boosted = judged[: len(soft)], judged[len(soft) :]
        return [*_undominated(soft), *_undominated(boosted)]

    def _prefixes(self) -> Iterator[Candidate]:
        """Yield trees that sum up the first base trees, if there are base trees."""
        if not isinstance(self.inputs, TreeInputs):
            return
        judge = (self.on_validation or self.objective).at(1.0)
        for tree, loss, bill in Prefixes(self.inputs, judge).trees(self.exits):
            quality = self.criterion(tree.outputs(judge.Z)) if self.criterion else -loss
            yield Candidate(tree, loss, bill, quality)

    def _candidates_of(
        self,
        initial_trees: Sequence[Callable[[SoftObjective], SoftTree]],
        shrinkage: float,
        penalties: Sequence[float],
    ) -> Iterator[Candidate]:
        """Yield the hard trees of some initial trees at one weight of the l1 norm."""
        judge = (self.on_validation or self.objective).at(1.0)
        learner = replace(self, objective=replace(self.objective, shrinkage=shrinkage))
        for initial in initial_trees:
            for penalty, soft in learner._soft_trees(initial, penalties):
                for hard in learner._harden(soft, penalty, penalties):
                    loss, bill = hard.loss_and_cost(judge)
                    quality = self.criterion(hard.outputs(judge.Z)) if self.criterion else -loss
                    unscaled = penalty * self.scale.factor**2
                    yield Candidate(hard, loss, bill, quality, unscaled, shrinkage)

    def _soft_trees(
        self, initial: Callable[[SoftObjective], SoftTree], penalties: Sequence[float]
    ) -> Iterator[tuple[float, SoftTree]]:
        """Yield soft trees and their penalties, decreasing; each is the start of the next."""
        previous: SoftTree | None = None
        last_penalty = np.inf
        for penalty in sorted(penalties, reverse=True):
            for factor in PENALTY_FACTORS if penalty > 0 else PENALTY_FACTORS[-1:]:
                if factor * penalty >= MIN_DECREASE * last_penalty:
                    continue
                last_penalty = factor * penalty
                objective = self.objective.at(last_penalty)
                tree = initial(objective)
                if previous is not None and objective.value(previous) < objective.value(tree):
                    tree = previous.copy()
                warm = min(N_SWEEPS_WARM, self.max_sweeps)
                descend(objective, tree, self.max_sweeps if factor == 1.0 else warm)
                previous = tree
                yield last_penalty, tree

    def _harden(
        self, soft: SoftTree, penalty: float, penalties: Sequence[float]
    ) -> Iterator[HardTree]:
        """Yield hard trees of a soft one that was learned at a penalty."""
        judge = self.on_validation and self.on_validation.at(penalty)
        yield harden(self.objective.at(penalty), soft, judge)
        rising = [other for other in sorted(penalties) if other >= FIRST_ELIMINATION * penalty]
        yield from Elimination(self.objective, HardTree.of(soft)).trees(rising)

    def best(self, candidates: Sequence[Candidate], penalty: float) -> Candidate | None:
        """Return the candidate with the least exact objective at a penalty.

        None stands for the model that buys nothing.
        """
        if not candidates or np.isinf(penalty):
            return None
        scaled = self._scaled(penalty)
        return min(candidates, key=lambda one: one.loss + scaled * one.bill)

    def _scaled(self, penalty: float) -> float:
        """Return a penalty in the units of scaled outputs."""
        return min(float(penalty) / self.scale.factor**2, LARGEST_PENALTY)

    def freeze(self, candidate: Candidate | None) -> Frozen:
        """Fit the outputs of a candidate to convergence, and freeze it; boosted ones stay."""
        if candidate is None:
            return self.constant
        tree = candidate.tree.copy()
        if len(tree.shape) == 1 and not tree.uses.any():
            return self.constant
        if candidate.shrinkage is not None:
            polish(replace(self.objective, shrinkage=candidate.shrinkage), tree)
        return self.inputs.freeze(tree, self.objective.loss.link, self.scale)

    def path_penalties(self) -> list[float]:
        """Return penalties from one at which nothing pays to 0, decreasing.

        The last but one is the first at which a single linear model buys all that it buys for free.
        """
        on, root = replace(self.objective, shrinkage=self.shrinkages[0]), TreeShape.full(0)
        prices = on.at(1.0)
        free = HardTree.of(initial_tree(on.at(0.0), root)).path_costs(prices)[0]
        largest = self.largest_penalty()
        penalties = [LARGEST_FACTOR * largest]
        while penalties[-1] > MIN_PATH_SHARE * largest:
            penalties.append(PATH_DECREASE * penalties[-1])
            linear = initial_tree(on.at(penalties[-1] / self.scale.factor**2), root)
            if HardTree.of(linear).path_costs(prices)[0] >= free:
                break
        return [*penalties, 0.0]

    def largest_penalty(self) -> float:
        """Return the largest penalty at which a single input pays, by least squares."""
        on, terms = self.objective, self.objective.terms
        prices = np.array([
            float(terms.prices @ terms.members[:, [j]].toarray()[:, 0])
            for j in range(on.Z.shape[1])
        ])  # fmt: skip
        mean = np.average(on.y, weights=on.loss_weight)
        gradient = on.Z.T @ (on.loss_weight * (on.y - mean))
        centers = on.loss_weight @ on.Z / on.loss_weight.sum()
        curvature = on.loss_weight @ np.square(on.Z - centers)
        gain = 0.5 * np.square(gradient) / np.maximum(curvature, np.finfo(float).tiny)
        per_price = np.divide(gain, prices, out=np.zeros_like(gain), where=prices > 0)
        return float(per_price.max(initial=0.0)) * self.scale.factor**2


def _mean_objective(candidates: Sequence[Candidate], penalties: Sequence[float]) -> float:
    """Return the mean, over penalties, of the least exact objective of some candidates."""
    least = [min(one.loss + penalty * one.bill for one in candidates) for penalty in penalties]
    return float(np.mean(least)) if least else 0.0


def _undominated(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that no other beats in both loss and bill, cheapest first."""
    bills = np.array([one.bill for one in candidates])
    losses = np.array([one.loss for one in candidates])
    return [candidates[number] for number in undominated(bills, losses)]


def _judged_by_quality(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Replace the loss of candidates by minus their quality, scaled to the range of the losses.

    So a penalty has about the same effect by either.
    """
    losses, qualities = np.array([(one.loss, one.quality) for one in candidates]).T
    ranges = np.ptp(losses), np.ptp(qualities)
    factor = float(ranges[0] / ranges[1]) if ranges[1] > 0 else 0.0
    return [one._replace(loss=-factor * one.quality) for one in candidates]


def initial_tree(objective: SoftObjective, shape: TreeShape) -> SoftTree:
    """Fit each node as if it were a leaf, from the root down (Xu 2014, sec. 3.4.3).

    The threshold of a node is the mean of its values, and its slope goes with their deviation.
    """
    tree = SoftTree.zero(shape, objective.Z.shape[1])
    values = objective.node_values(tree)
    for node in range(len(shape)):
        _initialize_node(objective, tree, values, node)
    return tree


def grow_tree(objective: SoftObjective, max_depth: int) -> SoftTree:
    """Initialize a deep tree of at most 63 nodes.

    From the root down, the leaf with the largest loss is given two children, fitted as in
    `initial_tree`. A full tree of that depth would have far more nodes than rows can fill.
    """
    tree = initial_tree(objective, TreeShape.full(0))
    values, losses = objective.node_values(tree), [np.inf]
    while len(losses) + 2 <= MAX_GROWN_NODES:
        depth = tree.shape.ancestry.sum(axis=1) - 1
        open_leaves = (tree.shape.left < 0) & (depth < max_depth)
        node = int(np.argmax(np.where(open_leaves, losses, -np.inf)))
        if not open_leaves[node]:
            break
        tree = tree.split(node)
        values = np.hstack([values, np.zeros((len(values), 2))])
        for child in (len(losses), len(losses) + 1):
            reach = _initialize_node(objective, tree, values, child)
            outputs = values[:, child] + tree.bias[child]
            loss = objective.loss.value(outputs, objective.y)
            losses.append(float((objective.loss_weight * reach) @ loss))
    return tree


def _initialize_node(objective: SoftObjective, tree: SoftTree, values: Floats, node: int) -> Floats:
    """Fit a node as a leaf, in the tree and the values (n, N); return who reaches it, (n,)."""
    reach = tree.node_probability(values, node)
    problem = _leaf_problem(objective, tree, reach, node)
    tree.weights[node], tree.bias[node] = solve_leaf(problem, tree.weights[node], 0.0)
    values[:, node] = objective.Z @ tree.weights[node]
    weight = objective.weight * reach
    total = float(weight.sum())
    if total > 0.0:
        mean = float(weight @ values[:, node]) / total
        deviation = float(np.sqrt(weight @ np.square(values[:, node] - mean) / total))
        tree.threshold[node] = mean
        if deviation > 0.0:
            tree.slope[node] = np.clip(INITIAL_SLOPE / deviation, MIN_SLOPE, MAX_SLOPE)
    return reach


def descend(objective: SoftObjective, tree: SoftTree, max_sweeps: int) -> list[float]:
    """Sweep over a tree, in place, until it converges.

    Returns the objective before the first and after each sweep.
    """
    values = [objective.value(tree)]
    for _ in range(max_sweeps):
        sweep(objective, tree)
        values.append(objective.value(tree))
        if values[-2] - values[-1] <= SWEEP_TOL * abs(values[-2]):
            break
    return values


def sweep(objective: SoftObjective, tree: SoftTree) -> None:
    """Minimize each node once with the others fixed, from the root down; in place."""
    all_values = objective.node_values(tree)
    for node in range(len(tree.shape)):
        on, values = objective, all_values
        reach = tree.node_probability(values, node)
        rows = np.flatnonzero(reach > MIN_REACH)
        if len(rows) <= MAX_COPIED_SHARE * len(values):
            on, values, reach = objective.take(rows), values[rows], reach[rows]
        if tree.shape.is_leaf(node):
            problem = _leaf_problem(on, tree, reach, node)
            tree.weights[node], tree.bias[node] = solve_leaf(
                problem, tree.weights[node], float(tree.bias[node])
            )
        else:
            rest = [tree.bias[node], tree.threshold[node], np.log(tree.slope[node])]
            start = np.concatenate([tree.weights[node], rest])
            x = solve_split(SplitProblem.of(on, values, tree, node), start)
            tree.weights[node], tree.bias[node], tree.threshold[node] = x[:-3], x[-3], x[-2]
            tree.slope[node] = np.exp(x[-1])
        all_values[:, node] = objective.Z @ tree.weights[node]


def _leaf_problem(
    objective: SoftObjective, tree: SoftTree, reach: Floats, node: int
) -> LeafProblem:
    """Return the problem of a node as a leaf, given the probability (n,) of reaching it."""
    above = tree.shape.ancestry[node].copy()
    above[node] = False
    path_squares = objective.terms.input_sums @ np.square(tree.weights[above]).sum(axis=0)
    share = float(objective.weight @ reach)
    return LeafProblem(objective, objective.loss_weight * reach, share, path_squares)
