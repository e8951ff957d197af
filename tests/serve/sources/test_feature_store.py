"""The feature server of Feast."""

from __future__ import annotations

import asyncio
import json

import pytest

from thrifty.errors import DataError
from thrifty.serve import FeatureStoreSource, Query, UnusableError


def store(url, **more):
    references = {"chol": "lab:cholesterol", "fbs": "lab:sugar", "age": "person:age"}
    return FeatureStoreSource("store", url, references, {"patient_id": "{patient}"}, **more)


def fetch(source, *features):
    async def run():
        try:
            query = Query(features or source.terms.features, context={"patient": 17})
            return await source.fetch(query)
        finally:
            await source.close()

    return asyncio.run(run())


def answer(*statuses):
    names = ["patient_id", "lab__cholesterol", "lab__sugar", "person__age"]
    results = [{"values": [17], "statuses": ["PRESENT"]}]
    results += [{"values": [233], "statuses": [status]} for status in statuses]
    return {"metadata": {"feature_names": names}, "results": results}


def test_what_is_present_or_known_to_be_empty_is_delivered(server):
    reply = answer("PRESENT", "NULL_VALUE", "NOT_FOUND")
    reply["results"][2]["values"] = [None]
    server.replies = [(200, reply)]
    assert fetch(store(server.url)) == {"chol": 233, "fbs": None}
    ((method, path, _, body),) = server.requests
    assert (method, path) == ("POST", "/get-online-features")
    assert json.loads(body) == {
        "features": ["lab:cholesterol", "lab:sugar", "person:age"],
        "entities": {"patient_id": [17]},
        "full_feature_names": True,
    }


def test_only_what_is_wanted_is_asked_for(server):
    server.replies = [(200, answer("PRESENT", "OUTSIDE_MAX_AGE", "PRESENT"))]
    assert fetch(store(server.url), "age") == {"age": 233}
    assert json.loads(server.requests[0][3])["features"] == ["person:age"]


@pytest.mark.parametrize("reply", [{}, [], {"metadata": {"feature_names": ["a"]}, "results": []}])
def test_another_answer_is_unusable(server, reply):
    server.replies = [(200, reply)]
    with pytest.raises(UnusableError, match="not the answer of a feature server"):
        fetch(store(server.url))


def test_features_are_free_and_sold_each_unless_the_terms_say_otherwise():
    assert (store("http://h").terms.price, store("http://h").terms.sold) == (0.0, "each")
    assert store("http://h", price=2.0, sold="together").terms.price == 2.0


def test_what_cannot_work_is_refused_at_once():
    with pytest.raises(DataError, match="'chol' of 'chol' is not 'view:feature'") as caught:
        FeatureStoreSource("store", "http://h", {"chol": "chol"}, {})
    assert "name at least one join key" in str(caught.value)
