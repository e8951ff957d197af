"""What is known of a case that a client leads."""

from __future__ import annotations

from thrifty.wire import CaseState, Label, Question

__all__ = ["LedCase"]


class LedCase:
    """Where a case stood after the last step.

    Parameters
    ----------
    state : CaseState

    Attributes
    ----------
    state : CaseState
        The last response of the server, with the receipt so far.
    """

    def __init__(self, state: CaseState) -> None:
        self.state = state

    @property
    def handle(self) -> str:
        """What the case goes by: `Client.find_case` finds it again."""
        return self.state.case

    @property
    def done(self) -> bool:
        """Whether the case has ended."""
        return self.state.done

    @property
    def asks(self) -> list[Question]:
        """What to get now, the most useful first; empty when the case is done."""
        return self.state.asks

    @property
    def answer(self) -> Label:
        """The best answer so far; the answer, when the case is done."""
        return self.state.answer

    @property
    def spent(self) -> float:
        """What was spent so far, by the server and by you."""
        return self.state.spent

    def __repr__(self) -> str:
        what = f"answer={self.answer!r}" if self.done else f"asks={[q.feature for q in self.asks]}"
        return f"{type(self).__name__}({self.handle[:8]}, {what}, spent={self.spent:g})"
