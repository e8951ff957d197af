"""Our own time in a walk, from its start to its prediction, per value.

Ladders: points of one BudgetClassifier on a synthetic task, a plain ladder, its branches and its
policies at mean bills of 3 to 7, one value at a time; and the time per value divided by that of the
plain ladder.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report, take_turns

from thrifty import BudgetClassifier, GreedyMiserClassifier, Prices
from thrifty.data import context_blocks, switched_logits

WALKS = 300
BILLS = (3, 4, 5, 6, 7)
# Limits on the time per value, divided by that of the plain ladder.
KINDS = {"ladder": "", "branches": "<= 1.5", "policy": ""}
TASKS = {
    "Syn1": lambda seed: switched_logits("syn1", 10_000, seed),
    "Syn3": lambda seed: switched_logits("syn3", 10_000, seed),
    "context": lambda seed: context_blocks(6000, seed),
}


def main():
    """Measure 100 trees of depth 4 on 10, 20 and 50 features, then ladders."""
    rows = [measure(d) for d in (10, 20, 50)]
    report(
        "walking", ("microseconds per value", "all values at once", "one at a time", "limit"), rows
    )
    rows = [row for task in TASKS for row in measure_ladders(task)]
    header = ("task", "kind", "values", "microseconds per value", "ratio", "limit")
    report("walking_ladders", header, rows)


def measure_ladders(task, seed=300):
    """Return a row for each kind of ladder."""
    found = TASKS[task](seed)
    curve = BudgetClassifier(confidence=None, random_state=seed).fit(found.X, found.y).frontier_
    names = curve.points[0].model.schema.names
    examples = [dict(zip(names, row, strict=True)) for row in np.asarray(found.X)[:WALKS].tolist()]
    models = {}
    for kind in KINDS:
        points = [point for point in curve.points if point.knob.get("kind") == kind]
        if points:
            models[kind] = [
                min(points, key=lambda point, bill=bill: abs(point.bill - bill)).model
                for bill in BILLS
            ]

    def walk_with(kind):
        return lambda: [walk_one(model, each) for model in models[kind] for each in examples]

    counts = {kind: sum(walk_with(kind)()) for kind in models}
    times = take_turns({kind: walk_with(kind) for kind in models}, turns=5)
    each = {kind: times[kind] / counts[kind] * 1e6 for kind in models}
    return [
        (task, kind, f"{counts[kind] / WALKS / len(BILLS):.1f}", f"{each[kind]:.1f}",
         f"{each[kind] / each['ladder']:.2f}", KINDS[kind])
        for kind in models
    ]  # fmt: skip


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
