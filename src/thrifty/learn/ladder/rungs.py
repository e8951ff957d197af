"""Fit the rungs of a ladder, from all features down to the cheapest.

The trees of a rung show what each feature is worth, and that decides which features the next rung
down goes without (`thrifty.learn.ladder.feature_order`). So the order of the features takes no
extra fits, except for groups and for the last features of a ranking, which are ordered by trial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.ladder.effort import RungSettings
from thrifty.learn.ladder.feature_order import (
    drop_features,
    order_features,
    order_groups,
    price_of,
    sold_in_groups,
    thin_sets,
)
from thrifty.learn.ladder.mixture import mix_parts
from thrifty.learn.ladder.pace import Descent, Pace
from thrifty.learn.ladder.parts import (
    BoostedTrees,
    ForestSettings,
    Part,
    extra_trees,
    fit_boosted,
    fit_forest,
    fit_linear_part,
    loss_on,
)
from thrifty.learn.ladder.rows import LadderRows
from thrifty.model import Average, Forest

__all__ = [
    "Rung", "RungSettings", "fit_rungs", "has_forests", "has_linear_models", "prior_scores",
]  # fmt: skip

Floats = NDArray[np.float64]
Features = NDArray[np.int64]

# Beyond this many training rows, a linear model no longer adds anything to trees.
MAX_LINEAR_ROWS = 9000
# A rung at the price of the cap must not be lost to rounding.
ROUNDING = 1 + 1e-12
TINY = 1e-9
# To order groups, small models are fitted on this many rows and compared on as many others.
MAX_TRIAL_ROWS = 2000
TRIAL = BoostedTrees(rounds=10, learning_rate=0.3, max_leaves=31, min_samples_leaf=20, max_depth=4)
# They may take this share of the time, if there is a limit: they have two rounds at least.
TRIALS_SHARE, FEWEST_TRIAL_ROUNDS = 0.2, 2
# A ranking orders its last features by trial. NDCG is noisy: it takes many queries and three folds.
MAX_TRIED_FEATURES = 13
MAX_RANKING_TRIAL_ROWS = 20_000
RANKING_TRIAL_DIVISIONS = 3


@dataclass(frozen=True, eq=False)
class Rung:
    """A fitted rung.

    Parameters
    ----------
    features : int64 array
        The features that it buys.
    model : Average or Forest
        Its model; a forest without trees for the constant.
    scores : array of shape (m, K) or (m,)
        Scores of the evidence, by models that have not seen it.
    """

    features: Features
    model: Average | Forest
    scores: Floats


def fit_rungs(
    rows: LadderRows,
    settings: RungSettings,
    random: np.random.RandomState,
    cap: float = np.inf,
    pace: Pace | None = None,
    seconds: float = np.inf,
) -> list[Rung]:
    """Fit the rungs from all features down; return them cheapest first, after the constant.

    Where everything is sold in a few groups, these are ordered by trial. Otherwise, what is worth
    least per unit of price is dropped from rung to rung; in a ranking, the last features are
    ordered by trial. Nothing is fitted below the free features. One rung is as near to the cap as
    it can be, as no row can be sent to those above. Where `seconds` are short, steps are larger.
    """
    pace, forests, sets = pace or Pace(), extra_trees(rows), None
    before = pace.clock()
    if sold_in_groups(rows.prices):
        sets = _order_groups(rows, random, pace.clock, TRIALS_SHARE * seconds)
    seconds -= pace.clock() - before
    descent = Descent(rows.prices, settings.n_rungs, pace, seconds)
    prior = prior_scores(rows)
    features = np.arange(rows.X.shape[1])
    rungs: list[Rung] = []
    while len(features):
        is_top = len(rungs) < 2
        n_trees = settings.n_top_trees if is_top else settings.n_trees
        growing = ForestSettings.suited_to(rows, len(features), n_trees, is_top)
        parts = []
        if settings.boosted:
            boosting = BoostedTrees.suited_to(rows, is_top)
            boosting = replace(boosting, rounds=round(settings.rounds * boosting.rounds))
            parts.append(fit_boosted(rows, features, boosting, random))
        if has_forests(rows):
            parts.append(fit_forest(rows, forests, features, growing, random))
        if has_linear_models(rows):
            parts.append(fit_linear_part(rows, features))
        model, scores = mix_parts(parts, rows, features, prior)
        rungs.append(Rung(features, model, scores))
        price = price_of(features, rows.prices)
        if price == 0:
            break
        if sets is None and rows.task == "ranking" and len(features) <= MAX_TRIED_FEATURES:
            order = _order_last(rows, features, random, pace.clock, TRIALS_SHARE * seconds)
            sets = thin_sets(order, rows.prices, descent.ratio)
        n_below = descent.rungs_below(features, None if sets is None else len(sets))
        if n_below == 0:
            break
        if sets is None:
            ratio = descent.ratio_to(features, n_below)
            step = max(ratio, cap / price * ROUNDING) if price > cap else ratio
            features = drop_features(features, _importance(parts), rows.prices, step)
        else:
            sets = [sets[k] for k in np.linspace(0, len(sets) - 1, n_below).round().astype(int)]
            features = sets.pop()
    return [_constant(rows, prior), *rungs[::-1]]


def has_forests(rows: LadderRows) -> bool:
    """Return whether rungs have extra-trees."""
    # A forest of grades spends itself on what tells queries apart: it adds nothing to LambdaMART,
    # which compares the rows of one query.
    return rows.task != "ranking"


def has_linear_models(rows: LadderRows) -> bool:
    """Return whether rungs have linear models."""
    return rows.n_train < MAX_LINEAR_ROWS


def prior_scores(rows: LadderRows) -> Floats:
    """Return the class shares (K,), or the mean of the target (1,), of the training rows."""
    train = np.arange(rows.n_train)
    weight = rows.weight_of(train)
    if rows.task == "classification":
        counts = np.bincount(rows.y[train], weight, rows.n_classes)
        return np.asarray(counts / counts.sum())
    return np.array([np.average(rows.y[train], weights=weight)])


def _constant(rows: LadderRows, prior: Floats) -> Rung:
    """Return the rung that buys nothing."""
    is_class = rows.task == "classification"
    model = Forest.constant(prior, "mean" if is_class else "sum", rows.X.shape[1])
    return Rung(np.empty(0, np.int64), model, model.score(rows.X[rows.evidence]))


def _importance(parts: list[Part]) -> Floats:
    """Return the mean share of each feature in what the trees of the parts gain, (d,)."""
    shares = [part.importance for part in parts if part.importance is not None]
    return np.asarray(np.mean(shares, axis=0))


def _order_groups(
    rows: LadderRows,
    random: np.random.RandomState,
    clock: Callable[[], float],
    seconds: float,
) -> list[Features]:
    """Order groups by trial: small models on one part of the rows, compared on another.

    Returns nested sets of features without the last, all features; the free ones come first. Where
    seconds are short, models have fewer rounds.
    """
    fit, unseen = (some[:MAX_TRIAL_ROWS] for some in rows.crossfit.divisions[0])
    binned, seed = rows.binned.take(fit), random.randint(2**31)

    def loss_after(trial: BoostedTrees, features: Features) -> float:
        forest, _ = trial.fit(binned, loss_on(rows, fit), rows.prices, features, seed)
        return loss_on(rows, unseen).value(forest.raw(rows.X[unseen]).T)

    n_groups = int(np.sum(rows.prices.shared > 0))
    one_round = partial(loss_after, replace(TRIAL, rounds=1), np.arange(rows.X.shape[1]))
    in_time = _rounds_in_time(one_round, n_groups, clock, seconds)
    trial = replace(TRIAL, rounds=max(in_time, FEWEST_TRIAL_ROUNDS))
    return order_groups(rows.prices, partial(loss_after, trial))[:-1]


def _rounds_in_time(
    one_round: Callable[[], float], n_items: int, clock: Callable[[], float], seconds: float
) -> int:
    """Return how many rounds trials can have, by the time of one round on all features."""
    if seconds == np.inf:
        return TRIAL.rounds
    before = clock()
    one_round()
    # Each item is tried after each number of others, on half of the features on average.
    whole = max(clock() - before, TINY) * n_items * (n_items + 1) / 4
    return int(min(seconds / whole, TRIAL.rounds))


def _order_last(
    rows: LadderRows,
    features: Features,
    random: np.random.RandomState,
    clock: Callable[[], float],
    seconds: float,
) -> list[Features]:
    """Order the last features of a ranking by trial: small models, compared on unseen queries.

    Where seconds are short, models have fewer rounds, and then one division of the queries.
    """
    seed = random.randint(2**31)
    trials = []
    for fit, unseen in rows.crossfit.divisions[:RANKING_TRIAL_DIVISIONS]:
        fit, unseen = fit[:MAX_RANKING_TRIAL_ROWS], unseen[:MAX_RANKING_TRIAL_ROWS]
        trials.append((rows.binned.take(fit), loss_on(rows, fit), unseen, loss_on(rows, unseen)))

    def loss_after(trial: BoostedTrees, features: Features) -> float:
        losses = []
        for binned, loss, unseen, unseen_loss in trials:
            forest, _ = trial.fit(binned, loss, rows.prices, features, seed)
            losses.append(unseen_loss.value(forest.raw(rows.X[unseen]).T))
        return float(np.mean(losses))

    one_round = partial(loss_after, replace(TRIAL, rounds=1), features)
    in_time = _rounds_in_time(one_round, len(features), clock, seconds)
    if in_time < FEWEST_TRIAL_ROUNDS:
        del trials[1:]
    trial = replace(TRIAL, rounds=max(in_time, FEWEST_TRIAL_ROUNDS))
    return order_features(features, rows.prices, partial(loss_after, trial))
