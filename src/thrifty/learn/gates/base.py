"""The base of all estimators with a gate: preparing the expensive model, placing the threshold,
and making calls for the rows that are sent. Subclasses train gate and local model.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state, compute_sample_weight

from thrifty.bundle.endpoint import SecretUrl
from thrifty.errors import BudgetError, DataError
from thrifty.learn._sklearn import take_rows
from thrifty.learn.base import PricedClassifier, PricedEstimator
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.gates.call import CallOutputs
from thrifty.learn.gates.columns import GateColumns
from thrifty.learn.gates.evaluation import GateEvaluation, read_threshold_target
from thrifty.learn.gates.expensive_model import as_call, encode_for, prepare_expensive
from thrifty.learn.gates.losses import CLASS_LOSS, GateLoss
from thrifty.learn.gates.problem import GateProblem
from thrifty.learn.point import Point
from thrifty.model import Frozen, Gate

__all__ = ["BaseGate", "BaseGateClassifier", "GateTrial", "Knob", "TrainedPair", "choose_trial"]

Floats = NDArray[np.float64]
# Shares of the rows that a path trains for, and shares at which each pair is evaluated.
TRAINED_SHARES = (0.0, 0.1, 0.25, 0.5)
EVALUATED_SHARES = (0.0, 0.02, *np.linspace(0.05, 0.95, 19).round(2).tolist())
# Penalties of a path, in units of the loss of a constant over the price of all features.
PENALTY_FACTORS = (1.0, 0.3, 0.1, 0.05, 0.02, 0.01, 0.0)


class Knob(NamedTuple):
    """Hyperparameters that a pair is trained for: P_full and gamma of Nan 2018."""

    share: float
    penalty: float


class TrainedPair(NamedTuple):
    """A frozen gate and a frozen local model, both of the user's columns."""

    knob: Knob
    gate: Frozen
    local: Frozen


class GateTrial(NamedTuple):
    """A pair that was trained for one knob, and how it does on the validation rows."""

    pair: TrainedPair
    evaluation: GateEvaluation
    history: tuple[float, ...] | None
    """The objective during training."""


def choose_trial(
    trials: Mapping[Knob, GateTrial], kind: str, number: float, confidence: float | None = None
) -> Knob:
    """Return the knob whose pair meets a target best, each at its own threshold.

    For a quality, that is the cheapest. Otherwise it is the cheapest whose quality is within one
    standard error of the best: what lies closer is noise, and noise is not worth money. A
    confidence is that of each pair.

    Raises
    ------
    BudgetError
        If none of them meets the target; the message is that of the last one.
    """
    found, error = dict[Knob, tuple[float, float, float]](), None
    for knob, (_, evaluation, _) in trials.items():
        try:
            index = evaluation.choose(kind, number, confidence)
        except BudgetError as failure:
            error = failure
            continue
        if len(trials) == 1:
            return knob
        quality = evaluation.quality
        found[knob] = (
            float(evaluation.mean_bills[index]),
            float(quality.values[index]),
            float(quality.errors[index]),
        )
    if not found:
        assert error is not None
        raise error
    _, best, slack = max(found.values(), key=lambda figures: figures[1])
    if kind == "quality":
        slack = np.inf  # all of them reach it
    good = [knob for knob, (_, quality, _) in found.items() if quality >= best - slack]
    return min(good, key=lambda knob: (found[knob][0], -found[knob][1]))


