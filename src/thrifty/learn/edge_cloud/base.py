"""The base of the edge/cloud estimators: devices transmit where it helps (Nan 2018, sec. 7.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.errors import DataError
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS, PricedEstimator, share_rounds
from thrifty.learn.edge_cloud.devices import DeviceTable
from thrifty.learn.edge_cloud.direct import penalty_path, promising_starts
from thrifty.learn.edge_cloud.gated_sum import GatedSum
from thrifty.learn.edge_cloud.hard_gates import (
    GateSplit,
    HardGates,
    always_open_gates,
    harden,
    refit,
)
from thrifty.learn.edge_cloud.projection import projection_path
from thrifty.learn.edge_cloud.relaxation import relaxation_path
from thrifty.learn.point import Point
from thrifty.model import EdgeCloud, Forest

__all__ = ["EdgeCloudEstimator"]

Floats = NDArray[np.float64]
# Shares of transmissions that a path tries by default, and that any share is compared with.
TRANSMIT_SHARES = tuple(round(0.1 * k, 1) for k in range(1, 11))
# The first start has open gates, with a little noise in their weights, and no contributions; the
# others are random.
START_OFFSET, START_NOISE, N_STARTS = 1.0, 0.1, 8
# Share of the rows that candidates are compared on; smaller tables have no rows to spare.
VALIDATION_SHARE, MIN_ROWS_TO_SPLIT = 0.25, 40
# More classes, for each of which every device has a contribution, share the steps of so many.
MANY_CLASSES = 100


class EdgeCloudEstimator(PricedEstimator):
    """Base of the edge/cloud estimators."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "devices": [Mapping, None],
        "transmit_share": [Interval(Real, 0, 1, closed="right")],
        "gates": [StrOptions({"relu", "sigmoid", "relaxed", "projected"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    devices: Mapping[Any, Any] | None
    transmit_share: float
    gates: str
    C: float
    max_steps: int
    random_state: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its target.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels or values.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        train = self._read_training(X, y, sample_weight)
        table = DeviceTable.of(train, self.devices)
        starts, split = self._draw_starts(table), self._draw_split(table)
        share = float(self.transmit_share)
        (gates,) = self._train_gates(starts, split, [share])
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

        The first is a constant and costs nothing. All shares use the gates of one penalty path;
        relaxed and projected gates start from those of the next larger share. Quality is what
        `score` gives.

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
        starts, split = self._draw_starts(table), self._draw_split(table)
        link = "mean" if table.spread is None else "sum"
        constant = Forest.constant(table.constant, link, train.n_features)
        predictors = [self._predictor_of(constant, train, {"transmit_share": 0.0})]
        for share, gates in zip(shares, self._train_gates(starts, split, shares), strict=True):
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
        self, starts: list[GatedSum], split: GateSplit, shares: Sequence[float]
    ) -> Iterator[HardGates]:
        """Yield hard gates for each of decreasing shares of transmissions.

        Candidates are soft gates, and gates that ignore the features. More transmissions need not
        help: gates for each smaller limit are candidates, too.
        """
        max_steps = share_rounds(
            int(self.max_steps), len(starts[0].base), MANY_CLASSES, "max_steps", "steps"
        )
        limits = sorted({*shares, *(s for s in TRANSMIT_SHARES if s < shares[0])}, reverse=True)
        always_open = always_open_gates(split, starts[0], max_steps)
        activations, soft = self._soft_gates(starts, split, limits, max_steps)
        best = {
            limit: harden(split, [always_open, *candidates], activations, limit, max_steps)
            for limit, candidates in zip(limits, soft, strict=True)
        }
        for share in shares:
            smaller = [best[limit] for limit in TRANSMIT_SHARES if limit < share]
            gates = min([best[share], *smaller], key=lambda gates: gates.loss)
            yield refit(split, gates, max_steps)

    def _soft_gates(
        self, starts: list[GatedSum], split: GateSplit, limits: Sequence[float], max_steps: int
    ) -> tuple[tuple[str, ...], Iterator[list[GatedSum]]]:
        """Return the activations to try, and candidates for each of decreasing limits."""
        (rows, loss), ridge = split.training, split.ridge
        if self.gates in ("relu", "sigmoid"):
            arguments = (rows, loss, self.gates, ridge)
            candidates = [
                model
                for start in promising_starts(*arguments, starts, max_steps)
                for model in penalty_path(*arguments, start, max_steps)
            ]
            return ("step", self.gates), repeat(candidates, len(limits))
        find = relaxation_path if self.gates == "relaxed" else projection_path
        models = find(rows, loss, limits, ridge, starts[0], max_steps)
        return ("step", "sigmoid"), ([model] for model in models)

    def _draw_starts(self, table: DeviceTable) -> list[GatedSum]:
        """Draw where training starts."""
        rows, outputs = table.rows, len(table.constant)
        random, n_columns = check_random_state(self.random_state), rows.Z.shape[1]
        columns_of_device = np.sqrt(np.diff(rows.starts)[rows.device_of])
        first = GatedSum(
            v=np.zeros((n_columns, outputs)),
            a=np.zeros((rows.n_devices, outputs)),
            w=START_NOISE * random.standard_normal(n_columns) / columns_of_device,
            b=np.full(rows.n_devices, START_OFFSET),
            base=table.base,
        )
        starts = [first]
        for _ in range(N_STARTS - 1):
            noise = GatedSum.unpack(random.standard_normal(first.flat.size), first)
            starts.append(
                noise._replace(
                    v=noise.v / columns_of_device[:, np.newaxis], w=noise.w / columns_of_device,
                    base=table.base,
                )
            )  # fmt: skip
        return starts

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
    # Values were standardized; the outputs for classes are as they are.
    spread, center = (1.0, 0.0) if table.spread is None else (table.spread, table.constant)
    frozen = EdgeCloud(
        starts=np.cumsum([0, *np.diff(rows.starts)[kept]]).astype(np.int64),
        gate=model.w[columns],
        offsets=model.b[kept],
        weights=spread * model.v[columns],
        bias=spread * model.a[kept],
        base=spread * model.base + center,
        encoding=table.encoding.keep(columns),
        activation=gates.activation,
        threshold=gates.threshold,
        n_features=n_features,
    )
    return frozen, [table.names[k] for k in kept]
