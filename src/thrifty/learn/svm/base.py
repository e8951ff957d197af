"""What all estimators share that put few vectors in place of a support vector machine's many.

They take a fitted SVC or train one; they differ in how they find the vectors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn.base import PricedEstimator
from thrifty.learn.budget_forest.grower import constant_forest
from thrifty.learn.calibration import pair_slopes
from thrifty.learn.point import Point
from thrifty.learn.svm.source import (
    Job,
    Machine,
    Reduced,
    given_svc,
    plain_slots,
    read_svc,
    standard_slots,
    train_machine,
    whole,
)
from thrifty.learn.targets import Labels
from thrifty.model import Frozen, SupportSet
from thrifty.model.encoding import Encoding
from thrifty.model.kernel_functions import KernelFunction

__all__ = ["Compressor", "Task"]

# Sizes that a path tries when it is told none.
SIZES = 12


@dataclass(frozen=True, eq=False)
class Task:
    """The machine, the table that goes with it, and its rows as the kernel reads them."""

    schema: Schema
    prices: BoundPrices
    classes: NDArray[Any]
    encoding: Encoding
    machine: Machine
    Z: NDArray[np.float64]
    codes: NDArray[np.int64]
    weight: NDArray[np.float64] | None

    @property
    def constant(self) -> Frozen:
        """The model without vectors: the class shares."""
        counts = np.bincount(self.codes, self.weight, len(self.classes))
        return constant_forest(counts / counts.sum(), len(self.schema))


class Compressor(ClassifierMixin, PricedEstimator):  # type: ignore[misc]
    """Base of the classifiers that compress a support vector machine."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "svc": "no_validation",
        "n_vectors": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "kernel": [StrOptions({"rbf", "poly"}), KernelFunction],
        "C": [Interval(Real, 0, None, closed="neither")],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "per_pair": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "prices": [Prices, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        svc: Any = None,
        n_vectors: float = 0.1,
        kernel: str | KernelFunction = "rbf",
        C: float = 1.0,
        gamma: float | str = "scale",
        per_pair: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        prices: Prices | None = None,
        random_state: Any = None,
    ) -> None:
        self.svc = svc
        self.n_vectors = n_vectors
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.per_pair = per_pair
        self.class_weight = class_weight
        self.prices = prices
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, validation: tuple[Any, Any] | None = None
    ) -> Self:
        """Compress the machine.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The rows that the SVC is trained on, if there is none yet. With a fitted one, rows as
            it was trained on: they tell the columns, the means that stand for missing values, and
            the probabilities.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            Rows that tell the probabilities of decisions; X when left out.
        """
        task = self._task(X, y, sample_weight)
        size = self._size(task.machine)
        (found,) = self._sizes_of(task, [size])
        rows = (task.Z, task.codes, task.weight)
        if validation is not None:
            held, codes = self._held(task, validation)
            rows = (task.encoding.apply(held), codes, None)
        self._predictor = self._predictor_of(task, self._frozen(task, found, *rows), size)
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        sizes: Sequence[int] | None = None,
    ) -> Iterator[Point]:
        """Operating points over the number of vectors, cheapest first.

        The first is the constant, at bill 0. All sizes share the machine and the order in which
        vectors are taken, and each starts from the one before. Quality is the accuracy.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        sizes : sequence of int, optional
            Numbers of vectors; a dozen up to `n_vectors` when left out.
        """
        task = self._task(X, y, sample_weight)
        held, codes = self._held(task, validation)
        wanted = self._wanted(task.machine, sizes)
        points = [self._point(self._predictor_of(task, task.constant, 0), held, codes)]
        for size, found in zip(wanted, self._sizes_of(task, wanted), strict=True):
            model = self._frozen(task, found, task.Z, task.codes, task.weight)
            points.append(self._point(self._predictor_of(task, model, size), held, codes))
        return iter(sorted(points, key=lambda point: point.bill))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, K) in the order of `classes_`."""
        return self.predictor_.predict_proba(self._checked(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The machine's decision (n,) for two classes; log-probabilities (n, K) for more."""
        rows = self.schema_.encode(self._checked(X))
        model = self._support
        if model.n_classes == 2:
            return -model.decisions(rows)[:, 0]
        return np.asarray(np.log(model.score(rows)))

    @property
    def _support(self) -> SupportSet:
        model = self.model_
        assert isinstance(model, SupportSet)
        return model

    @abstractmethod
    def _reduce(self, job: Job, sizes: list[int], random: RandomState) -> Iterator[Reduced]:
        """Vectors and coefficients for each of the increasing sizes."""

    def _sizes_of(self, task: Task, sizes: list[int]) -> Iterator[Reduced]:
        """As `_reduce`, for all pairs together or for each pair on its own."""
        random = check_random_state(self.random_state)
        job = Job(task.machine, task.Z, task.codes)
        jobs = job.pairs() if self.per_pair else [job]
        runs = [self._within(one, sizes, random) for one in jobs]
        if not self.per_pair:
            return runs[0]
        return (Reduced.side_by_side(some) for some in zip(*runs, strict=True))

    def _within(self, job: Job, sizes: list[int], random: RandomState) -> Iterator[Reduced]:
        """Sizes that are too large give the machine as it is."""
        most = len(job.machine.vectors)
        yield from self._reduce(job, [size for size in sizes if size < most], random)
        yield from (whole(job.machine) for size in sizes if size >= most)

    def _wanted(self, machine: Machine, sizes: Sequence[int] | None) -> list[int]:
        if sizes is None:
            top = self._size(machine)
            return np.unique(np.geomspace(1, top, SIZES).round().astype(int)).tolist()  # type: ignore[no-any-return]
        wanted = sorted({int(size) for size in sizes})
        if not wanted or wanted[0] < 1:
            raise DataError(f"sizes: give numbers of vectors from 1 up, got {list(sizes)[:5]}")
        return wanted

    def _size(self, machine: Machine) -> int:
        """How many vectors `n_vectors` asks for: of the machine, or of the mean pair."""
        if isinstance(self.n_vectors, int | np.integer):
            return int(self.n_vectors)
        pool = float(len(machine.vectors))
        if self.per_pair:
            pool *= 2.0 / machine.n_classes
        return max(1, round(self.n_vectors * pool))

    def _frozen(
        self, task: Task, found: Reduced, Z: NDArray[np.float64], codes: Any, weight: Any
    ) -> SupportSet:
        machine, vectors, encoding = task.machine, found.vectors, task.encoding
        decisions = machine.kernel.matrix(Z, vectors) @ found.coefficients + found.intercepts
        if machine.kernel.skips_zeros and vectors.any():
            read = np.asarray(vectors.any(axis=0))
            vectors, encoding = vectors[:, read], encoding.keep(read)
        slopes = pair_slopes(decisions, codes, machine.n_classes, weight)
        return SupportSet(
            vectors, found.coefficients, found.intercepts, slopes, encoding,
            machine.kernel, machine.n_classes, len(task.schema),
        )  # fmt: skip

    def _predictor_of(self, task: Task, model: Frozen, size: int) -> Predictor:
        knob = {"n_vectors": size}
        return self._freeze(model, task.schema, task.prices, task.classes, knob)

    def _point(self, model: Predictor, held: NDArray[Any], codes: NDArray[np.int64]) -> Point:
        frozen = model.model
        bills = model.prices.bill(frozen.used(held), frozen.evaluations(held))
        right = frozen.score(held).argmax(axis=1) == codes
        return Point(model.knob or {}, model, float(bills.mean()), float(right.mean()))

    def _held(self, task: Task, validation: tuple[Any, Any]) -> tuple[NDArray[Any], Any]:
        rows = task.schema.encode(self._as_table(validation[0], reset=False))
        labels = Labels(task.classes, np.empty(0, np.int64))
        return rows, labels.recode(validation[1], len(rows))

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        self._validate_params()
        svc = None if self.svc is None else given_svc(self.svc)
        schema, prices, rows = self._read(X)
        labels = _labels(y, len(rows), svc)
        self.classes_ = labels.classes
        weight = self._balanced(self._weights(sample_weight, rows), labels)
        rows, codes, weight = self._kept(weight, rows, labels.codes)
        if svc is not None:
            machine, encoding = read_svc(svc, schema), plain_slots(rows)
            Z = encoding.apply(rows)
        else:
            if len(np.unique(codes)) < len(labels.classes):
                raise DataError("target: every class needs a row of positive weight")
            encoding = standard_slots(schema, rows, weight)
            Z = encoding.apply(rows)
            machine = train_machine(Z, codes, weight, self.kernel, self.C, self.gamma)
        return Task(schema, prices, labels.classes, encoding, machine, Z, codes, weight)

    def _balanced(self, weight: Any, labels: Labels) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return weight  # type: ignore[no-any-return]
        balance = compute_sample_weight(self.class_weight, labels.classes[labels.codes])
        return np.asarray(balance if weight is None else weight * balance)


def _labels(y: Any, rows: int, svc: Any) -> Labels:
    """Class numbers of the rows, in the order of the machine's classes if it is given."""
    labels = Labels.of(y, rows)
    if svc is None:
        return labels
    strange = np.setdiff1d(labels.classes, svc.classes_)
    if len(strange):
        raise DataError(
            f"target: {strange.tolist()[:5]} are not classes of the svc "
            f"{svc.classes_.tolist()[:20]}"
        )
    codes = np.searchsorted(svc.classes_, labels.classes)[labels.codes]
    return replace(labels, classes=svc.classes_, codes=codes)
