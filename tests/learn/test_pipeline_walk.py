"""The walk of a pipeline asks for the columns of the table, and ends where the batch ends."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pipeline_cases import FRAME, LABELS, N, finish, fitted_pipeline, miser
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from thrifty import Pipeline
from thrifty.errors import DataError


@pytest.fixture(scope="module")
def pipeline():
    return fitted_pipeline()


def test_a_walk_is_the_batch_row_by_row(pipeline):
    labels, bills, used = pipeline.predict(FRAME), pipeline.bill(FRAME), pipeline.used(FRAME)
    for i in range(0, N, 17):
        walk = finish(pipeline.walk(), FRAME.iloc[i])
        receipt = walk.receipt
        assert walk.answer == labels[i] and receipt.total == bills[i]
        np.testing.assert_allclose(walk.scores, pipeline.predict_proba(FRAME.iloc[[i]])[0])
        bought = {purchase.feature for purchase in receipt.purchases}
        assert bought == set(np.array(list(FRAME))[used[i]])
        assert sum(purchase.price for purchase in receipt.purchases) == pytest.approx(bills[i])
        assert receipt.unit == "CAD" and receipt.stopped is not None


def test_a_walk_asks_for_source_columns_at_their_price(pipeline):
    walk = pipeline.walk()
    assert set(walk.asks) <= set(FRAME) and walk.answer is None and walk.best in ("yes", "no")
    assert walk.price("chol") == 7.1
    walk.tell({"fbs": 0.5})
    assert (walk.price("chol"), walk.price("fbs")) == (5.0, 0.0)
    assert "PipelineWalk(1 values, asks=" in repr(walk)
    walk.stop("closed")
    assert walk.done and walk.answer == walk.best
    assert (walk.receipt.stopped, walk.receipt.reason) == ("stopped", "closed")
    assert "answer=" in repr(walk)


def test_known_and_skipped_values_are_free(pipeline):
    row = FRAME.iloc[0]
    walk = finish(pipeline.walk(known=row.to_dict()), row)
    assert walk.done and walk.receipt.total == 0.0
    walk = pipeline.walk()
    walk.skip("chol")
    finish(walk, row)
    assert {p.feature: p.price for p in walk.receipt.purchases}.get("chol", 0.0) == 0.0
    batch = pipeline.predict_proba(FRAME.iloc[[0]].assign(chol=np.nan))[0]
    np.testing.assert_allclose(walk.scores, batch)


def test_values_that_are_not_used_are_not_charged(pipeline):
    all_told = pipeline.walk()
    all_told.tell(FRAME.iloc[5].to_dict())
    assert all_told.done and all_told.receipt.total == pipeline.bill(FRAME.iloc[[5]])[0]
    bought = {purchase.feature for purchase in all_told.receipt.purchases}
    assert set(all_told.receipt.unread) == set(FRAME) - bought


def test_wrong_values_leave_a_walk_as_it_was(pipeline):
    walk = pipeline.walk()
    with pytest.raises(DataError, match="there is no feature 'twon'; did you mean 'town'"):
        walk.tell({"twon": "ulm"})
    with pytest.raises(DataError, match="no feature 'x'"):
        walk.price("x")
    with pytest.raises(DataError, match=r"a step of the pipeline refuses them: .*'mars'"):
        walk.tell({"age": 30, "chol": 0.1, "fbs": 0.1, "town": "mars"})
    assert walk.receipt.purchases == ()
    walk.tell({"age": 30.0})
    walk.tell({"age": 30.0})
    with pytest.raises(DataError, match=r"'age' is 30.0 already"):
        walk.tell({"age": 31.0})


@pytest.mark.parametrize("kind", [np.asarray, pl.DataFrame], ids=["array", "polars"])
def test_arrays_and_other_frames_work(kind):
    X = FRAME[["age", "fbs"]]
    table = X.to_numpy() if kind is np.asarray else pl.DataFrame(dict(X))
    model = miser(prices=[1.0, 3.0])
    piped = Pipeline([("scale", StandardScaler()), ("model", model)]).fit(table, LABELS)
    expected = Pipeline([("scale", StandardScaler()), ("model", clone(model))]).fit(X, LABELS)
    np.testing.assert_array_equal(piped.bill(table), expected.bill(X))
    names = [0, 1] if kind is np.asarray else ["age", "fbs"]
    walk = finish(piped.walk(), dict(zip(names, X.iloc[0], strict=True)))
    assert walk.answer == expected.predict(X.iloc[[0]])[0]
    walk = piped.walk()
    walk.skip(names[0])  # a scaler takes a missing value as it is


def test_a_missing_value_is_not_replaced_by_another(pipeline):
    walk = pipeline.walk()
    walk.tell({"fbs": pd.NA})
    walk.tell({"fbs": np.nan})  # missing, as before
    with pytest.raises(DataError, match="'fbs' is <NA> already; start another walk for 0.5"):
        walk.tell({"fbs": 0.5})
