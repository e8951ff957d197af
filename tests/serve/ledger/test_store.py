"""Trying again after a lost connection."""

from __future__ import annotations

import pytest

from thrifty.serve.ledger.store import ConnectionLostError, keep_trying


def test_it_reconnects_before_it_tries_again():
    calls = []

    def action():
        calls.append("action")
        if len(calls) < 4:
            raise ConnectionLostError("lost")
        return "done"

    assert keep_trying(action, lambda: calls.append("reconnect"), patience=10.0) == "done"
    assert calls == ["action", "reconnect", "action", "reconnect", "action"]


def test_it_gives_up_after_a_while():
    def action():
        raise ConnectionLostError("lost")

    with pytest.raises(ConnectionLostError):
        keep_trying(action, lambda: None, patience=0.05)
