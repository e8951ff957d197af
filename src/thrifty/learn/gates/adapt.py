"""ADAPT: a gate and a local model, trained together for an expensive model (Nan 2018, chapter 5).

Alternating minimization over q, then gate and local model, then q again (algorithms 4, 5 and 7).
The objective is the mean of the losses weighted by q, plus the distance between q and gate, plus
what the pair costs. A step that would raise it ends the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState

from thrifty.costs import PriceList
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS
from thrifty.learn.gates.alternation import alternate
from thrifty.learn.gates.assignment import DISTANCES
from thrifty.learn.gates.base import BaseGate, Knob, TrainedPair
from thrifty.learn.gates.boosted import BoostedFamily
from thrifty.learn.gates.leaves import LeavesFamily
from thrifty.learn.gates.linear import LinearFamily
from thrifty.learn.gates.problem import GateFamily, GatePair, GateProblem
from thrifty.learn.gates.thresholds import Thresholds

__all__ = ["AdaptGate"]

FAMILIES: dict[str, GateFamily] = {
    "linear": LinearFamily(),
    "boosted": BoostedFamily(),
    "leaves": LeavesFamily(),
}


class AdaptGate(BaseGate):
    """Base of the estimators that train gate and local model together."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expensive": "no_validation",
        "prices": PRICE_LISTS,
        "share": [Interval(Real, 0, 1, closed="both")],
        "penalty": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "family": [StrOptions(set(FAMILIES)), GateFamily],
        "distance": [StrOptions(set(DISTANCES))],
        "alternations": [Interval(Integral, 1, None, closed="left")],
        "target": [dict, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        expensive: Any = None,
        prices: PriceList | None = None,
        share: float = 0.3,
        penalty: float | str = 0.0,
        family: str | GateFamily = "boosted",
        distance: str = "kl",
        alternations: int = 10,
        target: dict[str, float] | None = None,
        random_state: Any = None,
    ) -> None:
        self.expensive = expensive
        self.prices = prices
        self.share = share
        self.penalty = penalty
        self.family = family
        self.distance = distance
        self.alternations = alternations
        self.target = target
        self.random_state = random_state

    def _train_pairs(
        self, problem: GateProblem, knobs: Sequence[Knob], random: RandomState
    ) -> Iterator[TrainedPair]:
        """Alternate from every initial pair; each share starts from the pairs of the last one."""
        family = FAMILIES[self.family] if isinstance(self.family, str) else self.family
        distance, rounds = DISTANCES[self.distance], self.alternations - family.refit_rounds
        for penalty, group in groupby(knobs, key=lambda knob: knob.penalty):
            same_penalty = list(group)
            share = float(np.median([knob.share for knob in same_penalty]))
            scaled = penalty / problem.scale.loss
            tuned = family.tuned(problem, scaled, distance, share, rounds, random)
            starts = tuned.initial_pairs(problem, scaled, distance, random)
            for knob in same_penalty:
                some = starts if knob.share > 0 else starts[:1]
                ends = [alternate(pair, problem, distance, knob.share, rounds) for pair in some]
                if len(ends) > 1:
                    losses = [
                        _errors_and_bills(end.pair, problem, knob.share, scaled) for end in ends
                    ]
                    ends = [ends[index] for index in np.argsort(losses, kind="stable")]
                self.history_ = ends[0].history
                for pair, q, _ in ends:
                    final = pair.refit(q, knob.share) if knob.share > 0 else pair
                    gate, local = final.freeze()
                    yield TrainedPair(knob, gate, problem.scale.restore(local))
                if knob.share > 0:
                    starts = [end.pair for end in ends]


def _errors_and_bills(pair: GatePair, problem: GateProblem, share: float, penalty: float) -> float:
    """Return the mean error plus the penalty times the mean bill, with a share of the rows sent.

    This compares the results of different starts. The objective cannot: it has norms in place of
    prices, and it prefers large coefficients to shrunk ones with the same predictions.
    """
    train, thresholds = problem.train, Thresholds(pair.gate_values)
    sent = thresholds.sent(thresholds.at_share(share))
    gate, local = pair.freeze()
    bills = train.prices.bill(gate.used(train.X) | local.used(train.X))
    expensive, kept = (
        problem.errors(scores) for scores in (problem.expensive_scores, local.score(train.X))
    )
    bills = np.where(sent, train.prices.full, bills)
    return problem.mean(np.where(sent, expensive, kept) + penalty * bills)
