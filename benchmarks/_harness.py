"""Measure and report ratios: candidates take turns in one process, and the best turn counts.

The clock is CPU time by default, because the machine may be shared. Tables are printed and written
to docs/benchmarks/NAME.csv, which the documentation shows. The last column of a table may be
"limit", such as "<= 0.6" for the figure before it: a figure beyond its limit is an error.
"""

from __future__ import annotations

import csv
import gc
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"


def take_turns(
    candidates: dict[str, Callable[[], object]],
    turns: int = 5,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Return the least time of each candidate; every turn runs all, so that noise affects all."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(turns):
        for name, run in candidates.items():
            gc.collect()
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return best


def report(name: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table and write it for the documentation; exit with an error beyond a limit."""
    for row in (header, *rows):
        print("  ".join(str(cell).ljust(28) for cell in row).rstrip(), flush=True)
    RESULTS.mkdir(exist_ok=True)
    unfinished = RESULTS / f".{name}.csv.part"
    with unfinished.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows((header, *rows))
    os.replace(unfinished, RESULTS / f"{name}.csv")
    if header[-1] == "limit":
        beyond = [f"{row[0]}: {row[-2]}, limit {row[-1]}" for row in rows if _is_beyond(*row[-2:])]
        if beyond:
            raise SystemExit("\n".join([f"{name}: beyond the limit", *beyond]))


def _is_beyond(figure: object, limit: object) -> bool:
    """Return whether a figure exceeds its limit: "<= x", ">= x", or empty for none."""
    if not limit:
        return False
    sign, bound = str(limit).split()
    value = float(str(figure))
    return value > float(bound) if sign == "<=" else value < float(bound)
