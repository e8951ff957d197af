"""Killing workers and the database server loses no settlement and buys nothing twice.

A short version of kill_trial.py, which is to be run with some hundred kills after a change of the
ledger. It runs in a process of its own: it forks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from postgres_server import find_binaries


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["--database", "sqlite"], ["--database", "postgres", "--server", "0.3"]],
    ids=["sqlite", "postgres"],
)  # fmt: skip
def test_ten_kills_lose_nothing_and_buy_nothing_twice(arguments: list[str]) -> None:
    if "postgres" in arguments and find_binaries() is None and not os.environ.get("CI"):
        pytest.skip("PostgreSQL is not installed")
    script = Path(__file__).parent / "kill_trial.py"
    done = subprocess.run(
        [sys.executable, script, "--kills", "10", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "twice=0, unknown=0, lost=0" in done.stdout
