"""Pruning a forest: the whole path compared with one cut, and one cut with a general max-flow.

`pruning.py` measures the ratios, `pruning.py growth` how time and memory grow, and
`pruning.py large` one large problem. Only the comparison with the max-flow solver needs ortools;
without it, its row is left out.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report, take_turns
from sklearn.ensemble import RandomForestClassifier

from thrifty import Prices
from thrifty.kernels.closure.path import all_closures
from thrifty.learn.adopt import adopt_forest
from thrifty.learn.pruning.closure_problem import ClosureProblem, node_gains
from thrifty.learn.pruning.primal_dual import solve_dual

HERE = Path(__file__).resolve()
# Rows on which errors are counted and as many that pay, features, trees, share of features tried at
# a split.
USUAL = (20_000, 50, 40, 1.0)
LARGE = (50_000, 519, 140, 0.05)
SIZES = {
    "rows": [(rows, 50, 40, 1.0) for rows in (5_000, 10_000, 20_000)],
    "trees": [(10_000, 50, trees, 1.0) for trees in (10, 20, 40)],
    "features": [(10_000, features, 40, 1.0) for features in (25, 50, 100)],
}
# Sums of capacities in ortools must stay below 2^63.
BITS = 44


def make(rows, features, trees, tried, seed=0):
    """Return the closure problem of full trees on half of the rows; the other half pays."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * rows, features))
    X[:, 10:] += 0.7 * X[:, rng.integers(0, 10, features - 10)]
    interaction = X[:, 3:10].sum(axis=1) * np.where(X[:, 0] > 0, 1.0, 0.3)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + interaction
    y = (signal + 0.5 * rng.normal(size=len(X)) > 0).astype(np.int64)
    full_trees = RandomForestClassifier(trees, max_features=tried, n_jobs=-1, random_state=seed)
    forest = adopt_forest(full_trees.fit(X[:rows], y[:rows]))
    prices = Prices(rng.integers(1, 20, features).tolist()).bind(features)
    gain, unit = node_gains(forest, X[:rows], y[:rows])
    return ClosureProblem.of(forest, gain, unit, X[rows:], prices)


def path(problem):
    """Compute the whole path; return the rate from which on each node is left out."""
    return all_closures(problem.parent, problem.first, problem.head, problem.worth, problem.cost)


def middle(problem, rates):
    """Return a penalty at which about half of the splits are kept."""
    of_splits = rates[: len(problem.parent)] * (problem.worth_unit / problem.cost_unit)
    return float(np.median(of_splits)) * 1.0001


def warm_up():
    """Run everything once before time is measured."""
    small = make(200, 12, 4, 1.0)
    path(small), small.solve(0.01), solve_dual(small, 0.01, 2)


