"""A cap is a cap: no receipt exceeds it, whatever the model, the prices and the values are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import MAKERS, D, draw_predictor, forest, policy

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.model import Average, Forest
from thrifty.serve import RowSource, answer


@settings(max_examples=150)
@given(
    kind=st.sampled_from(sorted(MAKERS)),
    seed=st.integers(0, 10**6),
    share=st.floats(0, 1.1),
    evaluation=st.sampled_from([0.0, 0.1, 1.0, 7.0]),
)
def test_no_receipt_exceeds_the_cap(kind, seed, share, evaluation):
    rng = np.random.default_rng(seed)
    predictor = draw_predictor(kind, rng, evaluation)
    X = rng.normal(size=(1, D))
    known = {int(rng.integers(D)): 0.5} if rng.random() < 0.3 else None
    cap = share * predictor.ceiling
    try:
        _, receipt = answer(predictor, RowSource(dict(enumerate(X[0]))), known, cap=cap)
    except DataError as error:
        assert "raise it to" in str(error) and predictor.walk(known).receipt.total > cap
        return
    assert receipt.total <= cap
    if receipt.stopped == "cap":
        assert receipt.reason.startswith("cap of ")
    elif known is None:
        assert receipt.total == predictor.bill(X)[0]


def test_features_that_are_bought_together_are_bought_together_or_not_at_all():
    rng = np.random.default_rng(0)
    constant = Forest.constant([0.4, 0.6], "mean", D)
    model = Average.of([constant], [0.5, 0.5], reads=np.array([1, 1, 1, 0, 0], dtype=bool))
    predictor = Predictor(model, Schema.of(np.zeros((1, D))), Prices([2.0] * D).bind(D), [0, 1])
    row = RowSource(dict(enumerate(rng.normal(size=D))))
    assert answer(predictor, row, cap=5.0)[1].total == 0.0
    assert answer(predictor, row, cap=6.0)[1].total == 6.0


def test_a_cap_counts_evaluations_before_they_are_made():
    """Found by an attack: a cap of 5 gave a receipt of 43."""
    model = Average.of([forest(np.random.default_rng(1))], [0.5, 0.5])
    predictor = Predictor(
        model, Schema.of(np.zeros((1, D))), Prices([1.0] * D, evaluation=40.0).bind(D), [0, 1]
    )
    _, receipt = answer(predictor, RowSource(dict.fromkeys(range(D), 0.0)), cap=5.0)
    assert (receipt.total, receipt.stopped) == (0.0, "cap")


def test_a_cap_below_the_evaluations_of_the_start_is_refused():
    rng = np.random.default_rng(0)
    predictor = Predictor(
        policy(rng, [1.0] * D),
        Schema.of(np.zeros((1, D))),
        Prices([1.0] * D, evaluation=1.0).bind(D),
        [0, 1],
    )
    least = predictor.walk().receipt.total
    with pytest.raises(DataError, match=f"raise it to {least:.2f}"):
        answer(predictor, RowSource({}), cap=least / 2)
