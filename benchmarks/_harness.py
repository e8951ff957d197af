"""Measuring ratios: rivals take turns in one process, and the best of several turns counts.

CPU time by default, because the machine may be shared; what is printed is also written to
docs/benchmarks/NAME.csv, which the documentation shows. A table may end in a column "limit", such
as "<= 0.6" for the figure beside it: what is beyond its limit ends the run with an error.
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
    rivals: dict[str, Callable[[], object]],
    turns: int = 5,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Least time of each rival; every turn runs all of them, so that a busy moment hits all."""
    best = dict.fromkeys(rivals, float("inf"))
    for _ in range(turns):
        for name, run in rivals.items():
            gc.collect()
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return best


def report(name: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print the table and keep it for the documentation."""
    for row in (header, *rows):
        print("  ".join(str(cell).ljust(28) for cell in row).rstrip(), flush=True)
    RESULTS.mkdir(exist_ok=True)
    beside = RESULTS / f".{name}.csv.part"
    with beside.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows((header, *rows))
    os.replace(beside, RESULTS / f"{name}.csv")
    if header[-1] == "limit":
        beyond = [f"{row[0]}: {row[-2]}, limit {row[-1]}" for row in rows if _is_beyond(*row[-2:])]
        if beyond:
            raise SystemExit("\n".join([f"{name}: beyond the limit", *beyond]))


def _is_beyond(figure: object, limit: object) -> bool:
    """Whether a figure breaks its limit: "<= x", ">= x", or empty for none."""
    if not limit:
        return False
    sign, bound = str(limit).split()
    value = float(str(figure))
    return value > float(bound) if sign == "<=" else value < float(bound)
