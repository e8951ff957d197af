"""A table, prices and a budget in; the best predictor within the budget out, with test results.

Learners that cross-fit are trained on all rows but the test set, and the point is chosen on the
same rows, scored by models that have not seen them. For others, a validation set is held out to
choose on. The results that are reported come from the test set.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thrifty.bundle import Predictor
from thrifty.errors import DataError, ResumeError
from thrifty.frontier.baselines import Baseline, PlainModels
from thrifty.frontier.budget_base import BudgetEstimator
from thrifty.frontier.budget_estimators import BudgetClassifier, BudgetRanker, BudgetRegressor
from thrifty.frontier.choice import Alternative, cheaper_alternative
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.fit_progress import current_report, reporting
from thrifty.frontier.jobs import digest_of_rows
from thrifty.frontier.operating_points import operating_points
from thrifty.frontier.results import (
    MeasuredOutputs,
    TestPoint,
    TestResult,
    TotalCost,
    constant_outputs,
    measure_points,
)
from thrifty.frontier.scoring import Metric
from thrifty.frontier.splits import split_three
from thrifty.frontier.tasks import LEARNERS, guess_task
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.point import ValidationOutputs
from thrifty.learn.sampled_training_set import SampledTrainingSet
from thrifty.learn.targets import queries
from thrifty.long_table import Table

__all__ = [
    "BudgetFit",
    "TestPoint",
    "TestResult",
    "ThreeSets",
    "TotalCost",
    "draw_training_set",
    "fit_budget",
    "split_table",
    "table_digest",
]

# Share of the rows for the validation set, and again for the test set.
SHARE = 0.2

# Boosting and a forest on all features, the cheapest, and the best per price.
MAX_BASELINES = 6
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

    @property
    def held_out(self) -> ValidationSet | None:
        """The validation set, unless its rows are trained on."""
        return None if self.cross_fitted else self.validation

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
    test_points : tuple of TestPoint
        The frontier of the curve and the constant, measured on the test set, cheapest first.
    constant : Baseline
        The model that buys nothing and predicts the same for every row.
    constant_validation : TestResult
        The same on the validation set.
    baselines : tuple of Baseline
        What one would do without Thrifty, measured on the test set.
    same_answer : str or None
        The answer of the chosen model, if it is the same for all test rows.
    sets : ThreeSets
        The training, validation and test sets.
    target_quality : float or None
        The quality that was asked for, in place of a budget.
    seed : int
        Seed of the split.
    data : str
        SHA-256 of the table and target as the model reads them.
    total : TotalCost or None
        Where errors have costs, mean bill and mean cost of errors on the test set.
    """

    task: str
    guessed: bool
    estimator: BudgetEstimator
    predictor: Predictor
    test_result: TestResult
    test_points: tuple[TestPoint, ...]
    constant: Baseline
    constant_validation: TestResult
    baselines: tuple[Baseline, ...]
    same_answer: str | None
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

    @property
    def by_total(self) -> bool:
        """Whether totals of features and errors are to be compared, as a total was minimized."""
        return self.total is not None and self.target_quality is None

    @property
    def alternative(self) -> Alternative | None:
        """A cheaper model that is not clearly worse, where money was no object."""
        estimator = self.estimator
        if self.target_quality is not None or estimator.has_several_budgets:
            return None
        budget = estimator.main_budget
        return cheaper_alternative(
            self.curve, math.inf if budget is None else budget, estimator.confidence
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chosen model, and the other points of the hull, to a `.thrifty` file."""
        operating_points(self.curve, self.predictor).save(path)

    def verdict(self, baseline: Baseline) -> str:
        """Return how a baseline compares with the chosen model; see `Baseline.verdict`."""
        limits = self.estimator.main_budget, self.estimator.main_cap
        return baseline.verdict(self.test_result, *limits, by_total=self.by_total)


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
    resume: str | os.PathLike[str] | None = None,
    random_state: int = 0,
    **settings: Any,
) -> BudgetFit:
    """Trace the curve, choose the best predictor within a budget, and measure it on a test set.

    Parameters
    ----------
    X : pandas or polars DataFrame, array of shape (n, d), or thrifty.Table
        The table. Of a `Table`, 100,000 rows are drawn for everything but the training of the
        chosen model; see `BudgetClassifier.refit`.
    y : sequence of shape (n,)
        Labels, values, or relevance grades; None for a `Table`.
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
        In place of a budget: choose the cheapest predictor with at least this quality, with the
        confidence of `settings` (0.95 by default).
    share : float
        Share of the rows for the test set, and again for the validation set if there is one.
    resume : path, optional
        A folder that keeps the curve of each learner when it is done; an interrupted fit resumes
        from there, to the same result. The baselines are not kept.
    random_state : int
        Splits the rows and seeds the learners.
    **settings
        Parameters of `BudgetClassifier`: prices, budget, cap, scoring, learners, confidence,
        effort, time_limit.

    Raises
    ------
    DataError
        If table, target or prices cannot be used, or `resume` is for other data or settings; this
        is checked before any training.
    BudgetError
        If no predictor meets the budget or reaches the quality.

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
    >>> low, high = found.test_result.quality_interval
    >>> bool(low < found.test_result.quality < high)
    True
    >>> found.baselines[1].name, found.baselines[1].bill
    ('plain forest on all features', 51.0)
    """
    prices = settings.get("prices")
    whole = _read(task, X, y, qid, groups, prices, sample_weight, costs, random_state)
    estimator: Any = ESTIMATORS[whole.task](random_state=random_state, **settings)
    sets = parts = split_table(whole, share, random_state)
    if not estimator.has_several_budgets:
        sets = parts.suited_to(estimator.candidates(whole.task).values(), whole)
    try:
        estimator.fit(sets.train, None, validation=sets.held_out, resume=resume)
    except ResumeError:
        raise
    except DataError as error:
        # The whole table was sound, so a value or class is so rare that no training row has it.
        raise DataError(f"the {len(sets.train)} training rows: {error}") from error
    if target_quality is not None:
        estimator = estimator.at_quality(target_quality)
    metric, point = estimator.metric_, estimator.point_
    test = parts.test.encode_by(point.model.schema)
    outputs = ValidationOutputs.of(point.model, test.X)
    chosen = MeasuredOutputs.of(outputs, test, metric, point.ceiling, point.model.decision)
    constant, on_validation = (
        MeasuredOutputs.of(constant_outputs(sets.train, len(rows)), rows, metric, 0.0)
        for rows in (test, sets.validation)
    )
    with reporting("baselines", 0, 0):
        baselines = tuple(_baselines(whole, parts, chosen, metric, estimator, random_state))
    data = table_digest(whole.hold_out(np.arange(len(whole)), point.model.schema))
    return BudgetFit(
        task=whole.task,
        guessed=task is None,
        estimator=estimator,
        predictor=_with_provenance(estimator, chosen.result, data, random_state, sets.sizes),
        test_result=chosen.result,
        test_points=measure_points(
            estimator.frontier_.frontier, point, constant.result, test, metric
        ),
        constant=Baseline.compare("constant", (), 0.0, constant, chosen, test.clusters),
        constant_validation=on_validation.result,
        baselines=baselines,
        same_answer=_same_answer(point.model, test),
        sets=replace(sets, test=test),
        target_quality=target_quality,
        seed=random_state,
        data=data,
        total=chosen.total,
    )


def draw_training_set(
    table: Table, task: str | None, prices: Any, random_state: int
) -> SampledTrainingSet:
    """Check all rows of a table in files, and draw those on which learners are compared.

    By default, the task is guessed from the first rows.
    """
    if task is None:
        first = next(table.batches([table.target]), None)
        y = np.empty(0) if first is None else first.frame[table.target].to_numpy()
        task = guess_task(y, None)
    random = np.random.RandomState(random_state)
    with reporting("files", 0, 0):
        return SampledTrainingSet.draw(task, table, prices, random, current_report())


def _baselines(
    whole: TrainingSet,
    parts: ThreeSets,
    chosen: MeasuredOutputs,
    metric: Metric,
    estimator: BudgetEstimator,
    seed: int,
) -> Iterator[Baseline]:
    """Train what one would do without Thrifty, and compare it with the chosen model."""
    positions = parts.test.positions
    train = whole.sample(np.setdiff1d(np.arange(len(whole)), positions))
    test = whole.hold_out(positions, train.schema)
    learner = LEARNERS[whole.task]["greedy-miser"](random_state=seed)
    budget, cap = estimator.main_budget, estimator.main_cap
    spendable = estimator.point_.bill if budget is None else budget
    if cap is not None:  # every row pays for all of a fixed set of features
        spendable = min(spendable, cap)
    names = [str(name) for name in whole.schema.names]
    plain = PlainModels(
        learner, whole.prices, parts.train, parts.validation, train, test, metric, seed
    )
    report = current_report() or (lambda share: None)
    for done, model in enumerate(plain.within(spendable), 1):
        report(min(done / MAX_BASELINES, 1.0))
        measured = MeasuredOutputs.of(model.outputs, test, metric, model.ceiling, model.decision)
        columns = tuple(names[j] for j in model.columns)
        yield Baseline.compare(model.name, columns, model.ceiling, measured, chosen, test.clusters)


def _same_answer(model: Predictor, test: ValidationSet) -> str | None:
    """Return the answer of a model, if it is the same for all test rows."""
    answers = model.predict(test.table)
    if np.any(answers != answers[0]):
        return None
    return f"{answers[0]:.4g}" if test.classes is None else str(answers[0])


def split_table(whole: TrainingSet, share: float = SHARE, random_state: int = 0) -> ThreeSets:
    """Split a table, already read, into training, validation and test sets."""
    rows = split_three(whole.task, whole.labels, whole.clusters, share, random_state)
    train = whole.sample(rows["train"])
    validation, test = (whole.hold_out(rows[part], train.schema) for part in ("validation", "test"))
    return ThreeSets(train, validation, test)


def _read(
    task: str | None,
    X: Any,
    y: Any,
    qid: Any,
    groups: Any,
    prices: Any,
    sample_weight: Any,
    costs: Any,
    random_state: int,
) -> TrainingSet:
    """Read the whole table, so that errors name the rows as the user knows them.

    Of a table in files, rows are drawn. A table that was read before keeps its task.
    """
    if isinstance(X, Table):
        if any(given is not None for given in (y, qid, groups, sample_weight)):
            raise DataError(
                "table: target and weights are columns of the files, and groups need rows in "
                "memory; pass none of them"
            )
        X = draw_training_set(X, task, prices, random_state)
    if isinstance(X, TrainingSet):
        whole = X.with_costs(costs)
        if groups is None:
            return whole
        return replace(whole, clusters=queries(groups, len(whole), "groups"))
    if task is None:
        task = guess_task(np.asarray(y), None if qid is None else np.asarray(qid))
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


def table_digest(rows: ValidationSet) -> str:
    """Return the SHA-256 of labeled rows as a model reads them.

    A fit records that of its table, encoded by the schema of its model, so that a report can tell
    whether the rows that it gets are those.
    """
    schema = json.dumps(rows.schema.plain(), sort_keys=True)
    labels = np.array([str(value) for value in rows.labels.tolist()], dtype=object)
    return digest_of_rows(rows.X, labels, rows.query, schema)


def _with_provenance(
    estimator: BudgetEstimator,
    result: TestResult,
    data: str,
    seed: int,
    sizes: dict[str, int],
) -> Predictor:
    """Return the chosen model with a record of where it comes from."""
    point, budget = estimator.point_, estimator.budget
    model = estimator.predictor_
    origin = {
        "task": estimator.frontier_.task,
        "learner": point.learner,
        "budget": dict(budget) if isinstance(budget, Mapping) else budget,
        "seed": seed,
        "rows": sizes,
        "data": data,
        "metric": estimator.frontier_.scoring,
        "held_out": {"bill": result.bill, "quality": result.quality},
    }
    if estimator.refit_rows_:
        origin["refit_rows"] = estimator.refit_rows_
    provenance = {**(model.provenance or {}), **origin}
    return model.replace(provenance=provenance)
