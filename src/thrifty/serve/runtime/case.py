"""One case: what a client asks of a `Runtime`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thrifty.costs.money import as_float
from thrifty.errors import DataError, raise_all
from thrifty.serve.sources.values import is_unicode

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """One example to predict. Its repr shows no value and no identifier.

    Parameters
    ----------
    id : str, optional
        Name of the case. Sent again, by anyone, it goes on where it was: what it bought is not
        bought again. It is stored as a keyed hash. Without it, the case cannot be resumed.
    known : mapping
        Values known beforehand, by feature; they are free of charge.
    context : mapping of str to object
        Identifiers for sources, such as the number of a customer; neither stored nor logged.
    subject : str, optional
        Whom the case is about: values that earlier cases of the same subject bought are reused
        while they are fresh enough. Stored as a keyed hash.
    cap : float, optional
        What may be spent on the case at most, by all its runs, with evaluations and calls.
    deadline : float, optional
        Seconds until the answer is needed: the best answer so far, if need be.
    max_age : mapping of feature to float, optional
        How old a reused value may be, in seconds, in place of what its source says; 0: not reused.

    Examples
    --------
    >>> from thrifty.serve import Case
    >>> Case("application-17", known={"age": 63}, cap=20.0, deadline=2.0)
    Case(1 known value, cap=20.0, deadline=2.0)
    """

    id: str | None = None
    known: Mapping[Any, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    subject: str | None = None
    cap: float | None = None
    deadline: float | None = None
    max_age: Mapping[Any, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = [
            f"{name}: pass a text that is not empty"
            for name in ("id", "subject")
            if not (getattr(self, name) is None or _is_text(getattr(self, name)))
        ]
        amounts = {"cap": self.cap, "deadline": self.deadline}
        amounts |= {f"max_age of {feature!r}": age for feature, age in self.max_age.items()}
        for name, value in amounts.items():
            number = as_float(value)
            if value is not None and not (isinstance(number, float) and number >= 0):
                problems.append(f"{name}: {value!r} is not a number of 0 or more")
        raise_all(DataError, "case", problems)

    def __repr__(self) -> str:
        n = len(self.known)
        parts = [f"{n} known value{'s' * (n != 1)}"]
        parts += [f"{name}={getattr(self, name)}" for name in ("cap", "deadline")
                  if getattr(self, name) is not None]  # fmt: skip
        return f"Case({', '.join(parts)})"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value) and is_unicode(value)
