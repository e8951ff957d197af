"""What policies cost, or gain, on tables where one order of features may do for all rows.

The area of targets.py, on its splits, from one fit: with all points of the curve, and without those
of policies, which are then never chosen. The other points do not depend on policies. Where a ladder
trains no policy, as trials on unseen rows were not ahead, both are the same. "With policies" counts
the splits that have some. The limit is on what is lost, in points of area, on the mean of splits.

    python benchmarks/policies_cost.py [SET ...]
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report
from targets import GOALS, SEEDS, evaluate, previous_rows, split, table

from thrifty import BudgetClassifier

MOST_LOST = 0.3
HEADER = (
    "data set", "splits", "with policies", "area", "area without policies", "error of difference",
    "lost", "limit",
)  # fmt: skip


def areas(found, y, seed):
    """Return whether there are policies, and the area with them and without them."""
    train, validation, test = split(found, y, seed)
    pool = np.concatenate([train, validation])
    model = BudgetClassifier(found.prices, confidence=None, random_state=seed)
    model.fit(found.X.iloc[pool], y[pool])
    X, y = found.X.iloc[test], y[test]
    curve = model.frontier_
    others = tuple(point for point in curve.points if point.knob.get("kind") != "policy")
    ours = evaluate(model, X, y)[1]
    if len(others) == len(curve.points):
        return False, ours, ours
    model.frontier_ = replace(curve, points=others)
    return True, ours, evaluate(model, X, y)[1]


def measure(name):
    """Return one row of the table."""
    found, y = table(name)
    runs = [areas(found, y, seed) for seed in range(SEEDS.get(name, 5))]
    trained, ours, others = (np.array(column) for column in zip(*runs, strict=True))
    lost = others - ours
    error = lost.std(ddof=1) / np.sqrt(len(lost))
    return (
        name, len(runs), int(trained.sum()), f"{ours.mean():.2f}", f"{others.mean():.2f}",
        f"{error:.2f}", f"{lost.mean():.2f}", f"<= {MOST_LOST}",
    )  # fmt: skip


def main():
    """Run the data sets named as arguments, or all; the table keeps its rows of the others."""
    parser = argparse.ArgumentParser(description="What policies cost.")
    parser.add_argument("sets", nargs="*", choices=[*GOALS, []])
    failure = None
    for name in parser.parse_args().sets or list(GOALS):
        kept = {**previous_rows("policies_cost", HEADER), name: measure(name)}
        try:
            report("policies_cost", HEADER, [kept[each] for each in GOALS if each in kept])
            failure = None
        except SystemExit as error:  # the other sets are run all the same
            failure = error
    return None if failure is None else str(failure)


if __name__ == "__main__":
    sys.exit(main())
