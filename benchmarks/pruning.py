"""Pruning a forest: the whole path beside one cut, one cut beside a general max-flow.

`pruning.py` measures the ratios, `pruning.py growth` how time and memory grow, and
`pruning.py large` a size for a large machine. ortools is a rival here and nothing else needs it;
without it its row is left out.
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
from thrifty.learn.pruning.closure_problem import Pruning, node_gains
from thrifty.learn.pruning.primal_dual import solve_dual

HERE = Path(__file__).resolve()
# Rows that tell errors and as many that pay, features, trees, share of features tried at a split.
USUAL = (20_000, 50, 40, 1.0)
LARGE = (50_000, 519, 140, 0.05)
SIZES = {
    "rows": [(rows, 50, 40, 1.0) for rows in (5_000, 10_000, 20_000)],
    "trees": [(10_000, 50, trees, 1.0) for trees in (10, 20, 40)],
    "features": [(10_000, features, 40, 1.0) for features in (25, 50, 100)],
}
# ortools adds capacities up: they must leave room below 2^63.
BITS = 44


def make(rows, features, trees, tried, seed=0):
    """The closure problem of full trees on half of the rows, paid for by the other half."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * rows, features))
    X[:, 10:] += 0.7 * X[:, rng.integers(0, 10, features - 10)]
    bent = X[:, 3:10].sum(axis=1) * np.where(X[:, 0] > 0, 1.0, 0.3)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + bent + 0.5 * rng.normal(size=len(X)) > 0).astype(np.int64)
    theirs = RandomForestClassifier(trees, max_features=tried, n_jobs=-1, random_state=seed)
    forest = adopt_forest(theirs.fit(X[:rows], y[:rows]))
    prices = Prices(rng.integers(1, 20, features).tolist()).bind(features)
    gain, unit = node_gains(forest, X[:rows], y[:rows])
    return Pruning.of(forest, gain, unit, X[rows:], prices)


def path(pruning):
    """All breakpoints, from nothing."""
    return all_closures(pruning.parent, pruning.first, pruning.head, pruning.worth, pruning.cost)


def middle(pruning, rates):
    """A penalty at which about half of the splits are kept."""
    inner = rates[: len(pruning.parent)] * (pruning.worth_unit / pruning.cost_unit)
    return float(np.median(inner)) * 1.0001


def warm_up():
    """Compile before the clock runs."""
    small = make(200, 12, 4, 1.0)
    path(small), small.solve(0.01), solve_dual(small, 0.01, 2)


def peak():
    """Most memory that this process has held, in GB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e9
    raise OSError("no VmHWM in /proc/self/status")


def graph(pruning, penalty):
    """The same cut between a source and a sink, and the worth of all that could be kept."""
    splits, nodes = len(pruning.parent), len(pruning.worth)
    total = int(np.maximum(pruning.worth, 0).sum())
    fine = 2.0 ** (BITS - total.bit_length())
    rate = penalty * (pruning.cost_unit / pruning.worth_unit)
    weight = np.rint((pruning.worth - rate * pruning.cost) * fine).astype(np.int64)
    gives, takes = np.flatnonzero(weight > 0), np.flatnonzero(weight < 0)
    kids = np.flatnonzero(pruning.parent >= 0)
    owner = np.repeat(np.arange(splits), np.diff(pruning.first))
    most = int(weight[gives].sum())
    tail = np.concatenate([np.full(len(gives), nodes), takes, kids, owner])
    head = np.concatenate(
        [gives, np.full(len(takes), nodes + 1), pruning.parent[kids], pruning.head + splits]
    )
    room = np.concatenate([weight[gives], -weight[takes], np.full(len(kids) + len(owner), most)])
    arcs = {"tail": tail.astype(np.int32), "head": head.astype(np.int32), "room": room}
    return arcs | {"ends": np.array([nodes, nodes + 1])}, most, pruning.worth_unit / fine


def beside_ortools(pruning, penalty, turns=5):
    """Least CPU times of one cut and of ortools, in turns; both must find the same worth."""
    best = pruning.value(pruning.solve(penalty), penalty)
    arcs, most, unit = graph(pruning, penalty)
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.npz"
        np.savez(file, **arcs)
        for _ in range(turns):
            ours += take_turns({"cut": lambda: pruning.solve(penalty)}, turns=1).values()
            found = child(HERE.with_name("_general_max_flow.py"), file)
            np.testing.assert_allclose((most - found["flow"]) * unit, best, rtol=1e-4)
            theirs.append(found["seconds"])
    return min(ours), min(theirs)


def child(*arguments):
    """What another process prints last."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def compare():
    """The ratios of one run."""
    warm_up()
    pruning = make(*USUAL)
    rates = path(pruning)
    memory, penalty = peak(), middle(pruning, rates)
    rivals = {"path": lambda: path(pruning), "cut": lambda: pruning.solve(penalty)}
    times = take_turns(rivals, turns=3)
    # One turn is enough for the slowest, whose steps are all alike.
    start = time.process_time()
    near = solve_dual(pruning, penalty)
    times["primal-dual"] = time.process_time() - start
    best = pruning.value(pruning.solve(penalty), penalty)
    splits, pays = len(pruning.parent), len(pruning.cost) - len(pruning.parent)
    rows = [
        ("splits, pay nodes, arcs", f"{splits}, {pays}, {len(pruning.head)}", ""),
        ("breakpoints", len(np.unique(rates)), ""),
        ("one cut, CPU s", f"{times['cut']:.2f}", ""),
        ("whole path / one cut", f"{times['path'] / times['cut']:.2f}", "<= 8"),
        ("whole path / primal-dual", f"{times['path'] / times['primal-dual']:.2f}", "<= 1"),
        ("gap of the primal-dual", f"{near.gap / best:.4f}, {near.iterations} steps", ""),
        ("peak memory, GB", f"{memory:.2f}", "<= 1"),
    ]
    if importlib.util.find_spec("ortools"):
        ours, theirs = beside_ortools(pruning, penalty)
        rows.append(("ortools / one cut", f"{theirs / ours:.2f}", ">= 1.5"))
    report("pruning", ("40 full trees, 20k rows, 50 features", "found", "limit"), rows)


def measure(rows, features, trees, tried):
    """One size, alone in its process: what the table of `growth` shows."""
    warm_up()
    pruning = make(rows, features, trees, tried)
    start = time.process_time()
    rates = path(pruning)
    end = time.process_time()
    memory, penalty = peak(), middle(pruning, rates)
    cut = min(take_turns({"cut": lambda: pruning.solve(penalty)}, turns=2).values())
    return (
        rows, features, trees, len(pruning.parent), len(pruning.cost) - len(pruning.parent),
        len(pruning.head), len(np.unique(rates)), f"{cut:.2f}", f"{end - start:.2f}",
        f"{memory:.2f}",
    )  # fmt: skip


HEADER = (
    "rows", "features", "trees", "splits", "pay nodes", "arcs", "breakpoints", "cut, CPU s",
    "path, CPU s", "peak GB",
)  # fmt: skip


def growth():
    """Time and memory against rows, trees and features."""
    found = {size: None for sizes in SIZES.values() for size in sizes}
    for size in found:
        found[size] = child(HERE, "size", *size)
    rows = [(what, *found[size]) for what, sizes in SIZES.items() for size in sizes]
    report("pruning_growth", ("against", *HEADER), rows)


def large():
    """The stretch size: the whole path within 6 GB."""
    report("pruning_large", HEADER, [child(HERE, "size", *LARGE)])


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
