"""Arrays that are not a forest are refused, and whatever passes the checks is a forest."""

from __future__ import annotations

import copy
import subprocess
import sys

import numpy as np
import pytest
from forests import CODES, LINKS, Shape, draw_forest, leaves_and_used
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from thrifty.errors import BundleError
from thrifty.model import Forest
from thrifty.model.forest.nodes import (
    CATEGORICAL,
    INDEX,
    MISSING_LEFT,
    NODE,
    audit_forest,
    empty_nodes,
    is_leaf,
)


def test_a_node_is_a_record_of_16_bytes():
    assert NODE.itemsize == 16
    assert NODE.names == ("threshold", "child", "feature")


def test_empty_nodes_are_leaves_that_send_every_value_to_themselves():
    nodes = empty_nodes(4)
    assert is_leaf(nodes).all()
    assert np.isposinf(nodes["threshold"]).all() and (nodes["feature"] == MISSING_LEFT).all()
    nodes[1] = (0.5, 2, 7)
    assert is_leaf(nodes).tolist() == [True, False, True, True]


def state(link="softmax", seed=0, **changes):
    """Return plain values and writable arrays of a sound forest."""
    forest = draw_forest(np.random.default_rng(seed), Shape.of(link, **changes))
    plain, arrays = forest.state()
    return dict(plain), {name: array.copy() for name, array in arrays.items()}


def first_split(arrays, categorical=False):
    """Return the first split, on a category or not."""
    marked = (arrays["nodes"]["feature"] & CATEGORICAL) != 0
    return int(np.flatnonzero(~is_leaf(arrays["nodes"]) & (marked == categorical))[0])


def set_node(field, value, where=first_split):
    """Damage one field of the node that `where` finds."""

    def damage(plain, arrays):
        place = where(arrays)
        arrays["nodes"][field][place] = value(arrays, place) if callable(value) else value

    return damage


def set_plain(name, value):
    return lambda plain, arrays: plain.update({name: value})


def set_array(name, change):
    return lambda plain, arrays: arrays.update({name: change(arrays[name])})


def first_leaf(arrays):
    return int(np.flatnonzero(is_leaf(arrays["nodes"]))[0])


def first_category(arrays):
    return first_split(arrays, categorical=True)


def last_root(arrays):
    return int(arrays["roots"][-1])


