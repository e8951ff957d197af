"""Train a policy: predictors on rows of which some items are bought, then the value of each item.

The rows are divided into folds. Every fold has a predictor that has not seen it; these measure, on
the rows of their own fold, by how much each item lowers the loss. The value forest of a fold is
fitted to what the other folds have measured. So the policy of a fold, predictor and value forest,
has not seen its rows, and what they get and pay under it is evidence. The final policy averages
those of the folds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.binning import MISSING
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.calibration import fit_inverse_temperature, scale_outputs
from thrifty.learn.losses import Derivatives
from thrifty.learn.policy.fitted import FittedPolicy
from thrifty.learn.policy.items import Items
from thrifty.learn.policy.states import States, draw_states, visit_states
from thrifty.learn.policy.table import PolicyTable
from thrifty.learn.policy.vector_trees import boost_vectors
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest, Policy

__all__ = ["PolicySettings", "Trainer", "fit_policy"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Smaller probabilities count as this one in the logarithm of a reduction of the loss.
MIN_PROBABILITY = 1e-6
# The depth of trees is bounded by their number of leaves; this one only bounds memory.
MAX_DEPTH = 12


@dataclass(frozen=True)
class PolicySettings:
    """How a policy is trained.

    Parameters
    ----------
    states_per_row : int
        How many states the predictors are fitted to, for each row.
    min_states, max_states : int
        Bounds on the number of states: small tables have more for each row, long ones fewer.
    max_cells : int
        Bound on the number of states times that of the features, or of the classes if there are
        more of them; but every row gives a state if `max_states` allows it.
    n_estimators, learning_rate : int, float
        Boosting rounds of a predictor, and the factor for each tree.
    value_estimators, value_learning_rate : int, float
        The same for a value forest.
    max_leaves : int
        Leaves of a tree.
    min_samples_leaf : float
        Smallest weight of the states in a leaf.
    max_items : int
        The policy buys at most this many different items, those of most gain per price.
    max_features : int
        It reads at most so many features, those of most gain: items may have many.
    max_steps : int
        Purchases that are followed to find the states that a policy visits.
    exploration : float
        Share of these purchases that are drawn at random.
    first_share : float
        The first fit only finds out which states policies visit: its share of states and rounds.
    random_share : float
        Share of random states among those of the second fit; the others are visited.
    n_first_trials, first_trial_steps, max_trial_rows : int
        Items that are tried as the first purchase, the purchases that are then followed, and on
        how many rows.
    """

    states_per_row: int = 12
    min_states: int = 6_000
    max_states: int = 50_000
    max_cells: int = 5_000_000
    n_estimators: int = 150
    learning_rate: float = 0.125
    value_estimators: int = 150
    value_learning_rate: float = 0.1
    max_leaves: int = 31
    min_samples_leaf: float = 20
    max_items: int = 40
    max_features: int = 128
    max_steps: int = 12
    exploration: float = 0.2
    first_share: float = 0.5
    random_share: float = 0.3
    n_first_trials: int = 8
    first_trial_steps: int = 6
    max_trial_rows: int = 3000

    def short(self) -> PolicySettings:
        """Return the settings of the first fit, which has fewer rounds."""
        rounds, value_rounds = (
            max(1, round(self.first_share * count))
            for count in (self.n_estimators, self.value_estimators)
        )
        return replace(self, n_estimators=rounds, value_estimators=value_rounds)

    def share(self, share: float) -> PolicySettings:
        """Return the settings for a part of a table, which gets its share of the work."""
        states, rows = (
            max(1, round(share * count)) for count in (self.max_states, self.max_trial_rows)
        )
        return replace(self, max_states=states, max_trial_rows=rows)

    def n_states(self, n: int, d: int, n_classes: int = 2) -> int:
        """Return the number of states for a table of n rows and d features."""
        wanted = max(self.states_per_row * n, self.min_states)
        return min(max(min(wanted, self.max_cells // max(d, n_classes)), n), self.max_states)


@dataclass(frozen=True, eq=False)
class Trainer:
    """Fit the forests of the policies of all folds to states.

    Parameters
    ----------
    table : PolicyTable
    items : Items
    settings : PolicySettings
    states : States
    """

    table: PolicyTable
    items: Items
    settings: PolicySettings
    states: States

    def fit_predictors(self, random: np.random.Generator) -> tuple[list[Forest], Floats]:
        """Fit a predictor for each fold to the states of the other folds.

        Returns them with the gain of each feature, (d,), in all of them.
        """
        settings, forests, gains = self.settings, [], np.zeros(len(self.items.item))
        for k in range(self.table.n_folds):
            others = self.states.take(self.table.fold[self.states.rows] != k)
            loss = self.table.loss(others.rows)
            forest, gain = boost_vectors(
                self._grower(others), loss.derivatives, loss.start(), loss.link,
                settings.n_estimators, settings.learning_rate, loss.damping, random,
            )  # fmt: skip
            forests.append(forest)
            gains += gain
        return forests, gains

    def calibrate(self, predictors: Sequence[Forest]) -> list[Forest]:
        """Scale the outputs of all predictors to the best common temperature out of fold."""
        states = self.states
        raw = np.empty((len(predictors[0].base), len(states)))
        for predictor, place in self._by_fold(predictors):
            raw[:, place] = predictor.raw(self._masked(states.take(place))).T
        factor = fit_inverse_temperature(raw, self.table.loss(states.rows))
        return [scale_outputs(predictor, factor) for predictor in predictors]

    def measure_drops(self, predictors: Sequence[Forest]) -> Floats:
        """Return by how much each item would lower the log-loss of each state, (s, m).

        Each state is scored by the predictor that has not seen its row; an item that is bought
        already lowers nothing. Half of the weight is on what happened to the row, the other half
        on what the predictor expects to happen, once it has read the item: the divergence from its
        first to its second answer, which does not depend on the luck of the label.
        """
        states = self.states
        drops = np.zeros(states.bought.shape)
        for predictor, place in self._by_fold(predictors):
            here = states.take(place)
            y, masked = self.table.y[here.rows], self._masked(here)
            before = np.log(np.maximum(predictor.score(masked), MIN_PROBABILITY))
            X = self.table.X[here.rows]
            for item in range(len(self.items)):
                unbought = np.flatnonzero(~here.bought[:, item])
                features = np.flatnonzero(self.items.item == item)
                more = masked[unbought]
                more[:, features] = X[np.ix_(unbought, features)]
                after = predictor.score(more)
                change = np.log(np.maximum(after, MIN_PROBABILITY)) - before[unbought]
                happened = change[np.arange(len(unbought)), y[unbought]]
                expected = np.sum(after * change, axis=1)
                drops[place[unbought], item] = (happened + expected) / 2
        return drops

    def fit_values(self, drops: Floats, random: np.random.Generator) -> list[Forest]:
        """Fit a value forest for each fold to the drops (s, m) of the other folds."""
        settings, states, forests = self.settings, self.states, []
        # The link is not used: a value forest is read before it.
        link = "sum" if drops.shape[1] == 1 else "softmax"
        for k in range(self.table.n_folds):
            chosen = np.flatnonzero(self.table.fold[states.rows] != k)
            others, target = states.take(chosen), np.ascontiguousarray(drops[chosen].T)
            start = np.average(target, axis=1, weights=self.table.weights(others.rows))
            forest, _ = boost_vectors(
                self._grower(others), partial(_residuals, target), start, link,
                settings.value_estimators, settings.value_learning_rate, 0.0, random,
            )  # fmt: skip
            forests.append(forest)
        return forests

    def policies(self, predictors: Sequence[Forest], values: Sequence[Forest]) -> list[Policy]:
        """Join predictors and value forests to the policies of the folds."""
        items = self.items
        arrays = items.item, items.own, items.group, items.shared, items.known
        pairs = zip(predictors, values, strict=True)
        return [Policy(predictor, value, *arrays) for predictor, value in pairs]

    def _masked(self, states: States) -> Floats:
        """Return the rows of states, with NaN for what is not bought, (s, d)."""
        X = self.table.X[states.rows].astype(np.float64)
        return np.where(self.items.readable(states.bought), X, np.nan)

    def _grower(self, states: States) -> Grower:
        """Return a grower of trees on states."""
        binned, weight = self.table.binned, self.table.weights(states.rows)
        readable = self.items.readable(states.bought).T
        bins = np.where(readable, binned.bins[:, states.rows], np.uint8(MISSING))
        return Grower(
            Binned(np.ascontiguousarray(bins), binned.edges, binned.categorical),
            Purchases(self.table.prices, len(states), "model"),
            max_depth=MAX_DEPTH,
            max_leaves=self.settings.max_leaves,
            min_samples_leaf=self.settings.min_samples_leaf,
            weight=weight,
            features=np.flatnonzero(self.items.known | (self.items.item >= 0)),
        )

    def _by_fold(self, forests: Sequence[Forest]) -> list[tuple[Forest, NDArray[np.intp]]]:
        """Pair the forest of each fold with the positions of the states of the fold."""
        fold = self.table.fold[self.states.rows]
        return [(forest, np.flatnonzero(fold == k)) for k, forest in enumerate(forests)]


def fit_policy(
    table: PolicyTable,
    settings: PolicySettings,
    random: np.random.Generator,
    *,
    free: Bools | None = None,
    cap: float = math.inf,
) -> FittedPolicy:
    """Train a policy on all rows of a table, with evidence out of fold.

    Parameters
    ----------
    table : PolicyTable
    settings : PolicySettings
    random : numpy Generator
        Draws everything that is random.
    free : bool array of shape (d,), optional
        Features that every row has already, such as those that a branch has been split on; those
        that cost nothing are free as well.
    cap : float
        Largest bill of a row.
    """
    items = Items.of(table.prices, free)
    seeds = random.spawn(6)
    n, d = table.X.shape
    states = draw_states(n, items, settings.n_states(n, d, table.n_classes), seeds[0])
    trainer = Trainer(table, items, settings.short(), states.share(settings.first_share))
    predictors, gain = trainer.fit_predictors(seeds[1])
    if len(items) > settings.max_items:
        kept = most_gain_per_price(items, gain, settings.max_items)
        items, states = items.keep(kept), states.keep_items(kept)
    items = items.read_only(most_gain(items, gain, settings.max_features))
    trainer = replace(trainer, items=items, states=states.share(settings.first_share))
    if len(items):
        values = trainer.fit_values(trainer.measure_drops(predictors), seeds[2])
        first = trainer.policies(predictors, values)
        states = mix_states(table, first, states, settings, seeds[3])
    trainer = Trainer(table, items, settings, states)
    predictors, _ = trainer.fit_predictors(seeds[4])
    predictors = trainer.calibrate(predictors)
    if len(items):
        values = trainer.fit_values(trainer.measure_drops(predictors), seeds[5])
    else:
        values = [Forest.constant([0.0], "sum", d)] * table.n_folds
    policies = trainer.policies(predictors, values)
    fitted = FittedPolicy(tuple(policies), table, items.unit).with_cap(cap)
    return fitted.choose_first(
        settings.n_first_trials, settings.first_trial_steps, settings.max_trial_rows
    )


def most_gain_per_price(items: Items, gain: Floats, count: int) -> Ints:
    """Return the items whose features gain most per price, (count,), increasing."""
    gain_of_item = np.bincount(items.item + 1, gain, len(items) + 1)[1:]
    order = np.argsort(-gain_of_item / items.first_price, kind="stable")
    return np.sort(order[:count])


def most_gain(items: Items, gain: Floats, count: int) -> Bools:
    """Return which features to read, (d,): those of most gain, and the best of each item."""
    offered = items.known | (items.item >= 0)
    order = np.argsort(np.where(offered, -gain, np.inf), kind="stable")
    chosen = np.zeros(len(gain), dtype=bool)
    chosen[order[:count]] = True
    _, best = np.unique(items.item[order], return_index=True)
    chosen[order[best]] = True
    return chosen & offered


def mix_states(
    table: PolicyTable,
    policies: Sequence[Policy],
    drawn: States,
    settings: PolicySettings,
    random: np.random.Generator,
) -> States:
    """Return as many states as were drawn, shuffled: most of them are visited out of fold."""
    n_visited = int((1 - settings.random_share) * len(drawn))
    parts = []
    for k, policy in enumerate(policies):
        rows = np.flatnonzero(table.fold == k)
        # More rows than states to visit are not followed.
        most = -(-n_visited // len(policies))
        rows = np.sort(random.permutation(rows)[:most])
        steps = settings.max_steps, settings.exploration
        parts.append(visit_states(policy, table.X, rows, *steps, random))
    visited = parts[0]
    for part in parts[1:]:
        visited = visited + part
    visited = visited.take(random.permutation(len(visited))[:n_visited])
    mixed = visited + drawn.take(random.permutation(len(drawn))[: len(drawn) - len(visited)])
    return mixed.take(random.permutation(len(mixed)))


def _residuals(target: Floats, raw: Floats) -> Derivatives:
    """Return the derivatives of half the squared error of outputs (k, n)."""
    return target - raw, None
