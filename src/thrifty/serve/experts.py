"""Experts: each answers an example itself, or says that the remote model should be asked.

An expert is a function of an example whose value is a label or `ASK`. A pair of a gate and a local
model makes one, and so does a predictor: it asks for the remote model when its walk wants something
that is not at hand, which is the remote answer where the predictor comes from a gated model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from thrifty.bundle import Predictor
from thrifty.errors import DataError, SourceError, raise_all

__all__ = ["ASK", "Expert", "Opinions", "expert_of"]


class _Ask(Enum):
    ASK = "ask"

    def __repr__(self) -> str:
        return "ASK"


ASK: Final = _Ask.ASK
"""What an expert says that wants the remote model to be asked."""

Expert = Callable[[Any], Any]


class Opinions:
    """A panel of experts, asked about one example at a time.

    Parameters
    ----------
    experts : sequence
        Functions of an example that give a label or `ASK`, predictors, or pairs (gate, local):
        where the gate is above 0 the remote model is asked, elsewhere the local model answers.

    Examples
    --------
    >>> from thrifty.serve.experts import ASK, Opinions
    >>> panel = Opinions([lambda x: ASK, (lambda x: x > 0.9, round)])
    >>> panel.of(0, 0.7), panel.of(1, 0.7), panel.all(1.2)
    (ASK, 1, [ASK, ASK])
    """

    def __init__(self, experts: Sequence[Any]) -> None:
        problems = [
            f"number {j} is {spec!r}; give a function, a predictor or a pair (gate, local model)"
            for j, spec in enumerate(experts)
            if not _is_expert(spec)
        ]
        raise_all(DataError, "experts", problems if len(experts) else ["there are none"])
        self._experts = [expert_of(spec) for spec in experts]
        self.classes = _classes(experts)

    def __len__(self) -> int:
        return len(self._experts)

    def of(self, number: int, x: Any) -> Any:
        """What one expert says of an example."""
        try:
            said = self._experts[number](x)
        except DataError:
            raise
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise SourceError(f"expert {number} failed on the example ({problem})") from error
        return said.item() if hasattr(said, "dtype") else said

    def all(self, x: Any) -> list[Any]:
        """What every expert says."""
        return [self.of(number, x) for number in range(len(self._experts))]


def expert_of(spec: Any) -> Expert:
    """The function of an example behind a predictor, a pair or a function."""
    if isinstance(spec, Predictor):
        return _walked(spec)
    if isinstance(spec, tuple):
        gate, local = (expert_of(part) for part in spec)
        return lambda x: ASK if gate(x) > 0 else local(x)
    expert: Expert = spec
    return expert


def _walked(predictor: Predictor) -> Expert:
    """A predictor is walked on what is at hand; what it then still wants, it asks for."""
    named = predictor.schema.named

    def advise(x: Any) -> Any:
        if not hasattr(x, "items"):
            if named:
                raise DataError("example: the predictor knows features by name; give a mapping")
            x = dict(enumerate(x))
        walk = predictor.walk()
        while walk.asks:
            at_hand = {feature: x[feature] for feature in walk.asks if feature in x}
            if not at_hand:
                return ASK
            walk.tell(at_hand)
        return walk.answer

    return advise


def _is_expert(spec: Any) -> bool:
    if isinstance(spec, tuple):
        return (
            len(spec) == 2
            and not any(isinstance(part, tuple) for part in spec)
            and all(map(_is_expert, spec))
        )
    return isinstance(spec, Predictor) or (callable(spec) and not isinstance(spec, Mapping))


def _classes(experts: Sequence[Any]) -> list[Any] | None:
    """Labels of all predictors that answer; None if some expert's labels are not known."""
    local = [spec[1] if isinstance(spec, tuple) else spec for spec in experts]
    known = [part.labels for part in local if isinstance(part, Predictor) and part.labels]
    if not known:
        return None
    return list(dict.fromkeys(label for labels in known for label in labels))
