"""What a short circuit saves: mean bills, and its time beside that of the whole forest.

Data sets of THRIFTY_DATA where there are some, else those that come with scikit-learn. Half of
the rows train, and the other half is billed; every predicted class is compared.
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
    """40 deep trees, and 100 boosted ones (100 / K rounds where there are K > 2 classes)."""
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
         "time / whole", "walk, us a value"),
        rows,
    )  # fmt: skip


def measure(whole, seen, held):
    """Mean bill of the whole forest, shares of it that short circuits pay, and times."""
    chosen, alone = short_circuit(whole, seen), short_circuit(whole)
    plain = chosen.model.reordered(np.arange(len(chosen.model.order)))
    full = whole.bill(held)
    for quick in (chosen, alone):
        assert np.array_equal(quick.predict(held), whole.predict(held))
        assert (quick.bill(held) <= full).all()
    encoded = whole.schema.encode(np.resize(held, (20_000, held.shape[1])))
    times = take_turns(
        {
            "whole": lambda: whole.model.score_and_used(encoded),
            "quick": lambda: chosen.model.score_and_used(encoded),
        }
    )
    examples = [dict(enumerate(row)) for row in held[:WALKS].tolist()]
    told = sum(walk(chosen, example) for example in examples)
    walks = take_turns({"walk": lambda: [walk(chosen, example) for example in examples]})
    bills = (whole.prices.bill(plain.used(held)), chosen.bill(held), alone.bill(held))
    return (
        f"{full.mean():.2f}",
        *(f"{bill.mean() / full.mean():.3f}" for bill in bills),
        f"{times['quick'] / times['whole']:.1f}",
        f"{walks['walk'] / told * 1e6:.0f}",
    )


def walk(predictor, example):
    """One example, told what it asks; how many values that were."""
    asking, told = predictor.walk(), 0
    while asking.asks:
        asking.tell({feature: example[feature] for feature in asking.asks})
        told += 1
    return told


def tables():
    """Name, rows, labels and prices of each data set, rows in random order."""
    rng = np.random.default_rng(0)
    for name, X, y, prices in found():
        order = rng.permutation(len(X))[:MOST_ROWS]
        yield name, np.nan_to_num(X[order]), y[order], prices


def found():
    try:
        here = data.names()
    except DataError:
        here = ()
    for name in (name for name in SETS if name in here):
        table = data.load(name)
        own = table.prices.bind(list(table.X.columns))
        yield name, table.X.to_numpy(np.float64), np.asarray(table.y), by_position(own)
    if not here:
        for load in (load_breast_cancer, load_wine, load_digits):
            X, y = load(return_X_y=True)
            yield load.__name__.removeprefix("load_"), X, y, None


def by_position(bound):
    """Prices of a table without names."""
    groups = {
        name: np.flatnonzero(bound.group == g).tolist() for g, name in enumerate(bound.group_names)
    }
    shared = dict(zip(bound.group_names, bound.shared.tolist(), strict=True))
    return Prices(bound.own.tolist(), groups=groups, shared=shared, unit=bound.unit)


if __name__ == "__main__":
    main()
