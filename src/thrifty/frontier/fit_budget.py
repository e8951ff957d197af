"""A table, prices and a budget in; the best predictor within the budget out, with test results.

Learners that cross-fit are trained on all rows but the test set, and the point is chosen on the
same rows, scored by models that have not seen them. For others, a validation set is held out to
choose on. The results that are reported come from the test set.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.frontier.baselines import Baseline, baselines
from thrifty.frontier.budget_base import BudgetEstimator
from thrifty.frontier.budget_estimators import BudgetClassifier, BudgetRanker, BudgetRegressor
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.splits import split_three
from thrifty.frontier.tasks import LEARNERS, guess_task
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.point import ValidationOutputs
from thrifty.learn.targets import queries

__all__ = ["BudgetFit", "TestResult", "ThreeSets", "TotalCost", "fit_budget", "split_table"]

# Share of the rows for the validation set, and again for the test set.
SHARE = 0.2

ESTIMATORS: dict[str, type[BudgetEstimator]] = {
    "classification": BudgetClassifier,
    "regression": BudgetRegressor,
    "ranking": BudgetRanker,
}


@dataclass(frozen=True, eq=False)
class ThreeSets:
    """A table, split into training, validation and test sets; encoded once.

    Parameters
    ----------
    train : TrainingSet
    validation : ValidationSet
    test : ValidationSet
    cross_fitted : bool
        Whether the validation rows are training rows, each scored by models that have not seen it.
    """

    train: TrainingSet
    validation: ValidationSet
    test: ValidationSet
    cross_fitted: bool = False

    @property
    def all(self) -> tuple[TrainingSet, ValidationSet, ValidationSet]:
        """The three sets in order."""
        return self.train, self.validation, self.test

    @property
    def sizes(self) -> dict[str, int]:
        """Number of rows of each set; in a cross-fit, validation rows are training rows."""
        return {
            "train": len(self.train),
            "validation": len(self.validation),
            "test": len(self.test),
        }

    def suited_to(self, learners: Iterable[Any], whole: TrainingSet) -> ThreeSets:
        """Return the sets for these learners: those that cross-fit train on validation rows, too.

        Parameters
        ----------
        learners : iterable of estimators
        whole : TrainingSet
            The table that was split.
        """
        learners = list(learners)
        if not all(getattr(learner, "cross_fits", False) for learner in learners):
            return self
        rows = np.setdiff1d(np.arange(len(whole)), self.test.positions)
        train = whole.sample(rows)
        evidence = learners[0].evidence(train)
        evidence = replace(evidence, index=rows[evidence.positions])
        return ThreeSets(train, evidence, self.test, cross_fitted=True)


@dataclass(frozen=True)
class TestResult:
    """Mean bill and quality of a predictor on the test set."""

    __test__ = False  # not a test class, whatever pytest may think

    bill: float
    quality: float


@dataclass(frozen=True)
class TotalCost:
    """What an example costs on average: its features, and the errors of its predictions.

    Examples
    --------
    >>> from thrifty.frontier.fit_budget import TotalCost
    >>> TotalCost(features=12.0, errors=30.5).total
    42.5
    """

    features: float
    errors: float

    @property
    def total(self) -> float:
        """The sum of both."""
        return self.features + self.errors


@dataclass(frozen=True, eq=False)
class BudgetFit:
    """What `fit_budget` found.

    Parameters
    ----------
    task : str
        ``"classification"``, ``"regression"`` or ``"ranking"``.
    guessed : bool
        Whether the task was guessed from the target.
    estimator : BudgetEstimator
        The fitted estimator: `frontier_` has the curve on the validation set.
    predictor : Predictor
        The chosen model, with its provenance.
    test_result : TestResult
        Its bill and quality on the test set.
    baselines : tuple of Baseline
        Bills and qualities on the test set of what one would do without Thrifty.
    sets : ThreeSets
        The training, validation and test sets.
    target_quality : float or None
        The quality that was asked for, in place of a budget.
    seed : int
        Seed of the split.
    data : str
        SHA-256 of the table and target as they were read.
    total : TotalCost or None
        Where errors have costs, mean bill and mean cost of errors on the test set.
    """

    task: str
    guessed: bool
    estimator: BudgetEstimator
    predictor: Predictor
    test_result: TestResult
    baselines: tuple[Baseline, ...]
    sets: ThreeSets
    target_quality: float | None
    seed: int
    data: str
    total: TotalCost | None = None

    @property
    def curve(self) -> Curve:
        """All points on the validation set."""
        return self.estimator.frontier_

    @property
    def chosen(self) -> CurvePoint:
        """The chosen point, as measured on the validation set."""
        return self.estimator.point_

    @property
    def test(self) -> ValidationSet:
        """The test set."""
        return self.sets.test


def fit_budget(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    qid: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    costs: Any = None,
    target_quality: float | None = None,
    share: float = SHARE,
    random_state: int = 0,
    **settings: Any,
) -> BudgetFit:
    """Trace the curve, choose the best predictor within a budget, and measure it on a test set.

    Parameters
    ----------
    X : pandas or polars DataFrame, or array of shape (n, d)
        The table.
    y : sequence of shape (n,)
        Labels, values, or relevance grades.
    task : {"classification", "regression", "ranking"}, optional
        What to predict; guessed from the target by default.
    qid : sequence of shape (n,), optional
        Query of each row, for ranking.
    groups : sequence of shape (n,), optional
        Rows of one group stay together in the split.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    costs : matrix, mapping or array of shape (n,), optional
        What errors cost, by class as in `BudgetClassifier`, or for each row as in its `fit`.
    target_quality : float, optional
        In place of a budget: choose the cheapest predictor with at least this quality.
    share : float
        Share of the rows for the test set, and again for the validation set if there is one.
    random_state : int
        Splits the rows and seeds the learners.
    **settings
        Parameters of `BudgetClassifier`: prices, budget, cap, scoring, learners, confidence,
        effort, time_limit.

    Raises
    ------
    DataError
        If table, target or prices cannot be used; they are checked before any training.
    BudgetError
        If no predictor meets the budget.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.frontier import fit_budget
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> found = fit_budget(X, y, prices=Prices([1.0, 50.0]), budget=10, cap=10)
    >>> found.task, found.curve.scoring, found.test_result.bill
    ('regression', 'r2', 1.0)
    >>> found.baselines[0].bill  # plain boosting that fetches every feature
    51.0
    """
    if isinstance(X, TrainingSet):
        name, whole = X.task, X.with_costs(costs)
        if groups is not None:
            whole = replace(whole, clusters=queries(groups, len(whole), "groups"))
    else:
        name = task or guess_task(np.asarray(y), None if qid is None else np.asarray(qid))
        whole = _read(name, X, y, qid, groups, settings.get("prices"), sample_weight, costs)
    estimator: Any = ESTIMATORS[name](random_state=random_state, **settings)
    parts = split_table(whole, share, random_state)
    sets = parts.suited_to(estimator.candidates(name).values(), whole)
    try:
        estimator.fit(sets.train, None, validation=None if sets.cross_fitted else sets.validation)
    except DataError as error:
        # The whole table was sound, so a value or class is so rare that no training row has it.
        raise DataError(f"the {len(sets.train)} training rows: {error}") from error
    if target_quality is not None:
        estimator = estimator.at_quality(target_quality)
    metric = estimator.metric_
    test = parts.test.encode_by(estimator.point_.model.schema)
    outputs = ValidationOutputs.of(estimator.point_.model, test.X)
    decision = estimator.point_.model.decision
    result = TestResult(float(outputs.bills.mean()), metric.value(outputs.scores, test, decision))
    total = None
    if test.error_costs is not None:
        errors = float(test.error_costs.actual(outputs.scores, test.y).mean())
        total = TotalCost(result.bill, errors)
    spendable = estimator.point_.bill if estimator.budget is None else estimator.budget
    sets = replace(sets, test=test)
    plain = LEARNERS[name]["greedy-miser"](random_state=random_state)
    data = _digest(whole)
    return BudgetFit(
        task=name,
        guessed=task is None,
        estimator=estimator,
        predictor=_with_provenance(estimator, name, result, data, random_state, sets.sizes),
        test_result=result,
        baselines=tuple(baselines(plain, whole.prices, *parts.all, metric, spendable)),
        sets=sets,
        target_quality=target_quality,
        seed=random_state,
        data=data,
        total=total,
    )


def split_table(whole: TrainingSet, share: float = SHARE, random_state: int = 0) -> ThreeSets:
    """Split a table, already read, into training, validation and test sets."""
    rows = split_three(whole.task, whole.labels, whole.clusters, share, random_state)
    train = whole.sample(rows["train"])
    validation, test = (whole.hold_out(rows[part], train.schema) for part in ("validation", "test"))
    return ThreeSets(train, validation, test)


def _read(
    task: str,
    X: Any,
    y: Any,
    qid: Any,
    groups: Any,
    prices: Any,
    sample_weight: Any,
    costs: Any,
) -> TrainingSet:
    """Read the whole table, so that errors name the rows as the user knows them."""
    if task not in LEARNERS:
        raise DataError(f"task: {task!r} is not one of {', '.join(LEARNERS)}")
    if qid is None and task == "ranking":
        raise DataError("qid: ranking needs the query of each row")
    if qid is not None and task != "ranking":
        raise DataError(f"qid: {task} has no queries; leave it out, or choose ranking")
    try:
        by_row = costs is not None and not isinstance(costs, Mapping) and np.ndim(costs) == 1
        whole = TrainingSet.read(
            task, X, y, prices, sample_weight, qid, groups, costs if by_row else None
        )
        return whole if by_row else whole.with_costs(costs)
    except DataError:
        raise
    except (TypeError, ValueError) as error:  # fractions or mixed types as labels
        raise DataError(f"target: these are not classes ({error}); try regression") from error


def _digest(whole: TrainingSet) -> str:
    """Return the SHA-256 of a table and its target as they were read."""
    digest = hashlib.sha256(json.dumps(whole.schema.plain(), sort_keys=True).encode())
    digest.update(whole.X.tobytes())
    digest.update(json.dumps([str(value) for value in whole.labels.tolist()]).encode())
    return digest.hexdigest()


def _with_provenance(
    estimator: BudgetEstimator,
    task: str,
    result: TestResult,
    data: str,
    seed: int,
    sizes: dict[str, int],
) -> Predictor:
    """Return the chosen model with a record of where it comes from."""
    point = estimator.point_
    model = point.model
    origin = {
        "task": task,
        "learner": point.learner,
        "budget": estimator.budget,
        "seed": seed,
        "rows": sizes,
        "data": data,
        "metric": estimator.frontier_.scoring,
        "held_out": asdict(result),
    }
    provenance = {**(model.provenance or {}), **origin}
    return model.replace(provenance=provenance)
