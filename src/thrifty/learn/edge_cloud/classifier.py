"""Edge/cloud classification: devices transmit only where it helps (Nan 2018, sec. 7.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.costs import PriceList
from thrifty.errors import DataError
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS, PricedClassifier
from thrifty.learn.edge_cloud.devices import DeviceTable
from thrifty.learn.edge_cloud.direct import penalty_path
from thrifty.learn.edge_cloud.gated_sum import GatedSum
from thrifty.learn.edge_cloud.hard_gates import GateSplit, HardGates, always_open_gates, harden
from thrifty.learn.edge_cloud.relaxation import relaxation_path
from thrifty.learn.point import Point
from thrifty.model import EdgeCloud, Forest

__all__ = ["EdgeCloudClassifier"]

Floats = NDArray[np.float64]
# Shares of transmissions that a path tries by default.
TRANSMIT_SHARES = tuple(round(0.1 * k, 1) for k in range(1, 11))
# Gates start open, with a little noise in their weights.
START_OFFSET, START_NOISE = 1.0, 0.1
# Keeps the logarithm of the share of a class without weight finite.
MIN_CLASS_SHARE = 1e-9
# Share of the rows that candidates are compared on; smaller tables have no rows to spare.
VALIDATION_SHARE, MIN_ROWS_TO_SPLIT = 0.25, 40


class EdgeCloudClassifier(PricedClassifier):
    """Devices with gates: each measures its own features and transmits only if its gate opens.

    The cloud adds up the contributions that it receives. Gates and contributions are linear in the
    features of their device. A device whose values are all missing does not transmit.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        Prices of the measurements; by default each feature costs one unit. The price per evaluation
        is the price of one transmission.
    devices : mapping, optional
        Features of each device by its name; other features are not read. By default each group of
        the prices is a device, and so is each feature in no group.
    transmit_share : float
        Share of the devices that may transmit, on average over the training rows.
    gates : {"relu", "sigmoid", "relaxed"}
        How gates are trained: together with the contributions, with a ReLU or a sigmoid of the gate
        value as activation, or through a relaxation that first decides who should transmit
        (Frank-Wolfe) and then imitates it.
    C : float
        Inverse of the regularization.
    max_steps : int
        Maximum number of steps of each optimization.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Draws where the gates start, and the quarter of the rows that gates are compared on.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Labels in the order of the columns of `predict_proba`.
    devices_ : dict
        Features of each device of the model, in the order of `transmits`. A device that transmits
        for no training row is left out, and measures nothing.
    model_ : thrifty.model.EdgeCloud
        The frozen model.

    Examples
    --------
    One of two devices knows the class, and each can tell whether it is the one:

    >>> import numpy as np
    >>> from thrifty import EdgeCloudClassifier, Prices
    >>> rng = np.random.default_rng(0)
    >>> side, left, right = rng.normal(size=(3, 400))
    >>> X = np.column_stack([side, left, -side, right])
    >>> y = np.where(side > 0, left, right) > 0
    >>> devices = {"wrist": [0, 1], "ankle": [2, 3]}
    >>> free = Prices([0, 0, 0, 0], evaluation=1.0)  # only transmissions cost
    >>> model = EdgeCloudClassifier(free, devices, transmit_share=0.5, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2), model.bill(X).mean().item()  # one transmission for each row
    (0.98, 1.0)
    >>> model.transmits(X[:3])
    array([[ True, False],
           [False,  True],
           [ True, False]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "devices": [Mapping, None],
        "transmit_share": [Interval(Real, 0, 1, closed="right")],
        "gates": [StrOptions({"relu", "sigmoid", "relaxed"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        devices: Mapping[Any, Any] | None = None,
        transmit_share: float = 0.5,
        gates: str = "relu",
        C: float = 1.0,
        max_steps: int = 100,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.devices = devices
        self.transmit_share = transmit_share
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
        train = self._read_training(X, y, sample_weight)
        table = DeviceTable.of(train, self.devices)
        start, split = self._draw_start(table), self._draw_split(table)
        share = float(self.transmit_share)
        (gates,) = self._train_gates(start, split, [share])
        model, names = _freeze_gates(gates, table, train.n_features)
        self._predictor = self._predictor_of(model, train, {"transmit_share": share})
        self.devices_ = {
            name: tuple(train.schema.name(j) for j in device.columns.tolist())
            for name, device in zip(names, model.devices, strict=True)
        }
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        transmit_shares: Sequence[float] = TRANSMIT_SHARES,
    ) -> Iterator[Point]:
        """Return operating points over the share of transmissions, cheapest first.

        The first predicts the class shares and costs nothing. All shares use the gates of one
        penalty path; relaxed gates start from those of the next larger share. Quality is the
        accuracy.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        transmit_shares : sequence of float
            Shares of the devices that may transmit.
        """
        shares = sorted({float(share) for share in transmit_shares}, reverse=True)
        if not shares or not 0 < shares[-1] <= shares[0] <= 1:
            raise DataError(
                "transmit_shares: give shares above 0 and at most 1, "
                f"got {list(transmit_shares)[:5]}"
            )
        train = self._read_training(X, y, sample_weight)
        validation_set = self._read_validation(validation, train)
        table = DeviceTable.of(train, self.devices)
        start, split = self._draw_start(table), self._draw_split(table)
        constant = Forest.constant(table.prior, "mean", train.n_features)
        predictors = [self._predictor_of(constant, train, {"transmit_share": 0.0})]
        for share, gates in zip(shares, self._train_gates(start, split, shares), strict=True):
            model, _ = _freeze_gates(gates, table, train.n_features)
            predictors.append(self._predictor_of(model, train, {"transmit_share": share}))
        points = [Point.measure(predictor, validation_set) for predictor in predictors]
        return iter(sorted(points, key=lambda point: (point.bill, point.knob["transmit_share"])))

    def transmits(self, X: Any) -> NDArray[np.bool_]:
        """Return which devices transmit for each row, (n, devices), in the order of `devices_`."""
        model = self.model_
        assert isinstance(model, EdgeCloud)
        return model.transmits(self.schema_.encode(self._checked(X)))

    def _train_gates(
        self, start: GatedSum, split: GateSplit, shares: Sequence[float]
    ) -> Iterator[HardGates]:
        """Yield hard gates for each of decreasing shares of transmissions.

        Candidates are soft gates, and gates that ignore the features.
        """
        rows, loss = split.training
        max_steps = int(self.max_steps)
        always_open = always_open_gates(split, start, max_steps)
        soft: Iterator[list[GatedSum]]
        if self.gates == "relaxed":
            activations = ("step", "sigmoid")
            path = relaxation_path(rows, loss, shares, split.ridge, start, max_steps)
            soft = ([model] for model in path)
        else:
            activations = ("step", self.gates)
            path = penalty_path(rows, loss, self.gates, split.ridge, start, max_steps)
            soft = repeat(list(path), len(shares))
        for share, candidates in zip(shares, soft, strict=True):
            yield harden(split, [always_open, *candidates], activations, share, max_steps)

    def _draw_start(self, table: DeviceTable) -> GatedSum:
        """Draw where training starts: open gates with random weights, and no contributions."""
        rows, n_classes = table.rows, len(table.prior)
        n_columns = rows.Z.shape[1]
        noise = check_random_state(self.random_state).standard_normal(n_columns)
        columns_of_device = np.diff(rows.starts)[rows.device_of]
        return GatedSum(
            v=np.zeros((n_columns, n_classes)),
            a=np.zeros((rows.n_devices, n_classes)),
            w=START_NOISE * noise / np.sqrt(columns_of_device),
            b=np.full(rows.n_devices, START_OFFSET),
            base=np.log(np.maximum(table.prior, MIN_CLASS_SHARE)),
        )

    def _draw_split(self, table: DeviceTable) -> GateSplit:
        """Draw the validation rows that candidates are compared on, if there are enough rows."""
        n = len(table.y)
        validation = check_random_state(self.random_state).permutation(n) < VALIDATION_SHARE * n
        ridge = 1.0 / (self.C * table.total_weight)
        return GateSplit.of(table, None if n < MIN_ROWS_TO_SPLIT else validation, ridge)


def _freeze_gates(
    gates: HardGates, table: DeviceTable, n_features: int
) -> tuple[EdgeCloud, list[str]]:
    """Return the frozen model and the names of its devices: those that ever transmit."""
    rows, model = table.rows, gates.model
    kept = np.flatnonzero(gates.transmits(rows).any(axis=0))
    columns = np.isin(rows.device_of, kept)
    frozen = EdgeCloud(
        starts=np.cumsum([0, *np.diff(rows.starts)[kept]]).astype(np.int64),
        gate=model.w[columns],
        offsets=model.b[kept],
        weights=model.v[columns],
        bias=model.a[kept],
        base=model.base,
        encoding=table.encoding.keep(columns),
        activation=gates.activation,
        threshold=gates.threshold,
        n_features=n_features,
    )
    return frozen, [table.names[k] for k in kept]
