"""Experts of an online gate: each answers an example, or advises to ask the remote model.

An expert is a function of an example that returns a label or `ASK`. A pair of a gate and a local
model makes one, and so does a predictor, which advises to ask when its walk wants something that
the example does not hold. For the predictor of a gated model, that is the remote answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from thrifty.bundle import Predictor
from thrifty.errors import DataError, SourceError, raise_all

__all__ = ["ASK", "Expert", "ExpertPanel", "expert_of"]


class _Ask(Enum):
    ASK = "ask"

    def __repr__(self) -> str:
        return "ASK"


ASK: Final = _Ask.ASK
"""What an expert returns to advise that the remote model be asked."""

Expert = Callable[[Any], Any]
"""A function of an example that returns a label or `ASK`."""


class ExpertPanel:
    """The experts of an online gate, consulted about one example at a time.

    Parameters
    ----------
    experts : sequence
        Functions of an example that return a label or `ASK`, predictors, or pairs (gate, local):
        where the gate is above 0 the pair advises to ask, elsewhere the local model answers.

    Attributes
    ----------
    classes : list or None
        Labels that the predictors among the local models can return; None if there is none.

    Examples
    --------
    >>> from thrifty.serve.experts import ASK, ExpertPanel
    >>> panel = ExpertPanel([lambda x: ASK, (lambda x: x > 0.9, round)])
    >>> panel.advice(0, 0.7), panel.advice(1, 0.7), panel.all_advice(1.2)
    (ASK, 1, [ASK, ASK])
    """

    def __init__(self, experts: Sequence[Any]) -> None:
        problems = [
            f"number {j} is {spec!r}; pass a function, a predictor or a pair (gate, local model)"
            for j, spec in enumerate(experts)
            if not _is_expert(spec)
        ]
        raise_all(DataError, "experts", problems if len(experts) else ["there are none"])
        self._experts = [expert_of(spec) for spec in experts]
        local = [spec[1] if isinstance(spec, tuple) else spec for spec in experts]
        labels = [part.labels for part in local if isinstance(part, Predictor) and part.labels]
        self.classes = list(dict.fromkeys(label for some in labels for label in some)) or None

    def __len__(self) -> int:
        return len(self._experts)

    def advice(self, number: int, x: Any) -> Any:
        """Return what one expert says about an example: a label or `ASK`.

        Raises
        ------
        SourceError
            If the expert fails; the message names it.
        """
        try:
            advice = self._experts[number](x)
        except DataError:
            raise
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise SourceError(f"expert {number} failed on the example ({problem})") from error
        return advice.item() if hasattr(advice, "dtype") else advice

    def all_advice(self, x: Any) -> list[Any]:
        """Return what every expert says about an example."""
        return [self.advice(number, x) for number in range(len(self._experts))]


def expert_of(spec: Any) -> Expert:
    """Return the function of an example behind a predictor, a pair or a function."""
    if isinstance(spec, tuple):
        gate, local = (expert_of(part) for part in spec)
        return lambda x: ASK if gate(x) > 0 else local(x)
    if not isinstance(spec, Predictor):
        expert: Expert = spec
        return expert
    predictor = spec

    def walk_on_known_values(x: Any) -> Any:
        if not hasattr(x, "items"):
            if predictor.schema.named:
                raise DataError("example: the features of the predictor have names; pass a mapping")
            x = dict(enumerate(x))
        walk = predictor.walk()
        while walk.asks:
            known = {feature: x[feature] for feature in walk.asks if feature in x}
            if not known:
                return ASK
            walk.tell(known)
        return walk.answer

    return walk_on_known_values


def _is_expert(spec: Any) -> bool:
    if isinstance(spec, tuple):
        nested = any(isinstance(part, tuple) for part in spec)
        return len(spec) == 2 and not nested and all(map(_is_expert, spec))
    return isinstance(spec, Predictor) or (callable(spec) and not isinstance(spec, Mapping))
