"""CPU time of every kernel; with a folder, divided by that of the kernels of another checkout.

    python3 dev.py bench kernels                        times of these kernels
    .venv/bin/python benchmarks/kernels.py OTHER/src    ratios: these kernels / those of OTHER

Kernels are called the way the library calls them, with warm caches. The two checkouts take turns,
each in a process of its own, and the least time of each counts. The table in the documentation
compares with the last version that was compiled by Numba.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report
from _sklearn_forest import freeze

TURNS = 3
HERE = Path(__file__).resolve()
OWN_SOURCE = HERE.parent.parent / "src"
Case = tuple[str, Callable[[], object]]


def boosted_trees() -> Iterator[Case]:
    """Yield cases of binning, growing and following boosted trees."""
    from thrifty import Prices
    from thrifty.kernels.binned_descent import follow
    from thrifty.learn.binned import Binned
    from thrifty.learn.boosting.grower import Grower
    from thrifty.learn.purchases import Purchases

    def grower(n, d, charge="model", weighted=False, levels=0, missing=0.0):
        random = np.random.default_rng(0)
        X = random.normal(size=(n, d))
        categorical = np.arange(d) < (d // 2 if levels else 0)
        X[:, categorical] = random.integers(0, levels or 1, size=(n, int(categorical.sum())))
        X[random.random((n, d)) < missing] = np.nan
        y = np.nan_to_num(X[:, -1] * X[:, -2] + X[:, 0]) + random.normal(size=n)
        prices = Prices([1.0] * d, groups={"g": [0, 1, 2]}, shared={"g": 1.0}).bind(d)
        binned = Binned.of(X, categorical, np.random.RandomState(0))
        weight = random.uniform(0.5, 2.0, n) if weighted else None
        purchases = Purchases(prices, n, charge)
        made = Grower(binned, purchases, penalty=1e-6, max_depth=4, weight=weight)
        return made, y, X, categorical

    made, y, X, categorical = grower(45_000, 50)
    yield "bin 45k x 50", lambda: Binned.of(X, categorical, np.random.RandomState(0))
    yield "boosted tree, 45k x 50", lambda: made.grow(y)
    tree = made.grow(y)
    parts = [part.copy() for part in (tree.left, tree.feature, tree.goes_left)]
    used, news = np.zeros((45_000, 50), dtype=np.uint8), np.empty(45_001, dtype=np.int64)
    leaves, bins = np.empty(45_000, dtype=np.int64), made.binned.bins
    yield "follow a boosted tree, 45k rows", lambda: follow(bins, *parts, leaves, used, news)
    yield "leaf values, 45k rows", lambda: made.add(made.values(y, None, 1.0), np.zeros(45_000))
    for label, settings in {
        "boosted tree, 45k x 50, rows pay": {"charge": "example"},
        "boosted tree, 45k x 50, weights": {"weighted": True},
        "boosted tree, 45k x 50, 20% missing": {"missing": 0.2},
    }.items():
        other, z, *_ = grower(45_000, 50, **settings)
        yield label, lambda other=other, z=z: other.grow(z)
    for n, d, levels in ((20_000, 20, 200), (500, 10, 0), (200, 400, 0)):
        other, z, *_ = grower(n, d, levels=levels)
        label = f"boosted tree, {n} x {d}" + (", half categories" if levels else "")
        yield label, lambda other=other, z=z: other.grow(z)


def budget_forests() -> Iterator[Case]:
    """Yield cases of growing deep trees."""
    from thrifty import BudgetForestClassifier, Powers, ThresholdPairs

    random = np.random.default_rng(0)

    def fit(X, y, trees=3, **settings):
        model = BudgetForestClassifier(n_estimators=trees, random_state=0, **settings)
        return lambda: model.fit(X, y)

    X = random.normal(size=(20_000, 50))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=len(X))
    yield "deep trees, 20k x 50, 2 classes", fit(X, signal > 0)
    many = np.digitize(signal, [-2, -1, -0.3, 0.3, 1, 2])
    yield "deep trees, 20k x 50, 7 classes", fit(X, many)
    yield "deep trees, 20k x 50, alpha 4", fit(X, signal > 0, impurity=ThresholdPairs(4))
    yield "deep trees, 20k x 50, powers", fit(X[:4000], many[:4000], impurity=Powers(2.0))
    yield "deep trees, 20k x 50, expected", fit(X, signal > 0, splits="expected")
    yield "deep trees, 20k x 50, stumps", fit(X, signal > 0, splits="stumps")
    yield "deep trees, 500 x 20", fit(X[:500, :20], signal[:500] > 0, trees=20)


def scoring() -> Iterator[Case]:
    """Yield cases of scoring frozen forests."""
    from sklearn.ensemble import RandomForestClassifier

    from thrifty import short_circuit  # noqa: F401  (both checkouts have it)
    from thrifty.model import ShortCircuit

    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 50))
    y = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=len(X)) > 0
    forest = freeze(RandomForestClassifier(40, random_state=0).fit(X, y), 50)
    for dtype in (np.float32, np.float64):
        table = X.astype(dtype)
        name = np.dtype(dtype).name
        yield f"score a forest, {name}", lambda table=table: forest.score(table)
        yield f"score with bills, {name}", lambda table=table: forest.score_and_used(table)
    yield "leaves of a forest", lambda: forest.leaves(X)
    yield "score one row, 100 times", lambda: [forest.score(X[:1]) for _ in range(100)]
    stopped = ShortCircuit.of(forest)
    yield "short circuit, 2k rows", lambda: stopped.score(X[:2000])


def other_models() -> Iterator[Case]:
    """Yield cases of neighbors, kernel values and ranking."""
    from thrifty import MarginNeighborsClassifier
    from thrifty.kernels.lambdarank import lambda_gradients
    from thrifty.model.products import dot_products, squared_distances, weighted_sums

    random = np.random.default_rng(0)
    X = random.normal(size=(5_000, 16))
    y = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=len(X)) > 0
    for classes, target in ((2, y), (4, (2 * y + (X[:, 3] > 0)).astype(int))):
        model = MarginNeighborsClassifier(n_neighbors=100, threshold=0.95, random_state=0)
        model.fit(X, target)
        label = f"neighbors, 5k x 16, {classes} classes, 200 rows"
        yield label, lambda model=model: model.predict(X[:200])
    rows, vectors = random.normal(size=(2_000, 40)), random.normal(size=(500, 40))
    yield "squared distances, 2k x 500 x 40", lambda: squared_distances(rows, vectors)
    yield "dot products, 2k x 500 x 40", lambda: dot_products(rows, vectors)
    values, start = dot_products(rows, vectors), np.zeros(10)
    weights = random.normal(size=(500, 10))
    yield "weighted sums, 2k x 500 x 10", lambda: weighted_sums(values, weights, start)
    yield (
        "squared distances, 1 row, 100 times",
        lambda: [squared_distances(rows[:1], vectors) for _ in range(100)],
    )
    scores, gains = random.normal(size=20_000), 2.0 ** random.integers(0, 5, 20_000) - 1.0
    starts, out = np.arange(0, 20_001, 100), np.empty((2, 20_000))
    scale = np.ones(200)
    yield (
        "gradients of ranking, 20k rows",
        lambda: lambda_gradients(scores, gains, starts, scale, *out),
    )


def pruning() -> Iterator[Case]:
    """Yield cases of building and solving closure problems."""
    from pruning import make, path, solve_dual

    problem = make(4_000, 30, 20, 1.0)
    yield "pruning problem, 4k rows, 20 trees", lambda: make(4_000, 30, 20, 1.0)
    yield "best pruning, one penalty", lambda: problem.solve(0.003)
    yield "all prunings", lambda: path(problem)
    yield "primal-dual, 30 steps", lambda: solve_dual(problem, 0.003, 30)


GROUPS = (boosted_trees, budget_forests, scoring, other_models, pruning)


def measure(group: str) -> dict[str, float]:
    """Return the least CPU seconds of each case of a group, in this process."""
    times = {}
    for label, run in next(made for made in GROUPS if made.__name__ == group)():
        run()  # fills caches, and compiles in versions that do
        start = time.process_time()
        run()
        once = max(time.process_time() - start, 1e-6)
        repeat, best = max(1, int(0.1 / once)), float("inf")
        for _ in range(5):
            start = time.process_time()
            for _ in range(repeat):
                run()
            best = min(best, (time.process_time() - start) / repeat)
        times[label] = best
    return times


def measure_in(source: Path, group: str) -> dict[str, float]:
    """Return what `measure` finds in a process that imports Thrifty from `source`."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, str(HERE), "--measure", group]
    return json.loads(subprocess.check_output(command, env=environment, text=True))


def main(arguments: list[str]) -> None:
    """Measure all groups, in turns with the other checkout if there is one."""
    if arguments[:1] == ["--measure"]:
        print(json.dumps(measure(arguments[1])))
        return
    sources = {"these": OWN_SOURCE} | ({"other": Path(arguments[0])} if arguments else {})
    rows = []
    for group in GROUPS:
        turns = {name: [] for name in sources}
        for _ in range(TURNS if arguments else 1):
            for name, source in sources.items():
                turns[name].append(measure_in(source, group.__name__))
        for label in turns["these"][0]:
            best = {name: min(turn[label] for turn in some) for name, some in turns.items()}
            ratio = f"{best['these'] / best['other']:.2f}" if arguments else ""
            rows.append((label, f"{1000 * best['these']:.3g}", ratio))
    if arguments:
        report("kernels", ("kernel", "CPU ms", "Cython / Numba", "limit"),
               [(*row, "<= 1.05") for row in rows])  # fmt: skip
    else:
        for label, milliseconds, _ in rows:
            print(f"{label:<45} {milliseconds:>8} ms")


if __name__ == "__main__":
    main(sys.argv[1:])
