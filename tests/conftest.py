"""What all tests share: reproducible Hypothesis, no display, and fixtures for all."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# Matplotlib must not look for a screen, and kernels must not depend on the machine's cores.
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell has its background jobs ignore Ctrl-C, and what they start: tests send it to commands.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Some tests share their machinery with a script, which does more of the same.
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

# Compiling a kernel or a loaded machine may take seconds: an example has no deadline. The same
# examples every time, unless HYPOTHESIS_PROFILE=search asks for new ones.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("house", derandomize=True, max_examples=50, database=None, **COMMON)
settings.register_profile("search", max_examples=500, print_blob=True, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))

# What is imported and collected lives until the end. The garbage collector would look at all of it
# again and again, which takes a tenth of the time of the tests.
gc.disable()


@settings(max_examples=1)
@given(st.none())
def use_hypothesis(value: None) -> None:
    """Have Hypothesis make what it keeps for all of its tests."""


def pytest_collection_finish() -> None:
    """Let the garbage collector look only at what tests make."""
    # Hypothesis 6.100 makes its random generator in the first test, and asks the garbage collector
    # who refers to it: a frozen module, whom the collector no longer knows.
    use_hypothesis()
    gc.freeze()
    gc.enable()


Modules = Callable[..., set[str]]


@pytest.fixture
def modules_after() -> Modules:
    """Run a fresh interpreter with some arguments; give back the modules that it imported."""

    def run(*arguments: str) -> set[str]:
        command = [sys.executable, "-X", "importtime", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        rows = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        return {row.rsplit("|", 1)[1].strip() for row in rows}

    return run


class StillClock:
    """A clock that moves when a test says so, and not while a slow machine is at work."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    """The clock of all event loops and of the deadlines of cases, for this test."""
    clock = StillClock()
    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda loop: clock.now)
    monkeypatch.setattr("thrifty.serve.runtime.run.time", SimpleNamespace(monotonic=clock))
    return clock


FITTED: dict[tuple[object, object], Any] = {}


@pytest.fixture
def fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit an estimator once to a case, not once for every law: laws only read what was fitted."""
    from thrifty.checks import Case

    fit = Case.fit

    def fit_once(case: Case, estimator: Any, **parameters: Any) -> Any:
        if parameters:
            return fit(case, estimator, **parameters)
        if (case, estimator) not in FITTED:
            FITTED[case, estimator] = fit(case, estimator)
        return FITTED[case, estimator]

    monkeypatch.setattr(Case, "fit", fit_once)


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    """Two workers in this process: they start at once, and nothing is left of them."""
    from distributed import Client

    with Client(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as client:  # fmt: skip
        yield client
