"""A blend: each row gets one of two models, by a hash of features that every row buys."""

from __future__ import annotations

import numpy as np
import pytest
from face_laws import (
    assert_batch,
    rows_stay_within_bounds,
    state_is_the_values_told,
    values_arrive_in_any_order,
    walk_ends_like_the_batch,
)
from forests import Shape, draw_forest, draw_table
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema, load
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError
from thrifty.model import KINDS, Blend, Forest, ShortCircuit

SEEDS = st.integers(0, 2**32 - 1)
LINKS = st.sampled_from(["sum", "sigmoid", "softmax", "mean"])


def draw(seed, link="softmax", rows=30, share=None, dtype=np.float64):
    """Draw a blend of a forest and a short-circuited one, with some keys, and a table."""
    rng = np.random.default_rng(seed)
    shape = Shape.of(link, trees=5, depth=3)
    first = draw_forest(rng, shape)
    second = ShortCircuit.of(draw_forest(rng, shape))
    keys = np.flatnonzero(rng.random(shape.features) < 0.4)
    share = float(rng.random()) if share is None else share
    blend = Blend.of(first, second, keys, share, int(rng.integers(2**31)))
    return rng, blend, draw_table(rng, shape, rows=rows, dtype=dtype)


def finish(walk, x):
    """Tell the walk what it requests until it is done."""
    while walk.asks:
        walk.tell({j: float(x[j]) for j in walk.asks})
    return walk


@given(SEEDS, LINKS)
def test_each_row_gets_the_scores_of_its_model(seed, link) -> None:
    _, blend, X = draw(seed, link)
    second = blend.goes_second(X)
    for part, rows in ((blend.first, ~second), (blend.second, second)):
        np.testing.assert_array_equal(blend.score(X)[rows], part.score(X)[rows])
        np.testing.assert_array_equal(blend.evaluations(X)[rows], part.evaluations(X)[rows])
        used = part.used(X)
        used[:, blend.keys] = True
        np.testing.assert_array_equal(blend.used(X)[rows], used[rows])


@given(SEEDS, LINKS)
def test_a_walk_ends_like_the_batch(seed, link) -> None:
    walk_ends_like_the_batch(*draw(seed, link, rows=1))


@given(SEEDS, LINKS)
def test_no_feature_is_touched_twice(seed, link) -> None:
    _, blend, X = draw(seed, link, rows=1)
    walk = finish(blend.walk(), X[0])
    assert len(set(walk.touched)) == len(walk.touched)
    assert_batch(walk, blend, X)


@given(SEEDS, LINKS)
def test_values_may_arrive_in_any_order_and_unrequested(seed, link) -> None:
    values_arrive_in_any_order(*draw(seed, link, rows=1))


@given(SEEDS, LINKS)
def test_the_state_of_a_walk_is_the_set_of_values_told(seed, link) -> None:
    state_is_the_values_told(*draw(seed, link, rows=1))


def test_a_walk_asks_for_the_cheapest_key_first() -> None:
    _, blend, _ = draw(3)
    keys = blend.keys.tolist()
    walk = blend.walk(lambda feature: -float(feature))
    assert walk.asks == tuple(reversed(keys))
    assert walk.touched == () and walk.evaluations == 0
    walk.tell({keys[0]: 1.0})
    assert keys[0] not in walk.asks and walk.touched == (keys[0],)
    assert walk.scores.sum() == pytest.approx(1.0)


@given(SEEDS, LINKS)
def test_a_value_that_is_not_used_does_not_matter(seed, link) -> None:
    rng, blend, X = draw(seed, link)
    used = blend.used(X)
    other = np.where(used, X, rng.choice([np.nan, 3.0, 1e9], size=X.shape))
    other[:, :2] = np.where(used[:, :2], X[:, :2], np.nan)  # these columns hold codes
    np.testing.assert_array_equal(blend.score(other), blend.score(X))
    np.testing.assert_array_equal(blend.used(other), used)


@given(SEEDS)
def test_no_row_exceeds_the_support_and_the_most_evaluations(seed) -> None:
    _, blend, X = draw(seed, share=float(np.random.default_rng(seed).choice([0, 0.5, 1])))
    rows_stay_within_bounds(blend, X)


