"""Every bad table of the tests against every estimator; counts by outcome, in one table.

Each estimator has a process of its own with a limit of memory, and each cell a limit of 10 CPU
seconds. Tables of normal size are given to small estimators, those with many classes or columns to
estimators with their default settings (baselines are always small). An outcome is an answer, a
refusal with an error of Thrifty (or one that scikit-learn documents), or "slow" (more than the
limit), "wrong" or "escape". It ends with status 1 if there is any of these.

    python benchmarks/bad_tables.py [--only WORD] [--jobs N]
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import signal
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
OUTPUT = ROOT / "docs" / "reliability" / "tables.csv"
KINDS = ("answer", "refused", "slow", "wrong", "escape")
MEMORY = 6 * 2**30
# A cell is ended after this many CPU seconds; what took longer than the limit is slow.
PATIENCE = 25.0


class OutOfTimeError(BaseException):
    """Raised by the timer, past everything that catches errors."""


def _ring(*_: Any) -> None:
    raise OutOfTimeError


def run_estimator(name: str, only: str) -> None:
    """Run all tables on one estimator; print a line of JSON for each."""
    from bad_tables import Outcome, bad_tables, estimators, run

    import thrifty

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _ring)
    small, default = estimators(small=True)[name], estimators(small=False)[name]
    is_public = hasattr(thrifty, name)
    for table in bad_tables():
        if only not in table.name:
            continue
        signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
        try:
            outcome = run(default if table.heavy and is_public else small, table)
        except OutOfTimeError:
            outcome = Outcome("slow", PATIENCE, "ended")
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if outcome is not None:
            line = {"table": table.name, "kind": outcome.kind, "seconds": outcome.seconds}
            print(json.dumps(line | {"estimator": name, "words": outcome.words[:200]}), flush=True)


def cells_of(name: str, only: str) -> list[dict[str, Any]]:
    """Run one estimator in a process of its own; return its outcomes."""
    command = [sys.executable, __file__, "--estimator", name, "--only", only]
    # Threads of OpenMP that wait count as CPU time, and so against the limit.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    cells = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        cells.append({"table": "(the process)", "kind": "escape", "seconds": 0.0,
                      "estimator": name, "words": done.stderr[-200:]})  # fmt: skip
    print(name, len(cells), flush=True)
    return cells


def main(only: str, n_jobs: int) -> int:
    """Run every estimator and write the table; return 1 if an outcome is not allowed."""
    from bad_tables import estimators

    with ThreadPoolExecutor(n_jobs) as pool:
        found = pool.map(lambda name: cells_of(name, only), estimators(small=True))
        cells = [cell for some in found for cell in some]
    write(cells)
    bad = [cell for cell in cells if cell["kind"] not in ("answer", "refused")]
    for cell in bad:
        print(cell)
    return 1 if bad else 0


def write(cells: list[dict[str, Any]]) -> None:
    """Write the counts of each table, and of all."""
    by_table: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for cell in cells:
        by_table[cell["table"]].append(cell)
    by_table["all"] = cells
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    with OUTPUT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["table", *KINDS, "most CPU seconds", "by"])
        for table, some in by_table.items():
            slowest = max(some, key=lambda cell: cell["seconds"])
            counts = [sum(cell["kind"] == kind for cell in some) for kind in KINDS]
            seconds = f"{slowest['seconds']:.1f}"
            writer.writerow([table, *counts, seconds, slowest["estimator"]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--estimator")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1, help="estimators at once")
    given = parser.parse_args()
    if given.estimator:
        run_estimator(given.estimator, given.only)
    else:
        sys.exit(main(given.only, given.jobs))