def put(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def share_children(plain, arrays):
    """Give two splits of one tree the same children."""
    nodes, ends = arrays["nodes"], arrays["roots"][1:]
    split = np.flatnonzero(~is_leaf(nodes))
    tree = np.searchsorted(ends, split, side="right")
    pair = int(np.flatnonzero(tree[1:] == tree[:-1])[0])
    nodes["child"][split[pair]] = nodes["child"][split[pair + 1]]


DAMAGES = {
    "no link": (lambda plain, arrays: plain.pop("link"), "entries .'link', 'n_features'."),
    "more entries": (set_plain("more", 1), "entries .'link', 'n_features'."),
    "strange link": (set_plain("link", "cubic"), "unknown link 'cubic'"),
    "no features": (set_plain("n_features", 0), "n_features is 0"),
    "negative features": (set_plain("n_features", -3), "n_features is -3"),
    "features as text": (set_plain("n_features", "7"), "n_features is '7'"),
    "features as truth": (set_plain("n_features", True), "n_features is True"),
    "fractional features": (set_plain("n_features", 7.0), r"n_features is 7\.0"),
    "too many features": (set_plain("n_features", INDEX + 1), "n_features is"),
    "no nodes": (lambda plain, arrays: arrays.pop("nodes"), "expected the arrays"),
    "more arrays": (lambda p, arrays: arrays.update(more=np.zeros(1)), "expected the arrays"),
    "nodes of two dimensions": (set_array("nodes", lambda a: a[None]), "nodes must be 1-d"),
    "single precision": (set_array("values", lambda a: a.astype("<f4")), "values must be 2-d"),
    "flat values": (set_array("values", lambda a: a[:, 0]), "values must be 2-d"),
    "big-endian base": (set_array("base", lambda a: a.astype(">f8")), "base must be 1-d"),
    "short roots": (set_array("roots", lambda a: a.astype("<i4")), "roots must be 1-d"),
    "signed subsets": (set_array("subsets", lambda a: a.astype("<i8")), "subsets must be 2-d"),
    "missing values": (set_array("values", lambda a: a[:-1]), "values have shape"),
    "too wide values": (set_array("values", lambda a: np.hstack([a, a])), "values have shape"),
    "no outputs": (set_array("base", lambda a: a[:0]), "does not go with 0 outputs"),
    "one class": (set_array("base", lambda a: a[:1]), "'softmax' does not go with 1 outputs"),
    "wrong sum": (set_plain("link", "sum"), "'sum' does not go with 3 outputs"),
    "wrong sigmoid": (set_plain("link", "sigmoid"), "'sigmoid' does not go with 3 outputs"),
    "narrow mean": (set_plain("link", "mean"), "needs a value for each output"),
    "narrow vote": (set_plain("link", "vote"), "needs a value for each output"),
    "outputs and roots": (set_array("outputs", lambda a: a[:-1]), "roots and outputs differ"),
    "output too large": (set_array("outputs", lambda a: put(a, 0, 3)), "does not exist"),
    "negative output": (set_array("outputs", lambda a: put(a, 0, -1)), "does not exist"),
    "short subsets": (set_array("subsets", lambda a: a[:, :3].copy()), "256 bits"),
    "infinite value": (set_array("values", lambda a: put(a, (0, 0), np.inf)), "must be finite"),
    "NaN value": (set_array("values", lambda a: put(a, (3, 0), np.nan)), "must be finite"),
    "infinite base": (set_array("base", lambda a: put(a, 1, -np.inf)), "must be finite"),
    "late start": (set_array("roots", lambda a: put(a, 0, 1)), "roots must start at 0"),
    "negative root": (set_array("roots", lambda a: put(a, 0, -1)), "roots must start at 0"),
    "equal roots": (set_array("roots", lambda a: put(a, 1, 0)), "roots must start at 0"),
    "falling roots": (set_array("roots", lambda a: put(a, 2, 1)), "roots must start at 0"),
    "root too large": (set_array("roots", lambda a: put(a, -1, 10**6)), "roots must start at 0"),
    "child before": (set_node("child", -5), "a child lies before its parent"),
    "child of the last": (
        set_node("child", lambda arrays, place: len(arrays["nodes"]) - 1, last_root),
        "a child lies before its parent",
    ),
    "child in another tree": (
        set_node("child", lambda arrays, place: arrays["roots"][1]),
        "a child lies before its parent or outside its tree",
    ),
    "huge child": (set_node("child", 2**31 - 2), "a child lies before its parent"),
    "two parents": (share_children, "every node but a root must have one parent"),
    "feature beyond": (set_node("feature", 7), "beyond the 7 of the table"),
    "negative feature": (set_node("feature", -1), "beyond the 7 of the table"),
    "sign of a feature": (set_node("feature", -(2**31)), "beyond the 7 of the table"),
    "infinite threshold": (set_node("threshold", np.inf), "thresholds must be finite"),
    "NaN threshold": (set_node("threshold", np.nan), "thresholds must be finite"),
    "NaN subset": (set_node("threshold", np.nan, first_category), "thresholds must be finite"),
    "subset beyond": (set_node("threshold", 1e6, first_category), "subset that does not exist"),
    "negative subset": (set_node("threshold", -1.0, first_category), "subset that does not exist"),
    "half a subset": (set_node("threshold", 0.5, first_category), "subset that does not exist"),
    "no subsets": (set_array("subsets", lambda a: a[:0]), "subset that does not exist"),
    "leaf with a feature": (set_node("feature", 1, first_leaf), "a leaf must not ask"),
    "leaf with a category": (
        set_node("feature", MISSING_LEFT | CATEGORICAL, first_leaf), "a leaf must not ask",
    ),
    "leaf with a threshold": (set_node("threshold", 0.0, first_leaf), "a leaf must not ask"),
    "leaf with NaN": (set_node("threshold", np.nan, first_leaf), "a leaf must not ask"),
    "split made a leaf": (
        set_node("child", lambda arrays, place: place), "one parent|a leaf must not ask",
    ),
    "no roots": (
        lambda plain, arrays: arrays.update(roots=arrays["roots"][:0], outputs=arrays["roots"][:0]),
        "roots must start at 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_refused(name):
    damage, message = DAMAGES[name]
    plain, arrays = state()
    damage(plain, arrays)
    with pytest.raises(BundleError, match=message):
        Forest.build(plain, arrays)


@pytest.mark.parametrize("link", LINKS)
def test_a_sound_forest_is_not_refused(link):
    plain, arrays = state(link)
    audit_forest(plain, arrays)
    assert Forest.build(plain, arrays).link == link


@pytest.mark.parametrize("link", [[], {}, [["sum"]]])
def test_a_link_that_is_not_a_string_is_refused(link):
    plain, arrays = state()
    with pytest.raises(BundleError, match="link"):
        Forest.build({**plain, "link": link}, arrays)


CODES_FROM_NUMBERS = """
import numpy as np
from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.errors import ThriftyError
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, empty_nodes

nodes = empty_nodes(3)
nodes[0] = (0.0, 1, CATEGORICAL)
zero = np.zeros(1, np.int64)
forest = Forest(nodes, np.arange(3.0)[:, None], zero, zero, np.zeros(1), "sum", 1,
                np.full((1, 4), 1, np.uint64))
X = np.array([[0.0], [3.0], [256.0], [-1.0], [1e15]])
try:
    model = Predictor(forest, Schema.of(X), Prices().bind(1))
except ThriftyError:
    raise SystemExit(0)
walked = []
for x in X[:, 0].tolist():
    walk = model.walk()
    walk.tell({0: x})
    walked.append(walk.answer)
assert model.predict(X).tolist() == walked
"""


def test_a_split_by_category_on_a_column_of_numbers_is_refused_or_harmless():
    # In a process of its own, which reading out of bounds may end.
    subprocess.run(
        [sys.executable, "-c", CODES_FROM_NUMBERS], check=True, timeout=60, capture_output=True
    )


def test_all_problems_of_a_kind_are_reported_at_once():
    plain, arrays = state()
    arrays["base"][0] = np.nan
    arrays["outputs"][0] = 9
    with pytest.raises(BundleError, match=r"2 problems[\s\S]*does not exist[\s\S]*finite"):
        Forest.build(plain, arrays)


EDGES = [-(2**31), -1, 63, 64, 10**6, CATEGORICAL, MISSING_LEFT, 2**31 - 1]
WHOLE = st.one_of(st.sampled_from(EDGES), st.integers(0, 50))
REALS = st.one_of(
    st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -1.0, 0.5, 1.0, 3.0, 1e308, -1e308]),
    st.floats(width=64),
)


@st.composite
def mutated(draw):
    """Draw a sound forest with a few entries changed, or arrays cut."""
    plain, arrays = state(draw(st.sampled_from(LINKS)), draw(st.integers(0, 5)), trees=4, depth=3)
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(["nodes", *arrays, "plain"]))
        if name == "plain":
            plain["n_features"] = draw(st.integers(-1, 12))
            plain["link"] = draw(st.sampled_from(LINKS))
        elif draw(st.booleans()) and draw(st.booleans()):
            arrays[name] = arrays[name][: draw(st.integers(0, len(arrays[name])))]
        elif arrays[name].size:
            mutate(draw, arrays[name])
    return plain, arrays


