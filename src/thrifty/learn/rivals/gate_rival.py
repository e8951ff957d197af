"""What the rivals of the learnt gate share: its settings, without those of the search."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.costs import Prices
from thrifty.learn.gate_leaves import LeavesFamily
from thrifty.learn.gated import Gated

__all__ = ["GateRival"]


class GateRival(Gated):
    """Base of simpler gates before an expensive model.

    Parameters
    ----------
    expensive, share, penalty, target, prices, class_weight, random_state
        As in `GatedClassifier`.
    family : LeavesFamily, optional
        Settings of the local model, a small boosted one.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expensive": "no_validation",
        "share": [Interval(Real, 0, 1, closed="both")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "family": [LeavesFamily, None],
        "target": [dict, None],
        "prices": [Prices, None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        expensive: Any = None,
        share: float = 0.3,
        penalty: float = 0.0,
        family: Any = None,
        target: dict[str, float] | None = None,
        prices: Prices | None = None,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.expensive = expensive
        self.share = share
        self.penalty = penalty
        self.family = family
        self.target = target
        self.prices = prices
        self.class_weight = class_weight
        self.random_state = random_state

    @property
    def _trees(self) -> LeavesFamily:
        return LeavesFamily() if self.family is None else self.family
