"""What a short circuit saves: mean bills, and its time relative to that of the whole forest.

The data sets are those in THRIFTY_DATA if there are any, else those that ship with scikit-learn.
Models are trained on half of the rows, and the other half is billed; the predicted classes must be
the same.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report, take_turns
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from thrifty import Prices, data
from thrifty.errors import DataError
from thrifty.learn.adopt import adopt
from thrifty.learn.short_circuit import short_circuit

SETS = ("heart", "pima", "thyroid", "satellite", "pageblocks", "magic")
MOST_ROWS, WALKS = 6_000, 100


def main():
    """Measure 40 deep trees, and 100 boosted ones (100 / K rounds if there are K > 2 classes)."""
    rows = []
    for name, X, y, prices in tables():
        half = len(X) // 2
        classes = len(np.unique(y))
        rounds = 100 if classes == 2 else max(100 // classes, 1)
        models = {
            "40 deep trees": RandomForestClassifier(40, n_jobs=1, random_state=0),
            "100 boosted trees": HistGradientBoostingClassifier(max_iter=rounds, max_depth=4),
        }
        for label, model in models.items():
            whole = adopt(model.fit(X[:half], y[:half]), prices=prices)
            rows.append((f"{name}, {label}", *measure(whole, X[:half], X[half:])))
    report(
        "short_circuit",
        ("model", "whole bill", "share, own order", "share, chosen order", "share, without rows",
         "time / whole", "walk, us per value"),
        rows,
    )  # fmt: skip


def measure(whole, train, test):
    """Return the mean bill of the whole forest, the shares that short circuits pay, and times."""
    chosen, alone = short_circuit(whole, train), short_circuit(whole)
    plain = chosen.model.reordered(np.arange(len(chosen.model.order)))
    full = whole.bill(test)
    for quick in (chosen, alone):
        assert np.array_equal(quick.predict(test), whole.predict(test))
        assert (quick.bill(test) <= full).all()
    encoded = whole.schema.encode(np.resize(test, (20_000, test.shape[1])))
    times = take_turns(
        {
            "whole": lambda: whole.model.score_and_used(encoded),
            "quick": lambda: chosen.model.score_and_used(encoded),
        }
    )
    examples = [dict(enumerate(row)) for row in test[:WALKS].tolist()]
    n_values = sum(walk(chosen, example) for example in examples)
    walks = take_turns({"walk": lambda: [walk(chosen, example) for example in examples]})
    bills = (whole.prices.bill(plain.used(test)), chosen.bill(test), alone.bill(test))
    return (
        f"{full.mean():.2f}",
        *(f"{bill.mean() / full.mean():.3f}" for bill in bills),
        f"{times['quick'] / times['whole']:.1f}",
        f"{walks['walk'] / n_values * 1e6:.0f}",
    )


def walk(predictor, example):
    """Walk one example with one value per step; return how many values it took."""
    current, n_values = predictor.walk(), 0
    while current.asks:
        current.tell({feature: example[feature] for feature in current.asks})
        n_values += 1
    return n_values


def tables():
    """Yield name, rows in random order, labels and prices of each data set."""
    rng = np.random.default_rng(0)
    for name, X, y, prices in sources():
        order = rng.permutation(len(X))[:MOST_ROWS]
        yield name, np.nan_to_num(X[order]), y[order], prices


def sources():
    """Yield name, rows, labels and prices of each data set."""
    try:
        available = data.names()
    except DataError:
        available = ()
    for name in (name for name in SETS if name in available):
        table = data.load(name)
        own = table.prices.bind(list(table.X.columns))
        yield name, table.X.to_numpy(np.float64), np.asarray(table.y), by_position(own)
    if not available:
        for load in (load_breast_cancer, load_wine, load_digits):
            X, y = load(return_X_y=True)
            yield load.__name__.removeprefix("load_"), X, y, None


def by_position(bound):
    """Return the prices for a table without column names."""
    groups = {
        name: np.flatnonzero(bound.group == g).tolist() for g, name in enumerate(bound.group_names)
    }
    shared = dict(zip(bound.group_names, bound.shared.tolist(), strict=True))
    return Prices(bound.own.tolist(), groups=groups, shared=shared, unit=bound.unit)


if __name__ == "__main__":
    main()