def peak():
    """Return the peak memory of this process, in GB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e9
    raise OSError("no VmHWM in /proc/self/status")


def graph(problem, penalty):
    """Return the cut as a flow network, the largest possible worth, and its unit."""
    splits, nodes = len(problem.parent), len(problem.worth)
    total = int(np.maximum(problem.worth, 0).sum())
    fine = 2.0 ** (BITS - total.bit_length())
    rate = penalty * (problem.cost_unit / problem.worth_unit)
    weight = np.rint((problem.worth - rate * problem.cost) * fine).astype(np.int64)
    positive, negative = np.flatnonzero(weight > 0), np.flatnonzero(weight < 0)
    children = np.flatnonzero(problem.parent >= 0)
    owner = np.repeat(np.arange(splits), np.diff(problem.first))
    most = int(weight[positive].sum())
    tail = np.concatenate([np.full(len(positive), nodes), negative, children, owner])
    head = np.concatenate(
        [
            positive,
            np.full(len(negative), nodes + 1),
            problem.parent[children],
            problem.head + splits,
        ]
    )
    unlimited = np.full(len(children) + len(owner), most)
    capacity = np.concatenate([weight[positive], -weight[negative], unlimited])
    arcs = {"tail": tail.astype(np.int32), "head": head.astype(np.int32), "capacity": capacity}
    return arcs | {"ends": np.array([nodes, nodes + 1])}, most, problem.worth_unit / fine


def compare_ortools(problem, penalty, turns=5):
    """Return the least CPU times of one cut and of ortools; both must find the same worth."""
    best = problem.value(problem.solve(penalty), penalty)
    arcs, most, unit = graph(problem, penalty)
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.npz"
        np.savez(file, **arcs)
        for _ in range(turns):
            ours += take_turns({"cut": lambda: problem.solve(penalty)}, turns=1).values()
            found = run_process(HERE.with_name("_general_max_flow.py"), file)
            np.testing.assert_allclose((most - found["flow"]) * unit, best, rtol=1e-4)
            theirs.append(found["seconds"])
    return min(ours), min(theirs)


def run_process(*arguments):
    """Run a script in a new process and return what it prints last."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def compare():
    """Measure the ratios in one run."""
    warm_up()
    problem = make(*USUAL)
    rates = path(problem)
    memory, penalty = peak(), middle(problem, rates)
    candidates = {"path": lambda: path(problem), "cut": lambda: problem.solve(penalty)}
    times = take_turns(candidates, turns=3)
    # One turn is enough for the slowest, which has many equal steps.
    start = time.process_time()
    approximation = solve_dual(problem, penalty)
    times["primal-dual"] = time.process_time() - start
    best = problem.value(problem.solve(penalty), penalty)
    splits, pays = len(problem.parent), len(problem.cost) - len(problem.parent)
    rows = [
        ("splits, pay nodes, arcs", f"{splits}, {pays}, {len(problem.head)}", ""),
        ("breakpoints", len(np.unique(rates)), ""),
        ("one cut, CPU s", f"{times['cut']:.2f}", ""),
        ("whole path / one cut", f"{times['path'] / times['cut']:.2f}", "<= 6"),
        ("whole path / primal-dual", f"{times['path'] / times['primal-dual']:.2f}", "<= 1"),
        (
            "gap of the primal-dual",
            f"{approximation.gap / best:.4f}, {approximation.iterations} steps",
            "",
        ),
        ("peak memory, GB", f"{memory:.2f}", "<= 1"),
    ]
    if importlib.util.find_spec("ortools"):
        ours, theirs = compare_ortools(problem, penalty)
        rows.append(("ortools / one cut", f"{theirs / ours:.2f}", ">= 1.5"))
    report("pruning", ("40 full trees, 20k rows, 50 features", "found", "limit"), rows)


def measure(rows, features, trees, tried):
    """Measure one size, in its own process; return a row of the table of `growth`."""
    warm_up()
    problem = make(rows, features, trees, tried)
    start = time.process_time()
    rates = path(problem)
    end = time.process_time()
    memory, penalty = peak(), middle(problem, rates)
    cut = min(take_turns({"cut": lambda: problem.solve(penalty)}, turns=2).values())
    return (
        rows, features, trees, len(problem.parent), len(problem.cost) - len(problem.parent),
        len(problem.head), len(np.unique(rates)), f"{cut:.2f}", f"{end - start:.2f}",
        f"{memory:.2f}",
    )  # fmt: skip


HEADER = (
    "rows", "features", "trees", "splits", "pay nodes", "arcs", "breakpoints", "cut, CPU s",
    "path, CPU s", "peak GB",
)  # fmt: skip


def growth():
    """Measure time and memory by the number of rows, trees and features."""
    found = {size: None for sizes in SIZES.values() for size in sizes}
    for size in found:
        found[size] = run_process(HERE, "size", *size)
    rows = [(varied, *found[size]) for varied, sizes in SIZES.items() for size in sizes]
    report("pruning_growth", ("varied", *HEADER), rows)


def large():
    """Measure one large problem, which must fit in 6 GB."""
    report("pruning_large", HEADER, [run_process(HERE, "size", *LARGE)])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["size", rows, features, trees, tried]:
            print(json.dumps(measure(int(rows), int(features), int(trees), float(tried))))
        case ["growth"]:
            growth()
        case ["large"]:
            large()
        case _:
            compare()
