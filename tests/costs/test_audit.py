"""The prices of a model file; `test_bound.py` and `test_structure.py` damage every field."""

from __future__ import annotations

from thrifty.costs import Prices
from thrifty.costs.audit import FIELDS, OPTIONAL, price_problems


def test_every_field_that_prices_have_is_known():
    prices = Prices(
        [1, 2, 3], groups={"g": [0, 1]}, requires={2: [0]}, panels=["g"], delays={0: 1},
        also={"ms": Prices([1, 1, 1])},
    )  # fmt: skip
    plain = prices.bind(3).plain()
    assert set(plain) == {*FIELDS, *OPTIONAL}
    assert price_problems(plain) == []
    for field in FIELDS:
        rest = {name: value for name, value in plain.items() if name != field}
        assert price_problems(rest) == [f"missing fields [{field!r}], unknown fields []"]
    assert price_problems(plain | {"more": 1})[0].endswith("""unknown fields ["'more'"]""")


def test_names_have_no_control_characters():
    plain = Prices([1.0], groups={"a": [0]}, also={"ms": Prices([1.0])}).bind(1).plain()
    assert price_problems(plain) == []
    assert price_problems(plain | {"unit": "\x1b"}) == ["unit is not text"]
    assert price_problems(plain | {"group_names": ["a\r"]}) == [
        "group_names is not a list of texts"
    ]
    assert price_problems(plain | {"also": {"\x07": plain["also"]["ms"]}}) == [
        "also '\\x07' is not a name"
    ]
