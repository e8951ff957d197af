"""References to secrets."""

from __future__ import annotations

import pytest

from thrifty.errors import DataError
from thrifty.serve.sources.secrets import expand


def test_references_are_replaced_everywhere(tmp_path):
    file = tmp_path / "token"
    file.write_text("t0p\n")
    value = {"a": ["${NAME}", 7], "b": f"Bearer ${{file:{file}}}!", "c": "$NAME {x}"}
    assert expand(value, {"NAME": "n"}) == {"a": ["n", 7], "b": "Bearer t0p!", "c": "$NAME {x}"}


def test_the_environment_is_the_default(monkeypatch):
    monkeypatch.setenv("THRIFTY_TEST_SECRET", "s")
    assert expand("${THRIFTY_TEST_SECRET}") == "s"


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match=r"\$\{NAME\}: there is no such environment variable"):
        expand("${NAME}", {})
    with pytest.raises(DataError, match="cannot be read"):
        expand(f"${{file:{tmp_path}/missing}}", {})
