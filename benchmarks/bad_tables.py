"""Every bad table of the tests against every estimator; counts by outcome, in one table.

Each estimator has a process of its own with a limit of memory, and each cell a limit of 10 CPU
seconds. Tables of normal size are given to small estimators, those with many classes or columns to
estimators with their default settings (baselines are always small). An outcome is an answer, a
refusal with an error of Thrifty (or one that scikit-learn documents), or "slow" (more than the
limit), "wrong" or "escape". It ends with status 1 if there is any of these.

Outcomes are kept in build/bad_tables, so that a run which was stopped goes on where it was; delete
that folder to begin again. The table is written once all cells have an outcome.

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
KEPT = ROOT / "build" / "bad_tables"
# Outcomes, and what the table calls them.
KINDS = {"answer": "answered", "refused": "refused", "slow": "slow", "wrong": "wrong",
         "escape": "escapes"}  # fmt: skip
# A table without a meaning for the estimator, such as one of labels for a regression.
NOT_APPLICABLE = "not applicable"
MEMORY = 6 * 2**30
# A cell is ended after this many CPU seconds; what took longer than the limit is slow.
PATIENCE = 25.0


class OutOfTimeError(BaseException):
    """Raised by the timer, past everything that catches errors."""


def _ring(*_: Any) -> None:
    raise OutOfTimeError


def run_estimator(name: str, only: str) -> None:
    """Run the tables that have no outcome yet on one estimator; keep a line of JSON for each."""
    from bad_tables import Outcome, bad_tables, estimators, run

    import thrifty

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _ring)
    small, default = estimators(small=True)[name], estimators(small=False)[name]
    is_public = hasattr(thrifty, name)
    known = {cell["table"] for cell in kept_cells(name)}
    for table in bad_tables():
        if only not in table.name or table.name in known:
            continue
        signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
        try:
            outcome = run(default if table.heavy and is_public else small, table)
        except OutOfTimeError:
            outcome = Outcome("slow", PATIENCE, "ended")
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        outcome = outcome or Outcome(NOT_APPLICABLE)
        cell = {"table": table.name, "kind": outcome.kind, "seconds": outcome.seconds}
        with (KEPT / f"{name}.jsonl").open("a") as file:
            file.write(json.dumps(cell | {"estimator": name, "words": outcome.words[:200]}) + "\n")


def kept_cells(name: str) -> list[dict[str, Any]]:
    """Return the outcomes of one estimator so far; a line that was cut short does not count."""
    path = KEPT / f"{name}.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}\n")]


def cells_of(name: str, only: str) -> list[dict[str, Any]]:
    """Run one estimator in a process of its own, if a table is left; return its outcomes."""
    from bad_tables import bad_tables

    wanted = {table.name for table in bad_tables() if only in table.name}
    problem = ""
    if wanted - {cell["table"] for cell in kept_cells(name)}:
        command = [sys.executable, __file__, "--estimator", name, "--only", only]
        # Threads of OpenMP that wait count as CPU time, and so against the limit.
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        problem = done.stderr[-200:] if done.returncode else ""
    cells = [cell for cell in kept_cells(name) if cell["table"] in wanted]
    if problem:
        cells.append({"table": "(the process)", "kind": "escape", "seconds": 0.0,
                      "estimator": name, "words": problem})  # fmt: skip
    print(name, len(cells), flush=True)
    return [cell for cell in cells if cell["kind"] != NOT_APPLICABLE]


def main(only: str, n_jobs: int) -> int:
    """Run every estimator and write the table; return 1 if an outcome is not allowed."""
    from bad_tables import estimators

    KEPT.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(n_jobs) as pool:
        found = pool.map(lambda name: cells_of(name, only), estimators(small=True))
        cells = [cell for some in found for cell in some]
    if not only:
        write(cells)
    bad = [cell for cell in cells if cell["kind"] not in ("answer", "refused")]
    for cell in bad:
        print(cell)
    return 1 if bad else 0


def write(cells: list[dict[str, Any]]) -> None:
    """Write the counts of each kind of table, of each large table, and of all."""
    from bad_tables import bad_tables

    heavy = {table.name for table in bad_tables() if table.heavy}
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for cell in cells:
        kind = cell["table"].split(":")[0]
        rows[cell["table"].removeprefix("size: ") if cell["table"] in heavy else kind].append(cell)
    rows["all"] = cells
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    with OUTPUT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["odd in", "tables", "fits", *KINDS.values(), "most CPU seconds", "by"])
        for kind, some in rows.items():
            slowest = max(some, key=lambda cell: cell["seconds"])
            counts = [sum(cell["kind"] == kind for cell in some) for kind in KINDS]
            tables = len({cell["table"] for cell in some})
            seconds = f"{slowest['seconds']:.1f}"
            writer.writerow([kind, tables, len(some), *counts, seconds, slowest["estimator"]])


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
