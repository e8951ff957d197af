"""A table with a group and a category, and a pipeline that scales, imputes and encodes it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from thrifty import GreedyMiserClassifier, Pipeline, Prices

RNG = np.random.default_rng(11)
N = 400
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(50, 10, size=N).round(1),
        "chol": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N).round(3)),
        "fbs": RNG.normal(size=N).round(3),
        "town": RNG.choice(["bonn", "kiel", "ulm"], size=N),
    }
)
SIGNAL = (FRAME["age"] > 50) + FRAME["chol"].fillna(0) + FRAME["fbs"] + (FRAME["town"] == "ulm")
LABELS = np.where(SIGNAL > 1, "yes", "no")
PRICES = Prices(
    {"age": 1.0, "chol": 5.0, "fbs": 3.0, "town": 0.7},
    groups={"blood": ["chol", "fbs"]},
    shared={"blood": 2.1},
    unit="CAD",
)
BOUND = PRICES.bind(list(FRAME))


def prepare():
    return make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age", "chol"]),
        (OneHotEncoder(), ["town"]),
        remainder="passthrough",
    )


def miser(**settings):
    defaults = {"prices": PRICES, "n_estimators": 12, "penalty": 0.002, "random_state": 0}
    return GreedyMiserClassifier(**{**defaults, **settings})


def fitted_pipeline():
    """A pipeline whose rows differ in what they use."""
    model = miser(n_estimators=2, max_depth=3, learning_rate=0.5, penalty=0.0005)
    return Pipeline([("prepare", prepare()), ("model", model)]).fit(FRAME, LABELS)


def finish(walk, row):
    while walk.asks:
        walk.tell({name: row[name] for name in walk.asks})
    return walk
