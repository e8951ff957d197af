"""One operating point of a method: a frozen model, what it costs and how good it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor, States
from thrifty.learn.dataset import ValidationSet

__all__ = ["Point", "ValidationOutputs"]

# A point keeps its outputs on the validation set up to this many numbers: 1 MB.
MAX_KEPT = 2**17


class ValidationOutputs(NamedTuple):
    """What a model outputs for the validation set.

    `scores` are probabilities (n, K) or values (n,); `bills` (n,) are what each row costs.
    """

    scores: NDArray[np.float64]
    bills: NDArray[np.float64]

    @classmethod
    def of(cls, model: Predictor, X: NDArray[np.floating]) -> Self:
        """Score encoded rows and bill them."""
        frozen = model.model
        bills = model.prices.bill(frozen.used(X), frozen.evaluations(X))
        return cls(frozen.score(X), bills)

    @property
    def is_small(self) -> bool:
        """Whether every point of a path may keep its own."""
        return self.scores.size + self.bills.size <= MAX_KEPT


@dataclass(frozen=True)
class Point:
    """A frozen model on the cost/quality curve.

    Parameters
    ----------
    knob : dict
        The hyperparameters that lead to this point.
    model : Predictor
        The frozen model, ready to predict, walk and save.
    bill : float
        Mean bill on the validation set.
    quality : float
        What `score` gives on the validation set; larger is better.
    outputs : ValidationOutputs or None
        Scores and bills of the validation set, kept where they are small, so that nothing is
        computed again when the point is measured on the same rows.
    look_up : callable or None
        Returns these outputs where they are too large to keep, and the model cannot tell them: it
        has seen the rows, and they come from models that have not.
    interim : callable or None
        Returns where the rows of the validation set were before they stopped, if that is known.
    """

    knob: dict[str, Any]
    model: Predictor
    bill: float
    quality: float
    outputs: ValidationOutputs | None = field(default=None, repr=False, compare=False)
    look_up: Callable[[], ValidationOutputs] | None = field(default=None, repr=False, compare=False)
    interim: Callable[[], list[States]] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        # A point may be sent to another process; what looks rows up stays here.
        return {**self.__dict__, "interim": None}

    @classmethod
    def measure(
        cls,
        model: Predictor,
        validation: ValidationSet,
        outputs: ValidationOutputs | None = None,
        look_up: Callable[[], ValidationOutputs] | None = None,
        interim: Callable[[], list[States]] | None = None,
    ) -> Self:
        """Measure a predictor on the validation set.

        Parameters
        ----------
        model : Predictor
            Its `knob` becomes that of the point.
        validation : ValidationSet
        outputs : ValidationOutputs, optional
            What the model outputs there, if it is known already.
        look_up : callable, optional
            Returns the outputs, if models that have not seen the rows computed them.
        interim : callable, optional
            Returns where the rows were before they stopped.
        """
        if outputs is None:
            outputs = ValidationOutputs.of(model, validation.X) if look_up is None else look_up()
        return cls(
            model.knob or {},
            model,
            float(outputs.bills.mean()),
            validation.quality(outputs.scores),
            outputs if outputs.is_small else None,
            None if outputs.is_small else look_up,
            interim,
        )
