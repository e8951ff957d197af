"""Our own time in a walk, from its start to its prediction, per value."""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report, take_turns

from thrifty import GreedyMiserClassifier, Prices

WALKS = 300


def main():
    """Measure 100 trees of depth 4 on 10, 20 and 50 features."""
    rows = [measure(d) for d in (10, 20, 50)]
    report(
        "walking", ("microseconds per value", "all values at once", "one at a time", "limit"), rows
    )


def measure(d):
    """Return one row of the table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, d))
    y = X[:, 0] + X[:, 1] * X[:, 2] + X.sum(axis=1) + 2 * rng.normal(size=len(X)) > 0
    prices = Prices((rng.random(d) + 0.5).tolist())
    predictor = GreedyMiserClassifier(prices).fit(X, y).predictor_
    examples = [dict(enumerate(row)) for row in X[:WALKS].tolist()]
    n_values = sum(walk_one(predictor, example) for example in examples)

    def walk_with(walk):
        return lambda: [walk(predictor, example) for example in examples]

    times = take_turns({"one": walk_with(walk_one), "all": walk_with(walk_all)}, turns=9)
    each = [f"{times[name] / n_values * 1e6:.1f}" for name in ("all", "one")]
    return f"{d} features, {n_values / WALKS:.1f} values", *each, "<= 20"


def walk_one(predictor, example):
    """Give only the first value asked for, again and again; return how many it took."""
    walk, n_values = predictor.walk(), 0
    while walk.asks:
        feature = walk.asks[0]
        walk.tell({feature: example[feature]})
        n_values += 1
    assert walk.answer is not None
    return n_values


def walk_all(predictor, example):
    """Give all values asked for at once."""
    walk = predictor.walk()
    while walk.asks:
        walk.tell({feature: example[feature] for feature in walk.asks})
    assert walk.answer is not None


if __name__ == "__main__":
    main()
