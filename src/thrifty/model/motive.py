"""What a walk knows about its next purchase: the raw material of an explanation.

A model knows positions and outputs, but neither names nor prices nor how often it is right. So a
motive says what the model itself expects of a purchase, and of the others that it could make. The
bundle turns it into a sentence.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["End", "Motive", "MotiveKind"]

MotiveKind = Literal["plan", "range", "log_loss"]
"""What `Motive.gain` is.

``"plan"``
    There is none: the order of the purchases was fixed in training.
``"range"``
    The most by which the trees that wait for the feature can still move their output.
``"log_loss"``
    The estimated reduction of the log-loss of this example.
"""

End = Literal["complete", "sure", "settled", "not_worth_it", "cap"]
"""Why a model asks for nothing more.

``"complete"``
    It has read all that it reads for this example.
``"sure"``
    It could read more, but is sure enough.
``"settled"``
    It could read more, but nothing could change the prediction.
``"not_worth_it"``
    It could read more, but nothing is estimated to be worth its price.
``"cap"``
    It could read more, but nothing fits under the cap that the model was trained with.
"""


class Motive(NamedTuple):
    """Why a walk asks for what it asks now.

    Attributes
    ----------
    features : tuple of int
        What is bought together next: the first of the walk's requests, or all of them.
    kind : {"plan", "range", "log_loss"}
        What the gains are.
    gain : float or None
        What the model expects of these features; None for "plan".
    others : tuple of (tuple of int, float)
        The other purchases that it could make now, and their gains.
    note : str
        What the model does next, or what a gain of the kind "range" is measured in.
    """

    features: tuple[int, ...]
    kind: MotiveKind = "plan"
    gain: float | None = None
    others: tuple[tuple[tuple[int, ...], float], ...] = ()
    note: str = ""
