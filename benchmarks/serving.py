"""Serving: many purchases a commit, and how much the ledger adds to slow sources.

The figures are of elapsed time, as they are about waiting: for the disk and for sources. What is
compared is measured in one run, in turns.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np
from _harness import report

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes
from thrifty.serve import Case, FunctionSource, Ledger, Query, Runtime
from thrifty.serve.ledger.records import Intent, Settlement

TURNS = 12
PURCHASES = 160
ROUNDS, DELAY = 10, 0.020
AT_ONCE = 16
# What a disk that keeps its word takes to sync: 3 to 5 ms were measured where this began. Disks of
# virtual machines may answer in a tenth of a millisecond, and then there is nothing to share.
SYNC = 0.004


def chain(rounds: int) -> Predictor:
    """A tree that asks for one feature after the other while they are above 0."""
    nodes, values = empty_nodes(2 * rounds + 1), np.zeros((2 * rounds + 1, 1))
    for depth in range(rounds):
        nodes[2 * depth] = (0.0, 2 * depth + 1, depth)
        values[2 * depth + 1] = -1.0
    tree = Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), "sigmoid", rounds)
    names = [f"f{j}" for j in range(rounds)]
    schema = Schema.of({name: [0.5, -0.5] for name in names})
    return Predictor(tree, schema, Prices(dict.fromkeys(names, 1.0)).bind(names), ["no", "yes"])


def seconds(work: Coroutine[Any, Any, Any]) -> float:
    """Return how long a coroutine takes."""

    async def timed() -> float:
        start = time.perf_counter()
        await work
        return time.perf_counter() - start

    return asyncio.run(timed())


async def buy(ledger: Ledger, name: str, clients: int) -> None:
    """Make purchases, an intent and a settlement each, by some clients at once."""

    async def client(number: int) -> None:
        for i in range(PURCHASES // clients):
            header = ledger.header(f"{name} {number} {i}", None, "", None)
            grants = await asyncio.wrap_future(ledger.intend(header, [Intent("x", 1.0)]))
            owner = grants.mine["x"]
            settlement = Settlement(header.case, "x", owner, "settled", 1.0, "delivered", "[]")
            await asyncio.wrap_future(ledger.settle([settlement], hurry=True))

    await asyncio.gather(*(client(number) for number in range(clients)))


async def serve(runtime: Runtime, name: str, cases: int) -> None:
    """Serve some cases at once."""
    await asyncio.gather(*(runtime.serve(Case(f"{name} {i}")) for i in range(cases)))


def timed_commits(ledger: Ledger, least: float = 0.0) -> list[float]:
    """Return a list to which every commit of a ledger adds how long it takes, `least` or more."""
    times: list[float] = []
    store = ledger._store
    commit = store.commit

    def timed() -> None:
        start = time.perf_counter()
        commit()
        time.sleep(max(least - (time.perf_counter() - start), 0.0))
        times.append(time.perf_counter() - start)

    store.commit = timed  # type: ignore[method-assign]
    return times


def main() -> None:
    """Measure, and report ratios with their limits."""
    # In the current folder, as /tmp may be memory.
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd()) as name,
        Ledger.open(Path(name) / "ledger.db") as ledger,
    ):
        rows: list[tuple[object, ...]] = []
        for least, limit in ((SYNC, ">= 10"), (0.0, "")):
            commit = ledger._store.commit
            times = timed_commits(ledger, least)
            # The speed of the disk varies from second to second: turns are compared one by one.
            gains = []
            for turn in range(TURNS):
                alone = seconds(buy(ledger, f"alone {least} {turn}", 1))
                gains.append(alone / seconds(buy(ledger, f"together {least} {turn}", AT_ONCE)))
            ledger._store.commit = commit  # type: ignore[method-assign]
            sync = f"{1000 * float(np.median(times)):.1f} ms"
            what = f"group commit, 16 at once / one at a time, a commit of {sync}"
            rows.append((what, f"{np.median(gains):.1f}", limit))

        async def fetch(query: Query) -> float:
            await asyncio.sleep(DELAY)
            return 1.0

        sources = [FunctionSource(f"s{j}", fetch, [f"f{j}"]) for j in range(ROUNDS)]
        runtime = Runtime(chain(ROUNDS), sources, ledger)
        commits = timed_commits(ledger)
        for n in (1, AT_ONCE):
            ratios = []
            for turn in range(TURNS):
                path = seconds(critical_path(n))
                commits.clear()
                found = seconds(serve(runtime, f"{n} {turn}", n))
                ratios.append(found / (path + ROUNDS * float(np.median(commits))))
            what = "alone" if n == 1 else f"{n} at once"
            rows.append((f"10 rounds of 20 ms, {what} / (path + a sync a round)",
                         f"{min(ratios):.2f}", "<= 1.15"))  # fmt: skip
    report("serving", ("what", "ratio", "limit"), rows)


async def critical_path(cases: int) -> None:
    """Wait for the sources of some cases at once, and do nothing else."""

    async def one() -> None:
        for _ in range(ROUNDS):
            await asyncio.sleep(DELAY)

    await asyncio.gather(*(one() for _ in range(cases)))


if __name__ == "__main__":
    main()
