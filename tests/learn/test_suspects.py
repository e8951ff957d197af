"""Identifiers and leaks are found; ordinary columns are not suspected."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty.learn.dataset import TrainingSet
from thrifty.learn.suspects import find_suspects

N = 200
RNG = np.random.default_rng(5)
X = RNG.normal(size=N)
LABELS = np.where(X + RNG.normal(size=N) > 0, "yes", "no")


def suspects(y=LABELS, task="classification", **columns):
    return find_suspects(TrainingSet.read(task, pd.DataFrame({"x": X, **columns}), y))


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("row", RNG.permutation(N)),
        ("customer_id", RNG.choice(10**9, size=N, replace=False)),
        ("customerId", RNG.choice(10**9, size=N, replace=False)),
        ("code", [f"n{i}" for i in range(N)]),
    ],
)
def test_an_identifier_is_named(name, column):
    (message,) = suspects(**{name: column})
    assert message.startswith(f"column {name!r} looks like an identifier: ")


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("income", RNG.choice(10**9, size=N, replace=False)),
        ("covid", RNG.choice(10**9, size=N, replace=False)),
        ("id", RNG.integers(5, size=N)),
        ("town", RNG.choice(["a", "b", "c"], size=N)),
        ("z", RNG.normal(size=N)),
        ("constant", np.ones(N)),
        ("gaps", np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N))),
    ],
)
def test_an_ordinary_column_is_not_suspected(name, column):
    assert suspects(**{name: column}) == []
    assert suspects(y=X + RNG.normal(size=N), task="regression", **{name: column}) == []


@pytest.mark.parametrize(
    "column",
    [
        np.where(LABELS == "yes", "drug", "none"),
        np.where(LABELS == "yes", RNG.uniform(1, 2, size=N), RNG.uniform(-2, -1, size=N)),
        np.where(LABELS == "yes", 1.0, np.nan),
        np.where(LABELS == "yes", RNG.choice([1, 3, 5], size=N), RNG.choice([2, 4], size=N)),
    ],
    ids=["category", "threshold", "missing", "codes"],
)
def test_a_feature_that_gives_the_class_away_is_named(column):
    (message,) = suspects(leak=column)
    assert message.startswith("column 'leak' alone predicts the target perfectly; drop it if")


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda y: 3.0 * y - 1, 1),
        (lambda y: np.exp(y), 1),
        (lambda y: np.round(y), 0),
        (lambda y: y + RNG.normal(size=N), 0),
    ],
    ids=["linear", "monotone", "rounded", "noisy"],
)
def test_a_feature_that_gives_the_value_away_is_named(make, found):
    y = RNG.normal(size=N)
    assert len(suspects(y=y, task="regression", leak=make(y))) == found


def test_a_category_that_gives_the_value_away_is_named():
    y = RNG.integers(3, size=N).astype(float)
    assert len(suspects(y=y, task="regression", leak=np.array(["a", "b", "c"])[y.astype(int)])) == 1
    assert suspects(y=np.ones(N), task="regression") == []


def test_few_rows_are_not_suspected():
    few = TrainingSet.read("classification", {"x": np.arange(20)}, np.arange(20) > 9)
    assert find_suspects(few) == []
    rare = np.where(np.arange(N) < 3, "yes", "no")
    assert suspects(y=rare, leak=(rare == "yes").astype(float)) == []
