"""Boosted trees with prices compared with LightGBM's cost penalties; then two threads with one.

Squared loss, depth 4, 255 bins, learning rate 0.1, one thread each. LightGBM has no groups, so its
coupled penalty gets the same price per feature without shared prices; its lazy penalty is compared
with prices charged per example.
"""

from __future__ import annotations

import os
import time

os.environ["OMP_NUM_THREADS"] = "1"

import lightgbm as lgb
import numpy as np
from _harness import report, take_turns

from thrifty import GreedyMiserRegressor, Prices, threads
from thrifty.learn.binned import Binned

PENALTY = 1e-5


def make_table(n, d):
    """Return normal columns, a nonlinear target, and prices with ten groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * X[:, :20] @ rng.normal(size=20)
    own = rng.choice([1.0, 5.0, 10.0, 20.0], d)
    groups = {f"g{g}": list(range(g, d, 20)) for g in range(10)}
    shared = {name: float(rng.choice([5.0, 10.0])) for name in groups}
    return X, y + rng.normal(size=n), Prices(own.tolist(), groups=groups, shared=shared)


def fit_thrifty(X, y, prices, trees, charge="model"):
    """Fit once, including binning."""
    model = GreedyMiserRegressor(
        prices, penalty=PENALTY, charge=charge, n_estimators=trees, random_state=0
    )
    return model.fit(X, y)


def fit_lightgbm(X, y, prices, trees, penalty="coupled"):
    """Fit once, including binning, with the same price per feature in LightGBM's units."""
    price = prices.bind(X.shape[1]).own * 2 * PENALTY
    if penalty == "coupled":
        price = price * len(X)
    settings = {
        "objective": "l2", "num_leaves": 16, "max_depth": 4, "learning_rate": 0.1,
        "min_data_in_leaf": 20, "num_threads": 1, "verbose": -1, "cegb_tradeoff": 1.0,
        f"cegb_penalty_feature_{penalty}": price.tolist(),
    }  # fmt: skip
    return lgb.train(settings, lgb.Dataset(X, y), trees)


def compare(label, n, d, trees, charge, penalty, limit, turns):
    """Return one row of the table: ratios of whole fits, and of the trees alone."""
    X, y, prices = make_table(n, d)
    categorical = np.zeros(d, dtype=bool)
    times = take_turns(
        {
            "ours": lambda: fit_thrifty(X, y, prices, trees, charge),
            "theirs": lambda: fit_lightgbm(X, y, prices, trees, penalty),
            "our bins": lambda: Binned.of(X, categorical, np.random.RandomState(0)),
            "their bins": lambda: lgb.Dataset(X, y, params={"verbose": -1}).construct(),
        },
        turns,
    )
    trees_ratio = (times["ours"] - times["our bins"]) / (times["theirs"] - times["their bins"])
    return label, f"{trees_ratio:.2f}", f"{times['ours'] / times['theirs']:.2f}", limit


def speed_up(label, n, d, trees, limit, turns):
    """Return the throughput of two threads over one, in wall time: the machine must be idle."""
    X, y, prices = make_table(n, d)

    def fit(count):
        with threads(count):
            fit_thrifty(X, y, prices, trees)

    times = take_turns({"one": lambda: fit(1), "two": lambda: fit(2)}, turns, time.perf_counter)
    return label, "", f"{times['one'] / times['two']:.2f}", limit


def path_speed_up(label, n, d, limit, turns):
    """Return the same for a path, whose two runs are trained in parallel."""
    X, y, prices = make_table(n, d)
    cut = n * 3 // 4

    def path(count):
        with threads(count):
            model = GreedyMiserRegressor(prices, n_estimators=30, random_state=0)
            list(model.path(X[:cut], y[:cut], validation=(X[cut:], y[cut:])))

    times = take_turns({"one": lambda: path(1), "two": lambda: path(2)}, turns, time.perf_counter)
    return label, "", f"{times['one'] / times['two']:.2f}", limit


def main():
    """Fit once for warm caches, then measure and write the table."""
    X, y, prices = make_table(300, 20)
    for charge in ("model", "example"):
        fit_thrifty(X, y, prices, 2, charge)
    small, large = "45k x 50, 100 trees", "141k x 519, 20 trees"
    rows = [
        compare(
            f"{small}, group prices / coupled", 45_000, 50, 100, "model", "coupled", "<= 0.60", 5
        ),
        compare(f"{small}, per example / lazy", 45_000, 50, 100, "example", "lazy", "", 3),
        compare(
            f"{large}, group prices / coupled", 141_000, 519, 20, "model", "coupled", "<= 0.65", 3
        ),
        speed_up(f"{large}, two threads / one, throughput", 141_000, 519, 20, ">= 1.6", 2),
        path_speed_up("45k x 50, path of 2 x 30 trees, two threads / one", 45_000, 50, "", 3),
        speed_up(f"{small}, two threads / one, throughput", 45_000, 50, 100, "", 5),
    ]
    report("boosting", ("fit", "trees alone", "ratio", "limit"), rows)


if __name__ == "__main__":
    main()
