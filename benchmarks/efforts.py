"""How long the efforts of BudgetClassifier take, in plain fits.

A plain fit is one of scikit-learn's HistGradientBoosting with early stopping on the same rows, as
in targets.py. Both are fitted in turn, on several splits, or on one from 20,000 rows on, and
medians are divided. The limits are those that the documentation of `effort` names: 5, 30 and 200
plain fits, 3, 10 and 60 from 20,000 rows on.

    python benchmarks/efforts.py [SET ...]
"""

from __future__ import annotations

import argparse
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report
from targets import GOALS, codes_of, previous_rows, seconds_of_plain_fit, split, table

from thrifty import BudgetClassifier

LIMITS = {"fast": (5, 3), "balanced": (30, 10), "best": (200, 60)}
LARGE = 20_000
# Splits that each set is fitted on. A plain fit of a small table takes milliseconds, which vary.
SEEDS, LARGE_SEEDS = range(200, 203), range(200, 201)
HEADER = ("data set", "effort", "rows x columns", "plain fit, s", "fit, s", "plain fits", "limit")


def measure(name):
    """Return a row for each effort."""
    found, y = table(name)
    X = codes_of(found.X)
    seconds = {effort: [] for effort in LIMITS}
    plain = []
    for seed in LARGE_SEEDS if len(y) >= LARGE else SEEDS:
        rows = split(found, y, seed)
        pool = np.concatenate(rows[:2])
        for effort, taken in seconds.items():
            model = BudgetClassifier(
                found.prices, effort=effort, confidence=None, random_state=seed
            )
            start = time.process_time()
            model.fit(found.X.iloc[pool], y[pool])
            taken.append(time.process_time() - start)
            plain.append(seconds_of_plain_fit(X, y, rows))
    unit = np.median(plain)
    size = f"{len(pool)} x {X.shape[1]}"
    return [
        (name, effort, size, f"{unit:.3f}", f"{np.median(taken):.2f}",
         f"{np.median(taken) / unit:.1f}", f"<= {LIMITS[effort][len(pool) >= LARGE]}")
        for effort, taken in seconds.items()
    ]  # fmt: skip


def main():
    """Run the data sets named as arguments, or all; the table keeps its rows of the others."""
    parser = argparse.ArgumentParser(description="CPU time of the efforts.")
    parser.add_argument("sets", nargs="*", choices=[*GOALS, []])
    chosen = parser.parse_args().sets or list(GOALS)
    measure("hepatitis")  # imports, before time is measured
    failure = None
    for name in chosen:
        kept = previous_rows("efforts", HEADER, key=2)
        kept.update({row[:2]: row for row in measure(name)})
        order = [(each, effort) for each in GOALS for effort in LIMITS if (each, effort) in kept]
        try:
            report("efforts", HEADER, [kept[each] for each in order])
            failure = None
        except SystemExit as error:  # the other sets are run all the same
            failure = error
    return None if failure is None else str(failure)


if __name__ == "__main__":
    sys.exit(main())
