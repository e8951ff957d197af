"""ADAPT: a gate and a local model, learnt together, before an expensive one (Nan 2018, ch. 5, 003).

Alternating minimization: q, then gate and local model, and q again (Nan 2018, algorithms 4, 5, 7).

The objective is the mean of the losses that q weighs, the distance of q and gate, and what the
pair costs. A step that would raise it is not taken: then the search is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.costs import Prices
from thrifty.learn.gates.assignment import DISTANCES, Distance
from thrifty.learn.gates.base import Gated, Knob, Learnt
from thrifty.learn.gates.boosted import BoostedFamily
from thrifty.learn.gates.leaves import LeavesFamily
from thrifty.learn.gates.linear import LinearFamily
from thrifty.learn.gates.problem import Family, GateTask, Pair
from thrifty.learn.gates.threshold import Choices

__all__ = ["Alternation", "GatedClassifier", "alternate"]

Floats = NDArray[np.float64]
# A step that gains less than this share of the objective is the last.
ENOUGH = 1e-5


@dataclass(frozen=True, eq=False)
class Alternation:
    """Where the search has come to, and the objective after each half step."""

    pair: Pair
    q: Floats
    history: tuple[float, ...]

    @property
    def value(self) -> float:
        """The objective at the end."""
        return self.history[-1] if self.history else np.inf


def alternate(
    start: Pair, task: GateTask, distance: Distance, share: float, rounds: int
) -> Alternation:
    """Go on for at most `rounds` rounds, or until nothing is gained.

    Parameters
    ----------
    start : Pair
    task : GateTask
    distance : Distance
    share : float
        Largest mean of q; at 0 no row is sent and the start stays as it is.
    rounds : int
    """
    pair, loss0 = start, task.loss0
    q = np.zeros(len(task.X))
    if share <= 0:
        return Alternation(pair, q, (task.mean(pair.loss) + pair.cost,))

    def objective(pair: Pair, q: Floats) -> float:
        losses = (1.0 - q) * pair.loss + q * loss0 + distance.value(q, pair.gate)
        return task.mean(losses) + pair.cost

    history: list[float] = []
    for number in range(rounds + 1):
        moved = distance.step(pair.loss - loss0, pair.gate, share, task.weight).q
        value = objective(pair, moved)
        # The symmetric problem is not convex: its multiplier may miss the best q.
        if history and value > history[-1]:
            moved, value = q, history[-1]
        q = moved
        history.append(value)
        if number == rounds:
            break
        follows = pair.step(q)
        after = objective(follows, q)
        if after > value:
            break
        pair = follows
        history.append(after)
        if value - after <= ENOUGH * abs(value):
            break
    return Alternation(pair, q, tuple(history))


FAMILIES: dict[str, Family] = {
    "linear": LinearFamily(),
    "boosted": BoostedFamily(),
    "leaves": LeavesFamily(),
}


class GatedClassifier(Gated):
    """A cheap model that knows when to call an expensive one.

    Three things are learnt in turn: which rows would be better sent (q), a gate that tells them
    from what is cheap to know, and a local model for the rows that stay. What gate and local
    model read is paid once. A row that is sent pays for the gate and the expensive model.

    Parameters
    ----------
    expensive : estimator, Predictor, function, address or Call, optional
        The model that is to be called rarely. An estimator that is not fitted is trained;
        `clone` forgets fits, so in a search or a pipeline wrap a fitted one in
        `sklearn.frozen.FrozenEstimator`. Without one, a large boosted model is trained. Trees,
        support vector machines and estimators of this library become part of the frozen model;
        whatever else answers, or has a price of its own, is called. See `thrifty.learn.Call`.
    share : float
        Largest share of the training rows that may be sent (P_full).
    penalty : float
        Mean loss that one unit of price must save (gamma).
    family : {"boosted", "linear", "leaves"} or Family
        What gate and local model are: boosted trees from one purse (ADAPT-GBRT), linear models
        with a norm for each column (ADAPT-LIN), or new weights for the leaves of a small boosted
        model, with its margin (ADAPT-LSTSQ). `thrifty.learn.BoostedFamily` and its sisters
        have the settings.
    distance : {"kl", "symmetric"}
        How far the gate is from q: by Kullback-Leibler, or by squared log-odds.
    alternations : int
        Most rounds of q, gate and local model; fewer where nothing is gained.
    target : dict, optional
        Where the limit of the gate is placed on the validation rows: ``{"share": 0.2}``, the most
        rows that may be sent; ``{"bill": 3.0}``, the largest mean bill; ``{"quality": 0.95}``, the
        accuracy to reach with the fewest rows. The `share` above when left out.
    prices : Prices, optional
        What features cost; one unit each when left out.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Deals rows to folds, and draws what the family draws.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Gate
        The frozen model.
    history_ : tuple of float
        The objective after each half step; it never rises.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from thrifty import GatedClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 3))
    >>> y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] * X[:, 2] > 0)
    >>> forest = RandomForestClassifier(30, min_samples_leaf=5, random_state=0)
    >>> model = GatedClassifier(forest, share=0.5, penalty=0.01, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> bool(model.bill(X[~model.sent(X)]).max() < 2)  # half of the rows need one column
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expensive": "no_validation",
        "share": [Interval(Real, 0, 1, closed="both")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "family": [StrOptions(set(FAMILIES)), Family],
        "distance": [StrOptions(set(DISTANCES))],
        "alternations": [Interval(Integral, 1, None, closed="left")],
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
        family: str | Family = "boosted",
        distance: str = "kl",
        alternations: int = 10,
        target: dict[str, float] | None = None,
        prices: Prices | None = None,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.expensive = expensive
        self.share = share
        self.penalty = penalty
        self.family = family
        self.distance = distance
        self.alternations = alternations
        self.target = target
        self.prices = prices
        self.class_weight = class_weight
        self.random_state = random_state

    def _learn(self, task: GateTask, knobs: Sequence[Knob], random: RandomState) -> list[Learnt]:
        found = []
        family = self._family
        for penalty, some in groupby(knobs, key=lambda knob: knob.penalty):
            starts = family.start(task, penalty, DISTANCES[self.distance], random)
            for knob in some:
                ends = self._ends(starts, task, knob)
                self.history_ = ends[0].history
                found += [Learnt(knob, *_settled(end, knob).freeze()) for end in ends]
                # The next share starts from here.
                starts = [end.pair for end in ends] if knob.share > 0 else starts
        return found

    @property
    def _family(self) -> Family:
        return FAMILIES[self.family] if isinstance(self.family, str) else self.family

    def _ends(self, starts: list[Pair], task: GateTask, knob: Knob) -> list[Alternation]:
        """Where all starts lead to, the best first."""
        distance = DISTANCES[self.distance]
        starts = starts if knob.share > 0 else starts[:1]
        rounds = self.alternations - self._family.last_rounds
        ends = [alternate(start, task, distance, knob.share, rounds) for start in starts]
        return sorted(ends, key=lambda end: _worth(end.pair, task, knob)) if ends[1:] else ends


def _settled(end: Alternation, knob: Knob) -> Pair:
    return end.pair.settled(end.q, knob.share) if knob.share > 0 else end.pair


def _worth(pair: Pair, task: GateTask, knob: Knob) -> float:
    """Rate of errors with the share of the rows sent, and the penalty times what is paid for it.

    The objective itself does not compare one set of columns with another: it has norms in place of
    prices, and what these shrink is not sure of its answers though it may be right.
    """
    choices = Choices(pair.gate)
    sent = choices.sent(choices.at_share(knob.share))
    gate, local = pair.freeze()
    bills = task.prices.bill(gate.used(task.X) | local.used(task.X))
    answers = np.where(sent[:, np.newaxis], task.answers, local.score(task.X))
    paid = np.where(sent, task.prices.full, bills)
    return task.mean((answers.argmax(axis=1) != task.codes) + knob.penalty * paid)
