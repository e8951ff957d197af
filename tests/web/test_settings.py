"""Settings refuse what would be unsafe, and never show the token."""

from __future__ import annotations

import pytest

from thrifty.errors import DataError
from thrifty.web import Settings

TOKEN = "a-token-of-the-tests"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.4", "example.org"])
def test_an_address_that_others_reach_needs_a_token(host):
    with pytest.raises(DataError, match="set a token"):
        Settings(host=host)
    assert Settings(host=host, token=TOKEN).host == host


def test_all_problems_are_reported_at_once():
    with pytest.raises(DataError) as caught:
        Settings(token="short", port=70_000, rate=0, max_body=-1)
    for problem in ("16 characters", "port", "rate", "max_body"):
        assert problem in str(caught.value)


def test_the_token_is_not_shown():
    assert TOKEN not in repr(Settings(token=TOKEN))
