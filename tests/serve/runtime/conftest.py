"""A predictor whose walk has several rounds, and an empty ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted import chain_predictor

from thrifty.bundle import Predictor
from thrifty.serve import Ledger


@pytest.fixture
def chain() -> Predictor:
    return chain_predictor()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.db") as opened:
        yield opened