@pytest.mark.parametrize(("share", "part"), [(0.0, "first"), (1.0, "second")])
def test_a_share_of_0_or_1_is_one_part_plus_the_keys(share, part) -> None:
    _, blend, X = draw(1, share=share)
    model = getattr(blend, part)
    np.testing.assert_array_equal(blend.score(X), model.score(X))
    used = model.used(X)
    used[:, blend.keys] = True
    np.testing.assert_array_equal(blend.used(X), used)
    assert blend.most_evaluations == model.most_evaluations


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_about_the_share_of_the_rows_goes_second(share, seed) -> None:
    X = np.random.default_rng(0).normal(size=(20_000, 7))
    _, blend, _ = draw(0)
    again = Blend.of(blend.first, blend.second, [0, 4], share, seed)
    assert again.goes_second(X).mean() == pytest.approx(share, abs=0.012)


def test_a_larger_share_takes_no_row_back() -> None:
    _, blend, X = draw(5, rows=500)
    small, large = (
        Blend.of(blend.first, blend.second, blend.keys, share, 7) for share in (0.3, 0.6)
    )
    assert not np.any(small.goes_second(X) & ~large.goes_second(X))


def test_a_float32_table_is_scored_like_its_float64_values() -> None:
    _, blend, X = draw(9, rows=200, dtype=np.float32)
    np.testing.assert_array_equal(blend.score(X), blend.score(X.astype(np.float64)))
    np.testing.assert_array_equal(blend.used(X), blend.used(X.astype(np.float64)))


# --- files and mistakes ------------------------------------------------------


@pytest.mark.parametrize("link", ["sum", "softmax"])
def test_a_file_gives_back_the_same_model(link, tmp_path) -> None:
    _, blend, X = draw(4, link)
    assert KINDS["blend"] is Blend
    nested = Blend.of(blend, blend.first, blend.keys, 0.5)
    classes = None if link == "sum" else np.arange(blend.n_scores)
    predictor = Predictor(nested, Schema.of(np.zeros((2, 7))), Prices().bind(7), classes)
    predictor.save(tmp_path / "blend.thrifty")
    again = load(tmp_path / "blend.thrifty").model
    np.testing.assert_array_equal(again.score(X), nested.score(X))
    np.testing.assert_array_equal(again.used(X), nested.used(X))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("keys", np.array([1, 1]), "increasing"),
        ("keys", np.array([2, 1]), "increasing"),
        ("keys", np.array([[1]]), "increasing"),
        ("keys", np.array([0.0]), "increasing"),
        ("keys", np.array([7]), "from 0 to 6"),
        ("keys", np.array([-1, 3]), "from 0 to 6"),
        ("keys", None, "the array keys"),
        ("share", 1.5, "share is"),
        ("share", True, "share is"),
        ("share", None, "expected the entries"),
        ("seed", -1, "seed must be"),
        ("seed", 2**63, "seed must be"),
        ("seed", 1.0, "seed must be"),
        ("extra", 1, "expected the entries"),
        ("parts", [], "belong to no part"),
        ("parts", "two", "not described"),
        ("0/roots", np.array([5]), "forest"),
        ("1/order", np.zeros(5, dtype=np.int64), "each of the 5 trees once"),
    ],
)
def test_a_damaged_file_is_refused(name, value, message) -> None:
    plain, arrays = draw(2)[1].state()
    part = arrays if name in arrays else plain
    if value is None:
        del part[name]
    else:
        part[name] = value
    with pytest.raises(BundleError, match=message):
        Blend.build(plain, arrays)


def test_a_file_with_one_model_or_three_is_refused() -> None:
    plain, arrays = draw(2)[1].state()
    few = {name: array for name, array in arrays.items() if not name.startswith("1/")}
    with pytest.raises(BundleError, match="two models are needed, the file has 1"):
        Blend.build({**plain, "parts": plain["parts"][:1]}, few)
    third = {f"2/{name[2:]}": array for name, array in arrays.items() if name.startswith("0/")}
    with pytest.raises(BundleError, match="two models are needed, the file has 3"):
        Blend.build({**plain, "parts": [*plain["parts"], plain["parts"][0]]}, {**arrays, **third})


def test_models_that_do_not_fit_are_refused() -> None:
    _, blend, _ = draw(2)
    _, values, _ = draw(2, "sum")
    with pytest.raises(DataError, match=r"3 problems(?s:.*)n_scores: 3 and 1"):
        Blend.of(blend.first, values.first, [9], share=-1)


def test_a_table_of_other_width_is_refused() -> None:
    _, blend, _ = draw(2)
    with pytest.raises(ValueError, match="reads 7 columns"):
        blend.score(np.zeros((2, 4)))


def test_a_blend_without_keys_is_one_model() -> None:
    _, blend, X = draw(6)
    bare = Blend.of(blend.first, blend.second, [], 0.5)
    assert len(set(bare.goes_second(X).tolist())) == 1
    assert_batch(finish(bare.walk(), X[0]), bare, X[:1])
    assert isinstance(bare.first, Forest)