class BaseGate(PricedEstimator):
    """Base of the estimators that put a gate in front of an expensive model."""

    # What wrong predictions lose.
    _gate_loss: ClassVar[GateLoss]
    expensive: Any
    share: float
    penalty: float | str
    target: dict[str, float] | None
    random_state: Any

    def __setattr__(self, name: str, value: Any) -> None:
        # scikit-learn prints the parameters of an estimator, alone or in a pipeline.
        is_plain = isinstance(value, str) and not isinstance(value, SecretUrl)
        super().__setattr__(name, SecretUrl(value) if name == "expensive" and is_plain else value)

    @abstractmethod
    def _train_pairs(
        self, problem: GateProblem, knobs: Sequence[Knob], random: RandomState
    ) -> Iterator[TrainedPair]:
        """Train a pair, or several with the best one first, for each knob.

        Knobs come sorted by penalty and then by share, so that a pair can start from the last one.
        """

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: tuple[Any, ...] | None,
        expensive_scores: Any,
        qid: Any = None,
    ) -> Self:
        """Train a gate and a local model for the expensive model, and place the threshold."""
        kind, number, confidence = read_threshold_target(
            self.target, self.share, validation is not None
        )
        is_auto = self.penalty == "auto"
        if is_auto and validation is None:
            raise DataError(
                'penalty: "auto" compares penalties on validation rows; give validation'
            )
        # Read the table; train, predict with and calibrate the expensive model.
        problem, columns = self._prepare(X, y, sample_weight, expensive_scores, qid)
        run_calls = is_auto or kind == "quality"
        rows = self._threshold_rows(validation, problem, columns, run_calls=run_calls)
        # Train gate and local model, for each penalty.
        penalties = self._path_penalties(problem, None if is_auto else [float(self.penalty)])
        knobs = [Knob(float(self.share), penalty) for penalty in penalties]
        trials = dict[Knob, GateTrial]()
        for pair in self._train_pairs(problem, knobs, check_random_state(self.random_state)):
            if pair.knob not in trials:  # the first of each knob is the best
                history = getattr(self, "history_", None)
                trials[pair.knob] = GateTrial(pair, self._evaluate(pair, columns, rows), history)
            if len(trials) == len(knobs):
                break
        # Choose the penalty, place the threshold, and freeze.
        if confidence is not None:  # of all pairs together
            confidence = 1.0 - (1.0 - confidence) / len(knobs)
        knob = choose_trial(trials, kind, number, confidence)
        trial = trials[knob]
        if trial.history is not None:
            self.history_ = trial.history
        evaluation = trial.evaluation
        model = self._select_model(evaluation.model(evaluation.choose(kind, number, confidence)))
        met = {} if self.target is None else {f"target_{kind}": number}
        train = columns.widen_training(problem.train)
        self._columns = columns
        self._predictor = self._predictor_of(model, train, knob._asdict() | met)
        self._predictor.provenance = {**(self._predictor.provenance or {}), **columns.origin}
        return self

    def _path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: tuple[Any, ...],
        expensive_scores: Any,
        shares: Sequence[float] | None,
        penalties: Sequence[float] | None,
        qid: Any = None,
    ) -> Iterator[Point]:
        """Return the Pareto-optimal points over shares, penalties and thresholds, cheapest first.

        For each penalty, pairs are trained for increasing shares, each starting from the last one,
        and evaluated at several thresholds.
        """
        problem, columns = self._prepare(X, y, sample_weight, expensive_scores, qid)
        rows = self._threshold_rows(validation, problem, columns, run_calls=True)
        trained = sorted(map(float, TRAINED_SHARES if shares is None else shares))
        evaluated = (*sorted({*EVALUATED_SHARES, *trained}), 1.0)
        knobs = [Knob(s, p) for p in self._path_penalties(problem, penalties) for s in trained]
        train = columns.widen_training(problem.train)
        points = [self._constant_point(problem, train, rows)]
        for pair in self._train_pairs(problem, knobs, check_random_state(self.random_state)):
            evaluation = self._evaluate(pair, columns, rows)
            for index in {evaluation.thresholds.at_share(share) for share in evaluated}:
                threshold: float | str = evaluation.thresholds.threshold(index)
                if threshold in (np.inf, -np.inf):
                    threshold = "none is sent" if threshold == np.inf else "all are sent"
                knob = pair.knob._asdict() | {"threshold": threshold}
                model = self._predictor_of(evaluation.model(index), train, knob)
                points.append(Point.measure(model, rows, evaluation.outputs(index)))
            points = _drop_dominated(points)
        return iter(points)

    def sent(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows are sent to the expensive model, (n,); no call is made."""
        return self._sends(self._encode(X))

    def why(self, X: Any) -> list[str]:
        """Return which model predicts each row, and why; calls are made for the rows sent."""
        rows, name = self._encode(X), self._columns.call.name
        failures = self._run_calls(X, rows).failures
        reasons = np.where(self._sends(rows), f"sent to {name}", "local: the gate keeps it")
        lines = cast(list[str], reasons.tolist())
        for row, reason in failures.items():
            lines[row] = f"local: {name} failed ({reason})"
        return lines

    def _scores(self, X: Any) -> Floats:
        """Return class probabilities (n, K), or values (n,); calls are made for the rows sent.

        If a call fails, the local model predicts its rows, and there is a warning.
        """
        rows, columns = self._encode(X), self._columns
        if columns.call_result is not None:
            scores, failures = self._run_calls(X, rows)
            if failures:
                warnings.warn(
                    f"call {columns.call.name!r} failed for {len(failures)} rows, which the local "
                    f"model predicts ({next(iter(failures.values()))})",
                    UserWarning,
                    stacklevel=3,
                )
            rows = columns.widen(rows[:, : len(columns.table)], scores)
        return self.model_.score(rows)

    def used(self, X: Any) -> NDArray[np.bool_]:
        """Return which features each row uses, then its call results; no call is made."""
        used = self.model_.used(self._encode(X, assume_calls=True))
        return self.schema_.to_table_order(used)

    def bill(self, X: Any) -> Floats:
        """Return what each row pays if its call succeeds, (n,); no call is made."""
        rows = self._encode(X, assume_calls=True)
        return self.prices_.bill(self.model_.used(rows), self.model_.evaluations(rows))

    def expensive_outputs(self, X: Any) -> tuple[Floats, Floats]:
        """Return the expensive model's scores (n, K) or (n,), and bills (n,), for all rows."""
        rows, columns = self._encode(X, assume_calls=True), self._columns
        expensive = columns.expensive
        bills = columns.prices.bill(expensive.used(rows), expensive.evaluations(rows))
        if columns.call_result is None:
            return expensive.score(rows), bills
        return columns.call.predict_scores(self._checked(X), self.predictor_.classes), bills

    def local_outputs(self, X: Any) -> tuple[Floats, Floats]:
        """Return the local model's scores and bills (n,), if it predicts all rows."""
        rows, local = self._encode(X), cast(Gate, self.model_).local
        return local.score(rows), self.prices_.bill(local.used(rows), local.evaluations(rows))

    def make_call(self, values: dict[Any, Any]) -> dict[Any, float]:
        """Make the call for one example, whose needed values are given by name, as in a walk.

        Returns the values that the walk asks for, by name; NaN if the call fails.
        """
        return self._columns.run_call(values, self.predictor_.classes)

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, expensive_scores: Any, qid: Any = None
    ) -> tuple[GateProblem, GateColumns]:
        """Read the table, train the expensive model, and calibrate its scores."""
        call = as_call(self.expensive)
        train = self._read_training(X, y, sample_weight, qid)
        train = encode_for(call, train, self.prices)
        if expensive_scores is not None and len(expensive_scores) > len(train):
            # Rows of weight 0 were dropped from the training set.
            labels = X.labels if isinstance(X, TrainingSet) else np.ravel(y)
            weight = compute_sample_weight(getattr(self, "class_weight", None), labels)
            weight = weight if sample_weight is None else weight * np.asarray(sample_weight)
            if len(weight) == len(expensive_scores):
                expensive_scores = np.asarray(expensive_scores)[weight > 0]
        random = check_random_state(self.random_state)
        expensive = prepare_expensive(call, train, expensive_scores, random)
        problem = GateProblem.of(train, expensive.scores, self._gate_loss)
        return problem, GateColumns.of(expensive, train)

    def _threshold_rows(
        self, validation: Any, problem: GateProblem, columns: GateColumns, *, run_calls: bool
    ) -> ValidationSet:
        """Read the rows to place thresholds on; `run_calls` if results of calls are needed."""
        if validation is None:
            train = columns.widen_training(problem.train)
            return ValidationSet(
                train.task, train.table, train.schema, train.X, train.y, train.classes, train.query
            )
        rows = self._read_validation(validation, problem.train)
        if run_calls and columns.call_result is not None:
            scores = columns.call.predict_scores(rows.table, problem.train.classes)
            return replace(rows, schema=columns.schema, X=columns.widen(rows.X, scores))
        return replace(rows, schema=columns.schema, X=columns.assume_calls(rows.X))

    def _evaluate(
        self, pair: TrainedPair, columns: GateColumns, rows: ValidationSet
    ) -> GateEvaluation:
        """Evaluate a pair on some rows."""
        gate, local = columns.widen_model(pair.gate), columns.widen_model(pair.local)
        return GateEvaluation(gate, local, columns.expensive, columns.prices, rows)

    def _select_model(self, model: Gate) -> Frozen:
        """Return the part of a gated model that `fit` keeps: all of it."""
        return model

    def _path_penalties(
        self, problem: GateProblem, penalties: Sequence[float] | None
    ) -> list[float]:
        """Return the penalties of a path, the largest first."""
        if penalties is not None:
            return sorted(map(float, penalties), reverse=True)
        full = problem.train.prices.full
        if full <= 0:
            return [0.0]
        return [factor * problem.constant_loss / full for factor in PENALTY_FACTORS]

    def _constant_point(
        self, problem: GateProblem, train: TrainingSet, rows: ValidationSet
    ) -> Point:
        """Measure the model that buys nothing."""
        knob = {"share": 0.0, "penalty": "nothing is bought"}
        model = replace(problem.constant, n_features=len(train.schema))
        return Point.measure(self._predictor_of(model, train, knob), rows)

    def _encode(self, X: Any, assume_calls: bool = False) -> NDArray[np.floating]:
        """Encode a table, with columns for the results of calls: NaN, or as if made already."""
        table, columns = self._checked(X), self._columns
        rows = columns.table.encode(table)
        return columns.assume_calls(rows) if assume_calls else columns.widen(rows)

    def _sends(self, rows: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which encoded rows are sent, (n,)."""
        return cast(Gate, self.model_).sends(rows)

    def _run_calls(self, X: Any, rows: NDArray[np.floating]) -> CallOutputs:
        """Make the calls for the rows that are sent; the others have NaN."""
        classes = self.predictor_.classes
        scores = np.full((len(rows), 1 if classes is None else len(classes)), np.nan)
        sent = np.flatnonzero(self._sends(rows))
        if self._columns.call_result is None or not len(sent):
            return CallOutputs(scores, {})
        outputs = self._columns.call.run(take_rows(self._checked(X), sent), classes)
        scores[sent] = outputs.scores
        failures = {int(sent[row]): reason for row, reason in outputs.failures.items()}
        return CallOutputs(scores, failures)


class BaseGateClassifier(PricedClassifier, BaseGate):
    """Base of the classifiers that put a gate in front of an expensive model."""

    _gate_loss = CLASS_LOSS
    _most_classes: ClassVar[tuple[int, str] | None] = (
        200,
        "gate and local model are trained for each",
    )

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        expensive_proba: Any = None,
    ) -> Self:
        """Train a gate and a local model for the expensive model, and place the threshold.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Sample weights.
        validation : (Xv, yv), optional
            Rows to place the threshold on; the training rows by default, unless the target is a
            quality, which cannot be measured on them.
        expensive_proba : array of shape (n, K), optional
            Class probabilities of the expensive model on X, for example out of fold; computed by
            default.
        """
        return self._fit(X, y, sample_weight, validation, expensive_proba)

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        expensive_proba: Any = None,
        shares: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Return the Pareto-optimal points over shares, penalties and thresholds, cheapest first.

        For each penalty, pairs are trained for increasing shares, each starting from the last one,
        and evaluated at several thresholds. The first point is the constant model, at bill 0.
        Quality is the accuracy.

        Parameters
        ----------
        X, y, sample_weight, expensive_proba
            As in `fit`.
        validation : (Xv, yv)
            Rows to measure bill and quality on; the expensive model predicts all of them.
        shares, penalties : sequences of float, optional
            What to train for; a few of each by default.
        """
        return self._path(X, y, sample_weight, validation, expensive_proba, shares, penalties)

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities (n, K); calls are made for the rows that are sent only.

        If a call fails, the local model predicts its rows, and there is a warning.
        """
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row."""
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


def _drop_dominated(points: list[Point]) -> list[Point]:
    """Sort points by bill, and drop those that a cheaper one equals; the first one always stays."""
    best, kept = -np.inf, []
    for point in sorted(points, key=lambda point: (point.bill, -point.quality)):
        if point.quality > best:
            kept.append(point)
            best = point.quality
    return kept if kept[0] is points[0] else [points[0], *kept]
