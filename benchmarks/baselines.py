"""The plain models that a fit is compared with, next to LightGBM and scikit-learn.

All are trained on the same 80% of the rows and tested on the others, on all features; of covertype,
20,000 rows are drawn. LightGBM has its default parameters, scikit-learn's random forest 300 trees.
Plain boosting is tuned on a quarter of the training rows and refitted on all of them. The time is
the CPU time of one thread, tuning included.

    python benchmarks/baselines.py [SPLITS]
"""

from __future__ import annotations

import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import lightgbm as lgb
import numpy as np
from _harness import report
from sklearn.ensemble import RandomForestClassifier

from thrifty import GreedyMiserClassifier, data
from thrifty.frontier.baselines import PlainModels
from thrifty.frontier.fit_budget import split_table
from thrifty.frontier.scoring import find_metric
from thrifty.learn.dataset import TrainingSet

NAMES, MOST_ROWS, SPLITS = ("magic", "letter", "covertype", "pageblocks"), 20_000, 2


def read(name):
    """Return a data set, or a sample of it."""
    table = data.load(name)
    X, y = table.X, table.y
    if len(X) > MOST_ROWS:
        rows = np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False)
        X, y = X.iloc[rows], y[rows]
    return TrainingSet.read("classification", X, y)


def results(whole, seed):
    """Yield the name, test accuracy and CPU seconds of each model on one split."""
    parts = split_table(whole, random_state=seed)
    train = whole.sample(np.setdiff1d(np.arange(len(whole)), parts.test.positions))
    test = whole.hold_out(parts.test.positions, train.schema)
    others = {
        "LightGBM, defaults": lgb.LGBMClassifier(n_jobs=1, verbose=-1),
        "scikit-learn, random forest": RandomForestClassifier(300, n_jobs=1, random_state=seed),
    }
    for name, model in others.items():
        start = time.process_time()
        model.fit(train.X, train.y)
        yield name, np.mean(model.predict(test.X) == test.y), time.process_time() - start
    plain = PlainModels(
        GreedyMiserClassifier(random_state=seed), whole.prices, parts.train, parts.validation,
        train, test, find_metric(None, "classification"), seed,
    )  # fmt: skip
    start = time.process_time()
    for model in plain.within(budget=0.0):
        accuracy = np.mean(model.outputs.scores.argmax(axis=1) == test.y)
        yield model.name, accuracy, time.process_time() - start
        start = time.process_time()


def main(splits=SPLITS):
    """Report the mean accuracy and time over the splits."""
    rows = []
    for data_set in NAMES:
        whole, found = read(data_set), {}
        for seed in range(splits):
            for name, *figures in results(whole, seed):
                found.setdefault(name, []).append(figures)
        for name, each in found.items():
            accuracy, seconds = np.mean(each, axis=0)
            rows.append((data_set, name, f"{accuracy:.4f}", f"{seconds:.1f}"))
    report("baselines", ("data set", "model", "test accuracy", "CPU seconds"), rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
