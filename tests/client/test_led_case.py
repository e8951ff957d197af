"""What is known of a case that a client leads."""

from __future__ import annotations

from thrifty.client.led_case import LedCase
from thrifty.wire import CaseState, Question


def state(**changed) -> CaseState:
    fields = {name: None for name in CaseState.__struct_fields__}
    return CaseState(**(fields | {"case": "0123456789abcdef", "spent": 2.5} | changed))


def test_an_open_case_shows_what_it_asks_for() -> None:
    asks = [Question(feature="age", price=1.0, why="")]
    case = LedCase(state(done=False, asks=asks, answer="no"))
    assert repr(case) == "LedCase(01234567, asks=['age'], spent=2.5)"
    assert (case.done, case.asks, case.answer) == (False, asks, "no")


def test_a_case_that_is_done_shows_its_answer() -> None:
    case = LedCase(state(done=True, asks=[], answer="yes"))
    assert repr(case) == "LedCase(01234567, answer='yes', spent=2.5)"
