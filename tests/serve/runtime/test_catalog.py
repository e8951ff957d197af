"""What can be bought where, and for how much."""

from __future__ import annotations

import pytest
from scripted import NAMES, chain_predictor, each

from thrifty.errors import DataError
from thrifty.serve import Runtime
from thrifty.serve.runtime.catalog import Catalog

GROUPED = {"groups": {"blood": ["chol", "fbs"]}, "shared": {"blood": 2.0}}


def catalog(*sources, given=(), **prices):
    return Catalog(chain_predictor(**prices), sources, given)


def quotes(found, *items, entered=()):
    return found.quote([found.by_item[item] for item in items], entered)


def test_a_shared_price_is_quoted_once_a_source():
    found = catalog(each("lab", "age", "chol", "fbs", "thal"), **GROUPED)
    assert quotes(found, "lab/chol", "lab/fbs") == [7.0, 3.0]
    assert quotes(found, "lab/fbs", entered={0}) == [3.0]
    assert quotes(found, "lab/age") == [1.0]


def test_what_is_sold_together_costs_all_of_it():
    lab = each("lab", "chol", "fbs", sold="together")
    found = catalog(lab, each("rest", "age", "thal"), **GROUPED)
    assert quotes(found, "lab") == [10.0]


def test_a_price_of_the_source_replaces_that_of_the_model():
    prices = {"chol": 5.0, "fbs": 4.0}
    with pytest.warns(UserWarning, match="'lab/fbs' costs CAD 4.00"):
        found = catalog(each("lab", "chol", "fbs", price=prices), each("rest", "age", "thal"))
    assert quotes(found, "lab/chol", "lab/fbs") == [5.0, 4.0]


def test_all_problems_of_the_sources_are_named_at_once():
    sources = [each("lab", "age", "cholesterol"), each("lab", "age")]
    with pytest.raises(DataError) as caught:
        catalog(*sources, given=["fbs", "fbs2"])
    text = str(caught.value)
    for part in (
        "two sources are named 'lab'",
        "'age' comes from 'lab' and from 'lab'",
        "there is no feature 'cholesterol'",
        "there is no feature 'fbs2'; did you mean 'fbs'?",
        "no source delivers 'chol', 'thal'",
    ):
        assert part in text


def test_a_feature_that_the_model_never_reads_needs_no_source():
    predictor = chain_predictor()
    predictor.reads = predictor.reads & [True, False, True, True]
    Catalog(predictor, [each("lab", "age", "fbs", "thal")], ())


def test_what_a_feature_requires_needs_a_source_too():
    predictor = chain_predictor(requires={"fbs": ["thal"]})
    predictor.reads = predictor.reads & [True, True, True, False]
    with pytest.raises(DataError, match="no source delivers 'thal'"):
        Catalog(predictor, [each("lab", "age", "chol", "fbs")], ())


def test_a_call_that_the_model_makes_itself_has_no_source():
    import numpy as np
    from random_models import draw_predictor

    predictor = draw_predictor("call", np.random.default_rng(0))
    names = predictor.schema.names
    with pytest.raises(DataError, match="'remote' is a call that the model makes itself"):
        Runtime(predictor, [each("all", *names)])


def test_an_item_has_a_name_that_every_database_can_hold():
    names = ["age\x00", "chol", "fbs", "thal"]
    offers = Catalog(chain_predictor(names=names), [each("lab", *names)], ()).by_item
    assert list(offers) == ["lab/age\\x00", "lab/chol", "lab/fbs", "lab/thal"]


def test_what_no_source_delivers_is_asked_of_the_client():
    catalog = Catalog(chain_predictor(), [each("lab", "age", "chol")], asked=["fbs", "thal"])
    assert {f: offer.item for f, offer in catalog.by_feature.items()} == {
        "age": "lab/age", "chol": "lab/chol", "fbs": "client/fbs", "thal": "client/thal",
    }  # fmt: skip
    assert catalog.offer("client/age") is catalog.of_client["age"]
    assert catalog.offer("lab/age") is catalog.by_feature["age"]
    assert catalog.offer("client/years") is None


def test_a_feature_is_asked_of_the_client_or_bought():
    with pytest.raises(DataError) as caught:
        Catalog(chain_predictor(), [each("client", *NAMES)], asked=["age", "years"])
    for words in ("'age' comes from 'client'", "a source is named 'client'", "'years'"):
        assert words in str(caught.value)


def test_a_shared_price_is_paid_by_whoever_paid_more_than_the_features():
    prices = {"groups": {"blood": ["chol", "fbs"]}, "shared": {"blood": 2.0}}
    offers = Catalog(chain_predictor(**prices), [each("lab", *NAMES)])
    chol = offers.by_feature["chol"]
    assert offers.paid_groups(chol, 7.0) == {0} and offers.paid_groups(chol, 5.0) == set()
