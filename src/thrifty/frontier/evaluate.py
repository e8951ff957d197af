"""Measure the points of a path on the validation set: bills, qualities, and their intervals.

A path that followed the validation set hands over its outputs. Other models are scored here, with
the work that they share done once: points are often prefixes of one forest, which is descended
once for all of them, and ladders share their rungs, also behind a common split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from thrifty.bundle import Evidence, Predictor
from thrifty.frontier.curve import CurvePoint, pareto_optimal
from thrifty.frontier.scoring import Metric
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.error_costs import class_loss
from thrifty.learn.point import Point, ValidationOutputs
from thrifty.learn.policy.evidence import Trace
from thrifty.model import Branch, Forest, Frozen, Policy, Stages
from thrifty.model.links import apply_link

__all__ = ["evaluate_points", "mean_interval", "score_together", "thin"]

# More points of one learner would hardly differ.
MAX_POINTS = 150

Rows = NDArray[np.floating]
ScoresAndUsed = tuple[NDArray[np.float64], NDArray[np.bool_]]


def evaluate_points(
    learner: str,
    points: Sequence[Point],
    validation: ValidationSet,
    metric: Metric,
    level: float,
    training_rows: Rows | None = None,
) -> list[CurvePoint]:
    """Measure points of one learner.

    Parameters
    ----------
    learner : str
        Name of the learner.
    points : sequence of Point
    validation : ValidationSet
        Encoded by the schema of the points.
    metric : Metric
    level : float
        Confidence level of the intervals.
    training_rows : array of shape (m, d), optional
        Some encoded rows of the training set, on which bills are estimated beforehand.
    """
    found: dict[int, CurvePoint] = {}
    for k, point in enumerate(points):
        outputs = point.outputs if point.look_up is None else point.look_up()
        if outputs is not None:
            found[k] = _measure_point(learner, point, outputs, validation, metric, level)
    unscored = [k for k in range(len(points)) if k not in found]
    models = [points[k].model.model for k in unscored]
    for place, scores, used in score_together(models, validation.X):
        k = unscored[place]
        outputs = ValidationOutputs(scores, _bills(points[k].model, used, validation.X))
        found[k] = _measure_point(learner, points[k], outputs, validation, metric, level)
    measured = [found[k] for k in range(len(points))]
    if training_rows is None:
        return measured
    for k, _, used in score_together([point.model.model for point in points], training_rows):
        bills = _bills(points[k].model, used, training_rows)
        training_bill = float(bills.mean()), float(bills.std())
        measured[k] = replace(measured[k], training_bill=training_bill)
    return measured


def _measure_point(
    learner: str,
    point: Point,
    outputs: ValidationOutputs,
    validation: ValidationSet,
    metric: Metric,
    level: float,
) -> CurvePoint:
    """Measure one point from its scores and bills on the validation set."""
    scores, bills = outputs
    predictor = point.model
    decision = metric.tune(scores, validation)
    if decision is not None and predictor.classes is not None:
        predictor = predictor.replace(decision=decision)
    found = metric.measure(scores, validation, level, predictor.decision)
    neg_brier = totals = actual_total = None
    if (costs := validation.error_costs) is not None:
        relative = validation.weights / validation.weights.mean()
        totals = relative * (bills + class_loss(scores, validation.y, costs))
        actual_total = float(np.mean(relative * (bills + costs.actual(scores, validation.y))))
    if metric.name == "accuracy":
        member = (validation.y[:, np.newaxis] == np.arange(scores.shape[1])).astype(np.float64)
        neg_brier = np.asarray(-((scores - member) ** 2).sum(axis=1))
        if validation.weight is not None:
            neg_brier *= validation.weight / validation.weight.mean()
    ceiling = predictor.ceiling
    return CurvePoint(
        learner=learner,
        knob=point.knob,
        model=predictor,
        bill=float(bills.mean()),
        quality=found.value,
        bills=bills,
        bill_interval=mean_interval(bills, level, ceiling, validation.clusters),
        quality_interval=(found.low, found.high),
        ceiling=ceiling,
        gains=found.gains,
        neg_brier=neg_brier,
        totals=totals,
        actual_total=actual_total,
        find_evidence=partial(_find_evidence, point, validation),
    )


def _find_evidence(point: Point, validation: ValidationSet) -> Evidence | None:
    """Return how often a point was right on the validation set; None for a ranking."""
    if validation.task == "ranking":  # ranks are no grades
        return None
    outputs = point.outputs
    if outputs is None:
        unseen = point.look_up
        outputs = ValidationOutputs.of(point.model, validation.X) if unseen is None else unseen()
    interim = [] if point.interim is None else point.interim()
    with np.errstate(over="ignore", invalid="ignore"):
        evidence = Evidence.of(validation.y, validation.weight, *outputs, interim)
    return evidence if evidence.is_sound else None


def _bills(predictor: Predictor, used: NDArray[np.bool_], X: Rows) -> NDArray[np.float64]:
    prices = predictor.prices
    return prices.bill(used, predictor.model.evaluations(X) if prices.evaluation else 0)


def mean_interval(
    bills: NDArray[np.float64],
    level: float,
    ceiling: float,
    clusters: NDArray[np.int64] | None = None,
) -> tuple[float, float]:
    """Return Student's interval of the mean bill, clipped to what bills can be.

    With clusters, these are the observations: the mean is a ratio of their totals, and the interval
    is that of its linear expansion.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.evaluate import mean_interval
    >>> low, high = mean_interval(np.array([1.0, 2.0, 3.0, 2.0]), 0.95, ceiling=3.0)
    >>> round(low, 2), high
    (0.7, 3.0)
    """
    mean, influence = bills.mean(), bills - bills.mean()
    if clusters is not None:
        influence = np.bincount(clusters, influence) * (clusters.max() + 1) / len(bills)
    n = len(influence)
    if n < 2:
        return 0.0, float(ceiling)
    half = stdtrit(n - 1, (1 + level) / 2) * influence.std(ddof=1) / np.sqrt(n)
    return max(0.0, float(mean - half)), max(float(mean), min(float(mean + half), ceiling))


def thin(points: Sequence[Point], most: int = MAX_POINTS) -> list[Point]:
    """Keep at most `most` points: the Pareto-optimal ones first, then others spread over the bills.

    The others are kept too because the metric may differ from the quality of the path, and because
    on few rows the best points are the luckiest.

    Examples
    --------
    >>> from thrifty import Point
    >>> from thrifty.frontier.evaluate import thin
    >>> points = [Point({}, None, float(bill), quality=bill % 7) for bill in range(100)]
    >>> [int(point.bill) for point in thin(points, 12)]
    [0, 1, 2, 3, 4, 5, 6, 7, 30, 53, 76, 99]
    """
    if len(points) <= most:
        return list(points)
    best = {id(point) for point in pareto_optimal(points)}
    chosen = _evenly([point for point in points if id(point) in best], most)
    kept = {id(point) for point in chosen}
    others = [point for point in points if id(point) not in kept]
    kept |= {id(point) for point in _evenly(others, most - len(chosen))}
    return [point for point in points if id(point) in kept]


def _evenly(points: Sequence[Point], most: int) -> list[Point]:
    """Take the first, the last and others at even steps in between."""
    if len(points) <= most:
        return list(points)
    return [points[k] for k in np.linspace(0, len(points) - 1, most).astype(int)]


# --- scoring many models on the same rows -------------------------------------


def score_together(
    models: Sequence[Frozen], X: Rows
) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.bool_]]]:
    """Yield position, scores and used features of each model, in any order.

    They equal those of `score` and `used` to the bit.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier.evaluate import score_together
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> forest = GreedyMiserRegressor(n_estimators=9).fit(X, X[:, 0]).model_
    >>> models = [forest, forest.prefix(4)]
    >>> [k for k, scores, _ in score_together(models, X) if (scores == models[k].score(X)).all()]
    [1, 0]
    """
    prefixes: dict[object, list[int]] = {}
    for k, model in enumerate(models):
        key = _prefix_key(model) if isinstance(model, Forest) else k
        prefixes.setdefault(key, []).append(k)
    single = _SharedRungs(models, X)
    for members in prefixes.values():
        if len(members) == 1:
            yield members[0], *single.score(models[members[0]])
        else:
            yield from _score_prefixes({k: models[k] for k in members}, X)


def _prefix_key(forest: Forest) -> object:
    """Return what the prefixes of one forest have in common: where their arrays lie."""
    arrays = (forest.nodes, forest.values, forest.roots, forest.outputs, forest.subsets)
    places = tuple(array.__array_interface__["data"][0] for array in arrays)
    # Arrays without entries may lie anywhere, so a constant shares nothing.
    return (*places, forest.base.tobytes(), forest.link) if len(forest.roots) else id(forest)


def _score_prefixes(
    models: dict[int, Frozen], X: Rows
) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.bool_]]]:
    """Go through the trees of the longest forest; yield each prefix where it ends."""
    forests = {k: model for k, model in models.items() if isinstance(model, Forest)}
    longest = max(forests.values(), key=lambda forest: len(forest.roots))
    ends: dict[int, list[int]] = {}
    for k, forest in forests.items():
        ends.setdefault(len(forest.roots), []).append(k)
    raw = np.tile(longest.base, (len(X), 1))
    words = np.zeros((len(X), longest.paths.shape[1]), dtype=np.uint64)
    added, single = longest.contributions, longest.values.shape[1] == 1
    for tree, leaf in enumerate(longest.leaves(X)):
        if single:
            raw[:, longest.outputs[tree]] += added[leaf, 0]
        else:
            raw += added[leaf]
        words |= longest.paths[leaf]
        for k in ends.get(tree + 1, ()):
            mean = raw / (tree + 1) if longest.link in ("mean", "vote") else raw
            yield k, apply_link(longest.link, mean), longest.unpack_paths(words)


class _SharedRungs:
    """Score models on the same rows; a rung that several ladders share is scored once.

    Branches with the same split share the rungs of the ladders on each side, which only the rows of
    that side are scored on. Policies that differ in their cost weight share all steps of the rows.
    """

    def __init__(self, models: Sequence[Frozen], X: Rows) -> None:
        self.X = X
        ladders = [model for model in models if isinstance(model, Stages)]
        rungs = chain.from_iterable((*ladder.rungs, *ladder.uncertainties) for ladder in ladders)
        self.shared = {id(rung) for rung in rungs} if len(ladders) > 1 else set()
        self.known: dict[int, ScoresAndUsed] = {}
        self.traces: dict[object, Trace] = {}
        branches: dict[object, list[Branch]] = {}
        for model in models:
            if isinstance(model, Branch):
                branches.setdefault(_split_key(model), []).append(model)
        self.sides = {
            key: _Sides(members, X) for key, members in branches.items() if len(members) > 1
        }

    def score(self, model: Frozen) -> ScoresAndUsed:
        """Return scores and used features."""
        if id(model) in self.known:
            return self.known[id(model)]
        if isinstance(model, Stages) and self.shared:
            return self._score_ladder(model)
        if isinstance(model, Branch) and _split_key(model) in self.sides:
            return self.sides[_split_key(model)].score(model)
        if isinstance(model, Policy):
            key = _policy_key(model)
            if key not in self.traces:
                self.traces[key] = Trace.of(model, self.X)
            outputs = self.traces[key].at(model.cost_weight)
            return outputs.scores, outputs.used
        both = getattr(model, "score_and_used", None)
        found = (model.score(self.X), model.used(self.X)) if both is None else both(self.X)
        if id(model) in self.shared:
            self.known[id(model)] = found
        return found

    def _score_ladder(self, ladder: Stages) -> ScoresAndUsed:
        """Look up where each row stops, and what it has read by then."""
        scores = self.score(ladder.rungs[0])[0].copy()
        used = np.zeros((len(self.X), ladder.n_features), dtype=bool)
        rows = np.arange(len(self.X))
        for rung in range(len(ladder.rungs)):
            visited = [self.score(model) for model in ladder.visited(rung)]
            for _, read in visited:
                used[rows] |= read[rows]
            scores[rows] = visited[0][0][rows]
            rows = rows[ladder.climbs(rung, [outputs[rows] for outputs, _ in visited])]
            if not len(rows):
                break
        return scores, used


def _split_key(branch: Branch) -> object:
    """Return what branches with the same split have in common."""
    return branch.feature, branch.threshold, branch.codes.tobytes(), branch.missing_left


def _policy_key(policy: Policy) -> object:
    """Return what policies that differ in their cost weight have in common."""
    return id(policy.predictor), id(policy.value), policy.known.tobytes(), policy.cap, policy.first


class _Sides:
    """The rows on the two sides of a split, and what scores the models of several branches there.

    Parameters
    ----------
    branches : sequence of Branch
        All with the same split.
    X : array of shape (n, d)
    """

    def __init__(self, branches: Sequence[Branch], X: Rows) -> None:
        left = branches[0].goes_left(X)
        self.left, self.right = np.flatnonzero(left), np.flatnonzero(~left)
        self.left_models = _SharedRungs([branch.left for branch in branches], X[self.left])
        self.right_models = _SharedRungs([branch.right for branch in branches], X[self.right])

    def score(self, branch: Branch) -> ScoresAndUsed:
        """Return scores and used features of all rows."""
        n = len(self.left) + len(self.right)
        scores = np.empty((n,) if branch.n_scores == 1 else (n, branch.n_scores))
        used = np.empty((n, branch.n_features), dtype=bool)
        scores[self.left], used[self.left] = self.left_models.score(branch.left)
        scores[self.right], used[self.right] = self.right_models.score(branch.right)
        used[:, branch.feature] = True
        return scores, used
