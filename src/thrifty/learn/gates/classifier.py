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
from thrifty.learn.gates.base import BaseGateClassifier, Knob, TrainedPair
from thrifty.learn.gates.boosted import BoostedFamily
from thrifty.learn.gates.leaves import LeavesFamily
from thrifty.learn.gates.linear import LinearFamily
from thrifty.learn.gates.problem import GateFamily, GatePair, GateProblem
from thrifty.learn.gates.threshold import Thresholds

__all__ = ["GatedClassifier"]

FAMILIES: dict[str, GateFamily] = {
    "linear": LinearFamily(),
    "boosted": BoostedFamily(),
    "leaves": LeavesFamily(),
}


class GatedClassifier(BaseGateClassifier):
    """A low-cost local model, and a gate that decides which rows need an expensive model (ADAPT).

    Training alternates between three steps: which training rows should be sent (q), a gate that
    predicts q from low-cost features, and a local model for the rows that stay. Gate and local
    model share the features they buy. A row that is sent pays for the features of the gate and for
    the expensive model.

    Parameters
    ----------
    expensive : estimator, Predictor, function, URL or Call, optional
        The model to be called rarely. An estimator that is not fitted is trained; `clone` discards
        fits, so in a search or a pipeline wrap a fitted one in `sklearn.frozen.FrozenEstimator`.
        By default, a large boosted model is trained. Trees, SVMs and estimators of this library
        become part of the frozen model; any other model, and one with a price of its own, is
        called. See `thrifty.learn.Call`.
    prices : Prices, mapping or sequence, optional
        Prices of the features; one unit each by default.
    share : float
        Largest share of the training rows that may be sent (P_full).
    penalty : float or "auto"
        Mean loss that one unit of price must save (gamma). ``"auto"`` tries several, and takes the
        cheapest whose accuracy on the validation rows is within one standard error of the best.
    family : {"boosted", "linear", "leaves"} or GateFamily
        Kind of gate and local model: boosted trees with shared purchases (ADAPT-GBRT), linear
        models with a norm for each column (ADAPT-LIN), or refitted leaves of a small boosted model,
        with its margin (ADAPT-LSTSQ). `thrifty.learn.BoostedFamily`, `LinearFamily` and
        `LeavesFamily` have the hyperparameters.
    distance : {"kl", "symmetric"}
        Distance between gate and q: Kullback-Leibler, or squared difference of log-odds.
    alternations : int
        Maximum number of rounds; the search ends earlier if the objective stops falling.
    target : dict, optional
        What the threshold of the gate must meet on the validation rows: ``{"share": 0.2}``, the
        largest share of rows sent; ``{"bill": 3.0}``, the largest mean bill; ``{"quality": 0.95}``,
        an accuracy to reach with the fewest rows sent. ``{"quality": 0.95, "confidence": 0.9}``
        reaches it on new rows, too, with this confidence. By default the `share` above.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Assigns rows to folds, and draws random initial models.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Gate
        The frozen model.
    history_ : tuple of float
        The objective after each half step; it never increases.

    Examples
    --------
    The first column decides half of the rows; the others need the other two columns. The gate sends
    the latter, so a row pays 1 or 3:

    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from thrifty import GatedClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 3))
    >>> y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] * X[:, 2] > 0)
    >>> forest = RandomForestClassifier(30, min_samples_leaf=5, random_state=0)
    >>> model = GatedClassifier(forest, share=0.5, penalty=0.01, random_state=0)
    >>> model = model.fit(X[:1500], y[:1500])
    >>> new, sent = X[1500:], model.sent(X[1500:])
    >>> round(model.score(new, y[1500:]), 2), round(sent.mean().item(), 2)
    (1.0, 0.53)
    >>> model.bill(new[~sent]).mean().item(), model.bill(new[sent]).mean().item()
    (1.0, 3.0)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expensive": "no_validation",
        "prices": PRICE_LISTS,
        "share": [Interval(Real, 0, 1, closed="both")],
        "penalty": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "family": [StrOptions(set(FAMILIES)), GateFamily],
        "distance": [StrOptions(set(DISTANCES))],
        "alternations": [Interval(Integral, 1, None, closed="left")],
        "target": [dict, None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
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
        class_weight: dict[Any, float] | str | None = None,
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
        self.class_weight = class_weight
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
            tuned = family.tuned(problem, penalty, distance, share, rounds, random)
            starts = tuned.initial_pairs(problem, penalty, distance, random)
            for knob in same_penalty:
                some = starts if knob.share > 0 else starts[:1]
                ends = [alternate(pair, problem, distance, knob.share, rounds) for pair in some]
                if len(ends) > 1:
                    losses = [_errors_and_bills(end.pair, problem, knob) for end in ends]
                    ends = [ends[index] for index in np.argsort(losses, kind="stable")]
                self.history_ = ends[0].history
                for pair, q, _ in ends:
                    final = pair.refit(q, knob.share) if knob.share > 0 else pair
                    yield TrainedPair(knob, *final.freeze())
                if knob.share > 0:
                    starts = [end.pair for end in ends]


def _errors_and_bills(pair: GatePair, problem: GateProblem, knob: Knob) -> float:
    """Return the error rate plus the penalty times the mean bill, with a share of the rows sent.

    This compares the results of different starts. The objective cannot: it has norms in place of
    prices, and it prefers large coefficients to shrunk ones with the same predictions.
    """
    train, thresholds = problem.train, Thresholds(pair.gate_values)
    sent = thresholds.sent(thresholds.at_share(knob.share))
    gate, local = pair.freeze()
    bills = train.prices.bill(gate.used(train.X) | local.used(train.X))
    proba = np.where(sent[:, np.newaxis], problem.expensive_proba, local.score(train.X))
    bills = np.where(sent, train.prices.full, bills)
    return problem.mean((proba.argmax(axis=1) != train.y) + knob.penalty * bills)
