"""Edge and cloud: devices that transmit their answers only where it helps (Nan 2018, sec. 7.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn.base import PricedClassifier
from thrifty.learn.budget_forest.grower import constant_forest
from thrifty.learn.edge_cloud.devices import Devices, GatedSum, device_columns, log_loss
from thrifty.learn.edge_cloud.hard_gates import Hard, Parts, fixed_devices, harden
from thrifty.learn.edge_cloud.soft_gates import Relaxation, penalty_ladder, relax
from thrifty.learn.folds import merge_rows
from thrifty.learn.point import Point
from thrifty.learn.svm.source import standard_slots
from thrifty.model import Frozen, Mixture
from thrifty.model.encoding import Encoding

__all__ = ["EdgeCloudClassifier"]

Floats = NDArray[np.float64]
BUDGETS = tuple(round(0.1 * k, 1) for k in range(1, 11))
# Gates start open, and a little different from each other.
OPEN, UNEVEN = 1.0, 0.1
# The share of rows that penalties are compared on, and too few rows to do without them.
HELD, FEW = 0.25, 40


@dataclass(frozen=True, eq=False)
class _Task:
    """A table and its labels as the devices see them."""

    schema: Schema
    prices: BoundPrices
    classes: NDArray[Any]
    encoding: Encoding
    names: list[str]
    parts: Parts
    shares: Floats
    start: GatedSum

    @property
    def devices(self) -> Devices:
        """All rows as the devices see them."""
        return self.parts.whole[0]

    @property
    def constant(self) -> Frozen:
        """What the cloud says alone: the shares of the classes."""
        return constant_forest(self.shares, len(self.schema))


class EdgeCloudClassifier(PricedClassifier):
    """Devices with gates: each senses its own features, and transmits only if its gate opens.

    The cloud adds up the answers that it receives. Gates and answers are linear in the features of
    their device. A device whose values are all missing counts as closed.

    Parameters
    ----------
    prices : Prices, optional
        What features cost to sense; one unit each when left out. The price per evaluation is that
        of one transmission: a device that sends its answer.
    devices : mapping, optional
        Features of each device, by its name; features of no device are not read. Left out, each
        group of the prices is a device, and each feature in no group.
    budget : float
        Share of the devices that may transmit, on the mean over the training rows.
    gates : {"relu", "sigmoid", "relaxed"}
        How the gates are trained: with the answers, as rectified lines or as sigmoids, or through a
        relaxation that first settles who should speak (Frank-Wolfe) and then imitates it.
    C : float
        Inverse of the regularization.
    max_steps : int
        Steps of each descent, at most.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Draws where the gates start, and the quarter of the rows that gates are compared on.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    devices_ : dict
        Features of the devices that the model has, in the order of `transmits`. A device that
        transmits for no training row is left out, and senses nothing.
    model_ : thrifty.model.Mixture
        The frozen model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import EdgeCloudClassifier, Prices
    >>> rng = np.random.default_rng(0)
    >>> side, left, right = rng.normal(size=(3, 400))
    >>> X = np.column_stack([side, left, -side, right])
    >>> y = np.where(side > 0, left, right) > 0  # one device knows; each knows whether it does
    >>> devices = {"wrist": [0, 1], "ankle": [2, 3]}
    >>> free = Prices([0, 0, 0, 0], evaluation=1.0)  # only transmissions cost
    >>> model = EdgeCloudClassifier(free, devices, budget=0.5, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.bill(X).mean().item() <= 1.0  # half of two devices
    (True, True)
    >>> model.transmits(X[:3]).sum(axis=1)
    array([1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "devices": [Mapping, None],
        "budget": [Interval(Real, 0, 1, closed="right")],
        "gates": [StrOptions({"relu", "sigmoid", "relaxed"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        devices: Mapping[Any, Any] | None = None,
        budget: float = 0.5,
        gates: str = "relu",
        C: float = 1.0,
        max_steps: int = 100,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.devices = devices
        self.budget = budget
        self.gates = gates
        self.C = C
        self.max_steps = max_steps
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        task = self._task(X, y, sample_weight)
        (hard,) = self._solutions(task, [float(self.budget)])
        self._predictor = self._predictor_of(task, hard, float(self.budget))
        kept = [task.names[k] for k in _speakers(task, hard)]
        self.devices_ = {
            name: tuple(task.schema.name(j) for j in device.columns.tolist())
            for name, device in zip(kept, self._mixture.devices, strict=True)
        }
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        budgets: Sequence[float] = BUDGETS,
    ) -> Iterator[Point]:
        """Operating points over the budget, cheapest first; the first is the constant, at bill 0.

        All budgets share one run of growing penalties, or, relaxed, start from the next larger one.
        Quality is the accuracy.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        budgets : sequence of float
            Shares of the devices that may transmit.
        """
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        wanted = sorted({float(budget) for budget in budgets}, reverse=True)
        if not wanted or not 0 < wanted[-1] <= wanted[0] <= 1:
            raise DataError(f"budgets: give shares above 0 and at most 1, got {list(budgets)[:5]}")
        task = self._task(X, y, sample_weight)
        held = task.schema.encode(self._as_table(validation[0], reset=False))
        codes = self._codes(validation[1], len(held))
        models = [
            self._freeze(task.constant, task.schema, task.prices, task.classes, {"budget": 0.0})
        ]
        for budget, hard in zip(wanted, self._solutions(task, wanted), strict=True):
            models.append(self._predictor_of(task, hard, budget))
        points = [_point(model, held, codes) for model in models]
        return iter(sorted(points, key=lambda point: (point.bill, point.knob["budget"])))

    def transmits(self, X: Any) -> NDArray[np.bool_]:
        """Which devices send their answer, (n, devices), in the order of `devices_`."""
        return self._mixture.transmits(self.schema_.encode(self._checked(X)))

    @property
    def _mixture(self) -> Mixture:
        model = self.model_
        assert isinstance(model, Mixture)
        return model

    def _solutions(self, task: _Task, budgets: list[float]) -> Iterator[Hard]:
        """Hard gates and their answers for budgets from the largest down."""
        steps = int(self.max_steps)
        fixed = fixed_devices(task.parts, task.start, steps)
        ways = ("step", "sigmoid" if self.gates == "relaxed" else self.gates)
        for budget, soft in self._candidates(task, budgets):
            yield harden(task.parts, [fixed, *soft], ways, budget, steps)

    def _candidates(
        self, task: _Task, budgets: list[float]
    ) -> Iterator[tuple[float, list[GatedSum]]]:
        """Soft gates to choose from, for each budget."""
        (devices, loss), ridge, steps = task.parts.learnt, task.parts.ridge, int(self.max_steps)
        if self.gates != "relaxed":
            ladder = list(penalty_ladder(devices, loss, self.gates, ridge, task.start, steps))
            yield from ((budget, ladder) for budget in budgets)
            return
        model, q = task.start, None
        for budget in budgets:
            model, q = relax(Relaxation(devices, loss, budget, ridge), model, q, steps)
            yield budget, [model]

    def _task(self, X: Any, y: Any, sample_weight: Any) -> _Task:
        self._validate_params()
        schema, prices, rows, codes, weight = self._read_labeled(X, y, sample_weight)
        columns = device_columns(self.devices, schema, prices)
        rows, codes, weight = merge_rows(rows, codes, weight)
        slots, names, starts = _dealt(standard_slots(schema, rows, weight), columns)
        sensed = np.split(slots.columns, starts[1:-1])
        heard = [~np.isnan(rows[:, own]).all(axis=1) for own in sensed]
        devices = Devices(
            slots.apply(rows),
            starts,
            weight / weight.sum(),
            np.column_stack(heard).astype(np.float64),
        )
        shares: Floats = np.bincount(codes, devices.mass, len(self.classes_)).astype(np.float64)
        ridge = 1.0 / (self.C * float(weight.sum()))
        start = self._start(devices, shares)
        parts = self._parts(devices, codes, ridge)
        return _Task(schema, prices, self.classes_, slots, names, parts, shares, start)

    def _parts(self, devices: Devices, codes: NDArray[np.int64], ridge: float) -> Parts:
        """Rows by lot: most for the gates, the others to choose by; all serve where few are."""
        n = len(codes)
        held = check_random_state(self.random_state).permutation(n) < HELD * n
        whole = (devices, log_loss(codes))
        if n < FEW:
            return Parts(whole, whole, whole, ridge)
        learnt, rest = ((devices.part(rows), log_loss(codes[rows])) for rows in (~held, held))
        return Parts(whole, learnt, rest, ridge)

    def _start(self, devices: Devices, shares: Floats) -> GatedSum:
        slots, count = devices.Z.shape[1], len(shares)
        sizes = np.diff(devices.starts)[devices.owner]
        lots = check_random_state(self.random_state).standard_normal(slots)
        return GatedSum(
            np.zeros((slots, count)),
            np.zeros((devices.count, count)),
            UNEVEN * lots / np.sqrt(sizes),
            np.full(devices.count, OPEN),
            np.log(np.maximum(shares, 1e-9)),
        )

    def _predictor_of(self, task: _Task, hard: Hard, budget: float) -> Predictor:
        model = _frozen(task, hard)
        return self._freeze(model, task.schema, task.prices, task.classes, {"budget": budget})


def _dealt(
    slots: Encoding, columns: dict[str, list[int]]
) -> tuple[Encoding, list[str], NDArray[np.int64]]:
    """Slots in the order of their devices, the devices that have one, and where each starts."""
    owned = {name: np.flatnonzero(np.isin(slots.columns, own)) for name, own in columns.items()}
    owned = {name: own for name, own in owned.items() if len(own)}
    if not owned:
        raise DataError("devices: no feature of any device varies")
    starts = np.cumsum([0, *map(len, owned.values())])
    return slots.keep(np.concatenate(list(owned.values()))), list(owned), starts.astype(np.int64)


def _speakers(task: _Task, hard: Hard) -> NDArray[np.intp]:
    """Devices that transmit for a training row."""
    return np.flatnonzero(hard.opens(task.devices).any(axis=0))


def _frozen(task: _Task, hard: Hard) -> Mixture:
    """The mixture of the devices that ever speak; the others need not even sense."""
    kept, model, devices = _speakers(task, hard), hard.model, task.devices
    slots = np.isin(devices.owner, kept)
    return Mixture(
        np.cumsum([0, *np.diff(devices.starts)[kept]]).astype(np.int64),
        model.w[slots],
        model.b[kept],
        model.v[slots],
        model.a[kept],
        model.base,
        task.encoding.keep(slots),
        hard.activation,
        hard.limit,
        len(task.schema),
    )


def _point(model: Predictor, held: NDArray[np.floating], codes: NDArray[np.int64]) -> Point:
    frozen = model.model
    bills = model.prices.bill(frozen.used(held), frozen.evaluations(held))
    right = frozen.score(held).argmax(axis=1) == codes
    return Point(model.knob or {}, model, float(bills.mean()), float(right.mean()))
