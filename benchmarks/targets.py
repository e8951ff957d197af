"""BudgetClassifier compared with existing tools on 13 data sets, with one protocol.

Figures are test accuracies within 5, 10, 25, 50 and 100 % of the full price, and the area: accuracy
as a step function of log(budget) from 2 % to 100 %, divided by log 50. The point for each budget is
chosen on the validation set. Splits are 60/20/20, stratified and seeded (data sets with a test set
of their own keep it, the rest is split 75/25; covertype is split 36603/15688/58101).

The figures of the peers were measured earlier, with the same protocol on other splits: LightGBM's
two cost penalties, CatBoost's first-use penalty, plain boosting on the cheapest features and on the
best gain per price, small random forests and pystreed; pooled, with the choice on the validation
set. Only their means over the seeds are known, so "level" means within one standard error of our
mean. The CPU time of training all learners is given as a multiple of one plain boosted fit with
early stopping on the same rows: scikit-learn's HistGradientBoosting, and LightGBM's.

    python benchmarks/targets.py [SET ...]
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
from _harness import RESULTS, report
from sklearn.model_selection import train_test_split

from thrifty import BudgetClassifier, Prices
from thrifty.data import load
from thrifty.frontier.curve import area
from thrifty.frontier.evaluate import score_together

SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
# Area of all peers pooled, and of a ladder of ten rungs with one threshold: means, in points.
PEERS = {
    "heart": (78.1, 79.8),
    "thyroid": (94.7, 94.6),
    "pima": (68.3, 69.4),
    "hepatitis": (81.6, 84.7),
    "letter": (72.7, 74.6),
    "satellite": (76.4, 74.8),
    "magic": (75.4, 76.0),
    "pageblocks": (94.1, 94.1),
    "covertype": (79.6, 78.3),
    "mfeat": (85.2, 77.4),
    "dna": (94.1, 93.7),
    "ionosphere": (84.7, 87.3),
    "wbcd": (90.1, 90.2),
}
HEADER = (
    "data set", *(f"{100 * share:g} %" for share in SHARES), "area", "error", "pooled peers",
    "prototype", "verdict", "CPU / HistGB fit", "CPU / LightGBM fit",
)  # fmt: skip
SEEDS = {"covertype": 2, "dna": 2}
COVERTYPE = (36603, 15688, 58101)


def table(name):
    """Return a data set and its labels, in two classes for letter and pageblocks."""
    found = load(name)
    y = found.y
    if name == "letter":
        y = (y > 12).astype(int)
    elif name == "pageblocks":
        y = (y > 0).astype(int)
    return found, y


def split(found, y, seed):
    """Return the indices of the training, validation and test rows."""
    rows = np.arange(len(y))
    if found.name == "covertype":
        rows = np.random.default_rng(seed).permutation(len(y))[: sum(COVERTYPE)]
        return np.split(rows, np.cumsum(COVERTYPE)[:2])
    if found.split is not None:
        rest, test = rows[found.split == "train"], rows[found.split == "test"]
    else:
        rest, test = train_test_split(rows, test_size=0.2, stratify=y, random_state=seed)
    # A class with few rows cannot be in every part: its rows are drawn with the largest class.
    counts = np.bincount(y[rest])
    strata = np.where(counts[y[rest]] < 5, counts.argmax(), y[rest])
    train, validation = train_test_split(rest, test_size=0.25, stratify=strata, random_state=seed)
    return train, validation, test


def plain_seconds(train, validation):
    """Return the CPU times of a plain boosted fit with early stopping: scikit-learn, LightGBM."""
    import lightgbm
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, Xv = _codes(train[0]), _codes(validation[0])
    quiet = lightgbm.early_stopping(20, verbose=False)
    baselines = (
        (HistGradientBoostingClassifier(max_iter=500, early_stopping=True, n_iter_no_change=20),
         {"X_val": Xv, "y_val": validation[1]}),
        (lightgbm.LGBMClassifier(n_estimators=500, num_leaves=31, verbose=-1, n_jobs=1),
         {"eval_X": Xv, "eval_y": validation[1], "callbacks": [quiet]}),
    )  # fmt: skip
    seconds = []
    for model, validation_arguments in baselines:
        start = time.process_time()
        model.fit(X, train[1], **validation_arguments)
        seconds.append(time.process_time() - start)
    return np.array(seconds)


def _codes(X):
    return X.apply(lambda column: column.astype("category").cat.codes
                   if column.dtype == object else column).to_numpy(dtype=float)  # fmt: skip


def run(name, seed):
    """Return test accuracies at the shares, the area, and CPU times as multiples of plain fits."""
    found, y = table(name)
    train, validation, test = ((found.X.iloc[rows], y[rows]) for rows in split(found, y, seed))
    start = time.process_time()
    model = BudgetClassifier(found.prices, confidence=None, random_state=seed)
    model.fit(*train, validation=validation)
    cpu = time.process_time() - start
    return *evaluate(model, test), cpu / plain_seconds(train, validation)


def warm_up():
    """Compile, and import what reads data frames, before time is measured."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=["a", "b", "c"])
    for y in (X["a"] > 0, np.digitize(X["a"], [-0.5, 0.5])):
        prices = Prices({"a": 1.0, "b": 2.0, "c": 1.0}, groups={"ab": ["a", "b"]})
        BudgetClassifier(prices).fit(X, np.asarray(y))
        plain_seconds((X, np.asarray(y)), (X, np.asarray(y)))


