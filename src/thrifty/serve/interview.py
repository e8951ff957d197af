"""A walk with a person as its source: one question at a time, values as they are typed.

The interview does no input or output. It tells what to ask next and at what price, takes what
the person says, and can go back to put a value among those that were known all along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from thrifty.bundle import NamedWalk, Predictor, Receipt
from thrifty.bundle.cells import Label
from thrifty.errors import DataError
from thrifty.serve.text import read_feature, read_pair, read_value

__all__ = ["Interview", "Question"]

Step = tuple[Literal["tell", "skip"], str | int, Any]


@dataclass(frozen=True)
class Question:
    """A feature that is wanted, what it would cost now, and the labels it can have."""

    feature: str | int
    price: float
    labels: tuple[Label, ...] | None


class Interview:
    """One example, asked of a person.

    Parameters
    ----------
    predictor : Predictor
    known : sequence of str
        Values that are at hand, as ``NAME=VALUE``; they are free of charge.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier, Prices
    >>> from thrifty.serve import Interview
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> model = GreedyMiserClassifier(Prices([1, 1, 9]), penalty=0.01).fit(X, y)
    >>> interview = Interview(model.predictor_)
    >>> interview.question
    Question(feature=0, price=1.0, labels=None)
    >>> interview.tell("1.5")
    >>> interview.done, interview.best, interview.receipt.total
    (True, 'yes', 1.0)
    """

    def __init__(self, predictor: Predictor, known: Sequence[str] = ()) -> None:
        self._predictor = predictor
        self._steps: list[Step] = []
        pairs = [read_pair(predictor, text) or text.split("=", 1) for text in known]
        self._walk = predictor.walk(dict(self._read(value, name) for name, value in pairs))

    @property
    def done(self) -> bool:
        """Whether nothing is asked any more."""
        return self._walk.done

    @property
    def question(self) -> Question | None:
        """What to ask next, the most useful per price; None when done."""
        return self._question(self._walk.asks[0]) if self._walk.asks else None

    @property
    def others(self) -> tuple[Question, ...]:
        """What else could be told now."""
        return tuple(self._question(feature) for feature in self._walk.asks[1:])

    @property
    def best(self) -> Any:
        """The best answer so far."""
        return self._walk.best

    @property
    def probability(self) -> float | None:
        """Probability of the best answer so far; None for a model that predicts values."""
        return None if self._predictor.classes is None else float(self._walk.scores.max())

    @property
    def receipt(self) -> Receipt:
        """What was bought so far."""
        return self._walk.receipt

    def tell(self, text: str, feature: str | None = None) -> None:
        """Take the value of a feature, the one in question when none is named.

        Raises
        ------
        DataError
            If the text is no value of that feature; the interview is then where it was.
        """
        name, value = self._read(text, feature)
        self._walk.tell({name: value})
        self._steps.append(("tell", name, value))

    def know(self, text: str, feature: str | None = None) -> None:
        """Take a value that was known before, free of charge."""
        name, value = self._read(text, feature)
        walk = self._predictor.walk({**self._walk.known, name: value})
        for step in self._steps:
            _repeat(walk, step)
        self._walk = walk

    def skip(self) -> None:
        """Go on without the feature in question."""
        name = self._current()
        self._walk.skip(name)
        self._steps.append(("skip", name, None))

    def stop(self) -> None:
        """End here with the best answer so far."""
        self._walk.stop()

    def pair(self, text: str) -> tuple[str, str | None]:
        """Value and feature of a text, which may be ``NAME=VALUE`` or a value alone."""
        name, value = read_pair(self._predictor, text) or (None, text)
        return value, name

    def _read(self, text: str, feature: str | None) -> tuple[str | int, Any]:
        name = self._current() if feature is None else read_feature(self._predictor, feature)
        schema = self._predictor.schema
        return name, read_value(schema.columns[schema.index(name)], text)

    def _current(self) -> str | int:
        if not self._walk.asks:
            raise DataError("nothing is asked any more")
        return self._walk.asks[0]

    def _question(self, feature: str | int) -> Question:
        schema = self._predictor.schema
        return Question(
            feature, self._walk.price(feature), schema.columns[schema.index(feature)].categories
        )


def _repeat(walk: NamedWalk, step: Step) -> None:
    kind, feature, value = step
    if kind == "tell":
        walk.tell({feature: value})
    else:
        walk.skip(feature)
