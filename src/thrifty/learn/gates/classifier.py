"""ADAPT for classification."""

from __future__ import annotations

from typing import Any, ClassVar

from thrifty.costs import PriceList
from thrifty.learn._sklearn import StrOptions
from thrifty.learn.gates.adapt import AdaptGate
from thrifty.learn.gates.base import BaseGateClassifier
from thrifty.learn.gates.problem import GateFamily

__all__ = ["GatedClassifier"]


class GatedClassifier(BaseGateClassifier, AdaptGate):
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
        **AdaptGate._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
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
        super().__init__(
            expensive, prices, share, penalty, family, distance, alternations, target, random_state
        )
        self.class_weight = class_weight