def mutate(draw, array):
    """Change one entry of an array to another value of its type."""
    place = draw(st.integers(0, array.size - 1))
    if array.dtype.names:
        field = draw(st.sampled_from(array.dtype.names))
        array = array[field]
    if array.dtype.kind == "f":
        array.flat[place] = draw(REALS)
    elif array.dtype.kind == "u":
        array.flat[place] = draw(st.integers(0, 2**64 - 1))
    elif draw(st.booleans()):
        array.flat[place] = array.flat[draw(st.integers(0, array.size - 1))]
    else:
        array.flat[place] = draw(WHOLE)


@settings(max_examples=300)
@given(mutated())
def test_what_is_built_from_mutated_arrays_is_a_forest_all_the_same(changed):
    plain, arrays = changed
    kept = copy.deepcopy(arrays)
    try:
        forest = Forest.build(plain, arrays)
    except BundleError:
        return
    for name, array in kept.items():
        np.testing.assert_array_equal(arrays[name], array)
    assert_batch_and_walk_agree(forest)


def assert_batch_and_walk_agree(forest):
    # Codes on every column: only the schema knows which columns hold them, not the forest.
    rng = np.random.default_rng(0)
    X = rng.integers(0, CODES, size=(5, forest.n_features)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    leaves, used = leaves_and_used(forest, X)
    np.testing.assert_array_equal(forest.leaves(X), leaves)
    np.testing.assert_array_equal(forest.used(X), used)
    with np.errstate(all="ignore"):  # finite values may still have an infinite sum
        scores = forest.score(X)
        for i, x in enumerate(X):
            walk = forest.walk()
            for _ in range(forest.n_features):
                walk.tell({j: float(x[j]) for j in walk.asks})
            assert walk.asks == ()
            assert set(walk.touched) == set(np.flatnonzero(used[i]).tolist())
            np.testing.assert_array_equal(walk.scores, np.atleast_1d(scores[i]))


def test_enough_mutations_are_built():
    built = []

    @settings(max_examples=100)
    @given(mutated())
    def build(changed):
        assume(changed)
        try:
            built.append(Forest.build(*changed))
        except BundleError:
            built.append(None)

    build()
    share = sum(forest is not None for forest in built) / len(built)
    assert 0.1 < share < 0.9
