"""Frozen models: read-only arrays, copies, and models inside a model."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from forests import Shape, draw_forest, draw_table

from thrifty.errors import BundleError
from thrifty.model import Blend, Forest, OneVsRest, ShortCircuit
from thrifty.model.base import MAX_DEPTH, pack, sealed, shared_parts, unpack


def test_a_sealed_array_is_a_contiguous_view_that_cannot_be_written_to():
    array = np.arange(6.0).reshape(2, 3)
    view = sealed(array)
    assert np.shares_memory(view, array) and array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 0.0
    turned = sealed(array.T)
    assert turned.flags.c_contiguous and not turned.flags.writeable
    np.testing.assert_array_equal(turned, array.T)


def test_a_table_must_have_the_columns_of_the_model():
    model = Forest.constant([0.0], "sum", n_features=3)
    model.check_columns(np.zeros((0, 3)))
    for X in (np.zeros((2, 4)), np.zeros(3)):
        with pytest.raises(ValueError, match="the model reads 3 columns, got shape"):
            model.check_columns(X)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_of_any_model_is_built_anew_and_predicts_the_same(copied):
    rng, shape = np.random.default_rng(1), Shape.of("sigmoid")
    forests, X = [draw_forest(rng, shape) for _ in range(3)], draw_table(rng, shape)
    quick = ShortCircuit.of(forests[0])
    blend = Blend.of(*forests[:2], keys=[1, 4], share=0.5)
    for model in (forests[0], quick, blend, OneVsRest.of(forests)):
        again = copied(model)
        assert type(again) is type(model)
        np.testing.assert_array_equal(again.score(X), model.score(X))
    assert not copied(quick).order.flags.writeable and not copied(blend).keys.flags.writeable


def test_parts_come_back_to_the_bit():
    rng, shape = np.random.default_rng(0), Shape.of("softmax")
    parts = [draw_forest(rng, shape), draw_forest(rng, shape)]
    X = draw_table(rng, shape)
    for part, read in zip(parts, unpack(*pack(parts)), strict=True):
        np.testing.assert_array_equal(part.score(X), read.score(X))


def test_no_parts_are_no_parts():
    assert unpack(*pack([])) == []


@pytest.mark.parametrize("name", ["nodes", "2/nodes", "01/nodes", "-1/nodes", "²/nodes"])
def test_an_array_of_no_part_is_refused(name):
    plains, arrays = pack([draw_forest(np.random.default_rng(0), Shape.of("sum"))] * 2)
    with pytest.raises(BundleError, match="belong to no part"):
        unpack(plains, {**arrays, name: np.zeros(1)})


@pytest.mark.parametrize(
    "plains", [None, {}, [1], [{"kind": "forest"}], [{"kind": 1, "model": {}}]]
)
def test_parts_that_are_not_described_are_refused(plains):
    with pytest.raises(BundleError, match="not described"):
        unpack(plains, {})


def test_an_unknown_kind_is_refused():
    with pytest.raises(BundleError, match="no model of kind 'oracle'"):
        unpack([{"kind": "oracle", "model": {}}], {})


def test_deep_nesting_is_refused_before_it_is_followed():
    plains: list = []
    for _ in range(MAX_DEPTH + 2):
        plains = [{"kind": "one-vs-rest", "model": {"parts": plains}}]
    with pytest.raises(BundleError, match="deep"):
        unpack(plains, {})


def test_equal_parts_are_built_once_where_they_are_shared():
    one, other = (draw_forest(np.random.default_rng(k), Shape.of("sigmoid")) for k in range(2))
    plains, arrays = pack([OneVsRest.of([one] * 3), one])
    with shared_parts(max_bytes=10**6):
        machine, forest = unpack(plains, arrays)
        assert len({id(part) for part in machine.parts}) == 1 and machine.parts[0] is forest
        assert unpack(*pack([other]))[0] is not forest
    assert len({id(part) for part in unpack(plains, arrays)[0].parts}) == 3


def test_parts_with_other_plain_values_are_not_equal():
    plains, arrays = pack([Forest.constant([0.5], "sum", n_features=k) for k in (3, 4)])
    same = {name: arrays["0/" + name.partition("/")[2]] for name in arrays}
    with shared_parts(max_bytes=10**6):
        assert [part.n_features for part in unpack(plains, same)] == [3, 4]
