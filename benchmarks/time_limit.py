"""How long fits take that have a time limit.

The clock of the fit is the CPU time of one thread, so that other work on the machine does not
count; "wall, 3 s" is another fit, with the usual clock, and on a shared machine it is noisy. The
last figure is the largest ratio of time taken and time allowed. Fits that need less time than they
are given end early. Columns are the limits.

    python benchmarks/time_limit.py [SET ...]
"""

from __future__ import annotations

import argparse
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report
from sklearn.datasets import make_friedman1
from targets import previous_rows

from thrifty import BudgetClassifier, BudgetRanker, BudgetRegressor, LadderClassifier, Prices
from thrifty.data import load
from thrifty.learn.ladder.base import Ladder

LIMITS = (1, 3, 10, 30)
WALL_LIMIT = 3
MOST = 1.2
COVERTYPE_ROWS = 52_291
CASES = (
    *((name, BudgetClassifier, effort)
      for name in ("heart", "magic", "letter", "covertype", "mfeat")
      for effort in ("fast", "balanced", "best")),
    ("covertype", LadderClassifier, "balanced"),
    ("mfeat", LadderClassifier, "balanced"),
    *(("friedman1", BudgetRegressor, effort) for effort in ("fast", "balanced", "best")),
    *(("mq2008", BudgetRanker, effort) for effort in ("fast", "balanced", "best")),
)  # fmt: skip
HEADER = ("data set", "estimator", "effort", "rows x columns", *(f"{limit} s" for limit in LIMITS),
          f"wall, {WALL_LIMIT} s", "largest ratio", "limit")  # fmt: skip


def read(name):
    """Return table, target, prices, and the queries of a ranking."""
    if name == "friedman1":
        X, y = make_friedman1(50_000, n_features=20, noise=1.0, random_state=0)
        return X, y, Prices(), {}
    found = load(name)
    if name == "mq2008":
        return found.X, found.y, Prices(), {"qid": found.qid}
    rows = np.arange(len(found.y))
    if name == "covertype":
        rows = np.random.default_rng(0).permutation(rows)[:COVERTYPE_ROWS]
    return found.X.iloc[rows], found.y[rows], found.prices, {}


def seconds_of(make, effort, limit, table, clock):
    """Return the seconds that a fit takes whose limit is counted by a clock."""
    X, y, prices, queries = table
    Ladder._clock = staticmethod(clock)
    model = make(prices, effort=effort, time_limit=limit, random_state=0)
    start = clock()
    model.fit(X, y, **queries)
    return clock() - start


def main():
    """Run the data sets named as arguments, or all; the table keeps its rows of the others."""
    parser = argparse.ArgumentParser(description="Fits with a time limit.")
    parser.add_argument("sets", nargs="*", choices=[*{name for name, _, _ in CASES}, []])
    chosen = parser.parse_args().sets
    cases = [case for case in CASES if not chosen or case[0] in chosen]
    tables = {name: read(name) for name in {"heart", "mq2008", *(name for name, _, _ in cases)}}
    for name, make in (("heart", BudgetClassifier), ("mq2008", BudgetRanker)):
        seconds_of(make, "fast", 1, tables[name], time.process_time)  # imports
    rows = previous_rows("time_limit", HEADER, key=3)
    for name, make, effort in cases:
        table = tables[name]
        found = [seconds_of(make, effort, limit, table, time.process_time) for limit in LIMITS]
        wall = seconds_of(make, effort, WALL_LIMIT, table, time.monotonic)
        largest = max(took / limit for took, limit in zip(found, LIMITS, strict=True))
        rows[name, make.__name__, effort] = (
            name, make.__name__, effort, f"{len(table[1])} x {table[0].shape[1]}",
            *(f"{took:.1f}" for took in found), f"{wall:.1f}", f"{largest:.2f}", f"<= {MOST}",
        )  # fmt: skip
    keys = [(name, make.__name__, effort) for name, make, effort in CASES]
    report("time_limit", HEADER, [rows[key] for key in keys if key in rows])


if __name__ == "__main__":
    sys.exit(main())
