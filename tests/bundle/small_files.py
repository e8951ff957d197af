"""Small model files that are made to take much time or memory.

Run as a program, it loads each file that it is given in a process of its own, lets the model
predict one row, and prints the outcome, the seconds of the processor and the megabytes taken.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from thrifty.bundle import load
from thrifty.bundle.archive import _zip, array_entry, pack_array, seal
from thrifty.errors import BundleError
from thrifty.model.forest.nodes import empty_nodes

SMALL: dict[str, tuple[str, Callable[[], bytes]]] = {}
"""Name of each file, with what must become of it, and a function that makes it."""


def small(name: str, outcome: str) -> Callable[[Callable[[], bytes]], Callable[[], bytes]]:
    def add(make: Callable[[], bytes]) -> Callable[[], bytes]:
        SMALL[name] = outcome, make
        return make

    return add


def pack(header: dict[str, Any] | bytes, arrays: dict[str, Any]) -> bytes:
    """Pack a header and arrays as small as possible, as no honest writer would."""
    entries, members = {}, {}
    for name, array in arrays.items():
        data = pack_array(np.asarray(array))
        members[f"arrays/{name}.npy"] = data
        entries[name] = array_entry(np.asarray(array), data)
    if isinstance(header, dict):
        header = json.dumps({**header, "arrays": entries}, separators=(",", ":")).encode()
    return seal(_zip({"header.json": header, **members}, zipfile.ZIP_DEFLATED, 9))


def prices(d: int, **more: Any) -> dict[str, Any]:
    return {
        "names": None, "own": [1] * d, "group": [-1] * d, "shared": [], "group_names": [],
        "evaluation": 0, "calls": {}, "unit": "", **more,
    }  # fmt: skip


def header(kind: str, model: dict[str, Any], d: int = 1, n_classes: int = 0, **more: Any):
    labels = {"type": "int", "labels": list(range(n_classes))}
    columns = [{"name": j, "categories": None} for j in range(d)]
    return {
        "thrifty": 1, "needs": "0.1", "kind": kind, "model": model,
        "schema": {"named": False, "columns": columns}, "classes": labels if n_classes else None,
        "prices": prices(d), "knob": None, "provenance": None, **more,
    }  # fmt: skip


def plain_forest(link: str, d: int = 1) -> dict[str, Any]:
    return {"link": link, "n_features": d}


def part(kind: str, model: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "model": model}


def forest(k: int, trees: int = 0, width: int | None = None, at: str = "") -> dict[str, Any]:
    """The arrays of trees without splits, whose k outputs are 0."""
    arrays = {
        "nodes": empty_nodes(trees), "values": np.zeros((trees, k if width is None else width)),
        "roots": np.arange(trees), "outputs": np.zeros(trees, dtype=np.int64), "base": np.zeros(k),
        "subsets": np.zeros((0, 4), dtype=np.uint64),
    }  # fmt: skip
    return {f"{at}{name}": array for name, array in arrays.items()}


def deep_tree(size: int, at: str = "") -> dict[str, Any]:
    """The arrays of one tree that reads another feature at each of its nodes, one below another."""
    nodes = empty_nodes(size)
    for k in range(0, size - 2, 2):
        nodes[k] = (0.0, k + 1, k // 2)
    arrays = forest(1, size, at=at)
    return {**arrays, f"{at}nodes": nodes, f"{at}roots": [0], f"{at}outputs": [0]}


# --- headers -------------------------------------------------------------------


@small("a header of 8 MB in 8 kB", "refused")
def _():
    return pack(b"[" + b"[]," * 2_700_000 + b"[]]", {})


@small("a header of a megabyte of lists", "refused")
def _():
    return pack(b"[" + b"[]," * 345_000 + b"[]]", {})


@small("a header of a megabyte of tables", "refused")
def _():
    return pack(b'{"thrifty":1,"a":[' + b'{"a":{}},' * 110_000 + b"{}]}", {})


@small("a header of a megabyte of numbers", "refused")
def _():
    return pack(b"[" + b"1," * 500_000 + b"1]", {})


@small("20,000 parts side by side", "refused")
def _():
    return pack(header("gate", {"limit": 0, "parts": [part("gate", {"limit": 0})] * 19_000}), {})


@small("parts within parts", "refused")
def _():
    parts: list[Any] = []
    for _ in range(7):
        parts = [part("gate", {"limit": 0, "parts": parts})] * 4
    return pack(header("gate", {"limit": 0, "parts": parts}), {})


@small("one long label among many", "refused")
def _():
    labels = ["x" * 10_000, *(f"{k:x}" for k in range(4000))]
    head = header("forest", plain_forest("softmax"))
    return pack({**head, "classes": {"type": "str", "labels": labels}}, forest(4001))


@small("a chain of 1,500 requirements", "refused")
def _():
    chain = [[j, j - 1] for j in range(1, 1500)]
    head = header("forest", plain_forest("sum", 1500), 1500)
    return pack({**head, "prices": prices(1500, requires=chain)}, forest(1))


@small("a panel of 2,000 features", "loaded")
def _():
    head = header("forest", plain_forest("sum", 2000), 2000)
    return pack({**head, "prices": prices(2000, panels=[list(range(2000))])}, forest(1))


@small("2,000 currencies", "loaded")
def _():
    amounts = {"own": [1] * 100, "shared": [], "evaluation": 0, "calls": {}}
    head = header("forest", plain_forest("sum", 100), 100)
    return pack({**head, "prices": prices(100, also={f"{k:x}": amounts for k in range(2000)})},
                forest(1))  # fmt: skip


# --- forests -------------------------------------------------------------------


@small("a vote for a million classes", "refused")
def _():
    return pack(header("forest", plain_forest("vote"), n_classes=2), forest(1_000_000))


@small("a vote for 4,000 classes", "loaded")
def _():
    return pack(header("forest", plain_forest("vote"), n_classes=4000), forest(4000, 9))


@small("a leaf gate over 1.9 million outputs", "refused")
def _():
    model = {"parts": [part("forest", plain_forest("mean"))], "slope": 1}
    return pack(header("leaf-gate", model), forest(1_900_000, at="0/"))


@small("1,200 trees for 4,000 outputs", "loaded")
def _():
    head = header("short-circuit", {**plain_forest("softmax"), "tolerance": 0}, n_classes=4000)
    return pack(head, {**forest(4000, 1200, width=1), "order": np.arange(1200)})


@small("400,000 subsets", "loaded")
def _():
    subsets = np.full((400_000, 4), 2**64 - 1, dtype=np.uint64)
    return pack(header("forest", plain_forest("sum")), {**forest(1), "subsets": subsets})


@small("a tree of 1,200 features", "loaded")
def _():
    return pack(header("forest", plain_forest("sum", 1200), 1200), deep_tree(2401))


@small("a linear node that reads a tree 300,000 times", "refused")
def _():
    m = 300_000
    model = {"link": "sum", "n_features": 1, "parts": [part("forest", plain_forest("sum"))]}
    own = {
        "left": [-1], "right": [-1], "starts": [0, m], "slots": np.zeros(m, dtype=np.int64),
        "route": np.zeros(m), "threshold": [0.0], "weights": np.zeros((m, 1)), "bias": [[0.0]],
    }  # fmt: skip
    trees = deep_tree(1001, "0/")
    trees["0/nodes"]["feature"] &= 1 << 30
    return pack(header("linear-tree", model), {**own, **trees})


# --- other kinds ---------------------------------------------------------------


@small("the pairs of 1,000 classes", "loaded")
def _():
    pairs = 1000 * 999 // 2
    model = {"kernel": "rbf", "parameters": {"gamma": 1}, "n_classes": 1000, "n_features": 1}
    arrays = {
        "vectors": np.zeros((0, 1)), "coefficients": np.zeros((0, pairs)),
        "intercepts": np.zeros(pairs), "slopes": np.ones(pairs), "columns": [0], "codes": [-1],
        "centers": [0.0], "scales": [1.0], "fills": [0.0],
    }  # fmt: skip
    return pack(header("support", model, n_classes=1000), arrays)


def neighbors(n: int, c: int) -> bytes:
    arrays = {
        "rows": np.zeros((n, 1)), "labels": np.zeros(n, dtype=np.int64), "category": [False],
        "unit": [0.0], "toll": [0.0], "group": [-1], "entry": np.zeros(0), "order": [0],
        "offset": np.zeros(c), "center": [0.0], "slope": np.zeros((1, c)), "starts": [0, 0],
        "edges": np.zeros(0), "steps": np.zeros((1, c)), "absent": np.zeros((1, c)),
    }  # fmt: skip
    model = {"k": 1, "threshold": 2.0, "adaptive": True}
    return pack(header("neighbors", model, n_classes=c), arrays)


@small("400,000 neighbors of 3,000 classes", "refused")
def _():
    return neighbors(400_000, 3000)


@small("300,000 neighbors of 20 classes", "loaded")
def _():
    return neighbors(300_000, 20)


def gaussians(n_classes: int, d: int) -> bytes:
    arrays = {
        "places": np.zeros((n_classes, d)), "labels": np.arange(n_classes), "center": np.zeros(d),
        "unit": np.ones(d), "toll": np.zeros(d), "group": np.full(d, -1), "entry": np.zeros(0),
        "order": np.arange(d),
    }  # fmt: skip
    model = {"ridge": 0.5, "threshold": 0.9}
    return pack(header("local-gaussians", model, d, n_classes), arrays)


@small("local gaussians of 2,000 classes", "refused")
def _():
    return gaussians(2000, 1)


@small("local gaussians of 512 classes", "loaded")
def _():
    return gaussians(512, 2)


def policy(items: int, d: int, groups: int) -> bytes:
    parts = [part("forest", plain_forest("sigmoid", d)), part("forest", plain_forest("softmax", d))]
    model = {"parts": parts, "cost_weight": 0.0, "cap": None, "first": -1}
    arrays = {
        **forest(1, at="0/"), **forest(items, at="1/"), "item": np.zeros(d, dtype=np.int64),
        "own": np.ones(items), "group": np.full(items, -1), "shared": np.zeros(groups),
        "known": np.zeros(d, dtype=bool),
    }  # fmt: skip
    return pack(header("policy", model, d, 2), arrays)


@small("a policy of 16,000 items of 2,000 features", "refused")
def _():
    return policy(16_000, 2000, 0)


@small("a policy of 2,500 items", "loaded")
def _():
    return policy(2500, 2500, 0)


@small("a policy of a million groups", "refused")
def _():
    return policy(3, 3, 1_000_000)


@small("500 devices for 1,000 classes", "loaded")
def _():
    n, k = 500, 1000
    arrays = {
        "starts": np.arange(n + 1), "gate": np.zeros(n), "offsets": np.zeros(n),
        "weights": np.zeros((n, k)), "bias": np.zeros((n, k)), "base": np.zeros(k),
        "columns": np.arange(n), "codes": np.full(n, -1), "centers": np.zeros(n),
        "scales": np.ones(n), "fills": np.zeros(n),
    }  # fmt: skip
    model = {"activation": "step", "limit": 0, "n_features": n}
    return pack(header("mixture", model, n, k), arrays)


# --- measuring -----------------------------------------------------------------


def try_out(path: str) -> str:
    """Load a file and let the model predict one row, in every way."""
    try:
        predictor = load(path)
    except BundleError:
        return "refused"
    row = np.zeros((1, len(predictor.schema)))
    predictor.model.score(row)
    predictor.bill(row)
    walk = predictor.walk()
    walk.scores  # noqa: B018
    walk.tell(dict.fromkeys(walk.asks, 0.0))
    return "loaded"


def measure(path: str) -> tuple[str, float, float]:
    """Return the outcome of a new process, its seconds, and by how many megabytes it grew."""
    receiver, sender = os.pipe()
    if not os.fork():
        before = resource.getrusage(resource.RUSAGE_SELF)
        try:
            outcome = try_out(path)
        except BaseException as error:
            outcome = repr(error)
        after = resource.getrusage(resource.RUSAGE_SELF)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        unit = 2**20 if sys.platform == "darwin" else 2**10
        grown = (after.ru_maxrss - before.ru_maxrss) / unit
        os.write(sender, json.dumps([outcome, seconds, grown]).encode())
        os._exit(0)
    os.close(sender)
    with open(receiver, "rb") as answer:
        found = json.loads(answer.read() or b'["killed", 0, 0]')
    os.wait()
    return found


if __name__ == "__main__":
    print(json.dumps([measure(path) for path in sys.argv[1:]]))