def evaluate(model, test):
    """Return the test accuracy at each share and the area, of points chosen on validation."""
    curve = model.frontier_
    bills = sorted({0.0, *(point.bill for point in curve.points if point.bill <= curve.full)})
    along = [curve.choose(bill) for bill in bills]
    within = [curve.choose(share * curve.full) for share in SHARES]
    points = list({id(point): point for point in (*along, *within)}.values())
    X = points[0].model.schema.encode(test[0])
    known = {}
    # Ladders share rungs, which are evaluated once for all of them.
    for k, scores, _ in score_together([point.model.model for point in points], X):
        labels = points[k].model.classes[scores.argmax(axis=1)]
        known[id(points[k])] = 100 * np.mean(labels == test[1])
    accuracies, steps = ([known[id(point)] for point in some] for some in (within, along))
    return accuracies, area(bills, steps, curve.full)


def main():
    """Run the data sets named as arguments, or all; the table keeps its rows of the others."""
    parser = argparse.ArgumentParser(description="BudgetClassifier against existing tools.")
    parser.add_argument("sets", nargs="*", choices=[*PEERS, []])
    arguments = parser.parse_args()
    warm_up()
    for name in arguments.sets or PEERS:
        runs = [run(name, seed) for seed in range(SEEDS.get(name, 5))]
        rows = {**previous_rows(), name: summarize(name, runs)}
        report("targets", HEADER, [rows[each] for each in PEERS if each in rows])


def previous_rows():
    """Return the rows of the table on file, by data set."""
    file = RESULTS / "targets.csv"
    if not file.exists():
        return {}
    with file.open(newline="") as lines:
        header, *rows = csv.reader(lines)
    return {row[0]: row for row in rows} if tuple(header) == HEADER else {}


def summarize(name, runs):
    """Return one row of the table."""
    accuracies = np.mean([found[0] for found in runs], axis=0)
    areas = np.array([found[1] for found in runs])
    error = areas.std(ddof=1) / np.sqrt(len(areas)) if len(areas) > 1 else float("nan")
    pooled, prototype = PEERS[name]
    gap = areas.mean() - pooled
    verdict = "level" if abs(gap) <= error else ("ahead" if gap > 0 else "behind")
    cpu = np.median([found[2] for found in runs], axis=0)
    return [name, *(f"{value:.1f}" for value in accuracies), f"{areas.mean():.1f}", f"{error:.1f}",
            pooled, prototype, verdict, *(f"{ratio:.1f}" for ratio in cpu)]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
