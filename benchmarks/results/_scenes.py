"""The six descriptors of Multiple Features, which stand in for Scene-15.

A descriptor has the price of the number of its features, and is paid once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from thrifty import AnytimeClassifier, GreedyMiserClassifier, Prices
from thrifty.data import load
from thrifty.learn.baselines import EarlyExitClassifier, LinearSVMClassifier

CHANCE = 0.1  # of ten classes, where a method has no point within the budget
AFR = {"n_estimators": 10, "dimensions": 10, "max_depth": 3, "min_samples_leaf": 5}


def split(seed: int) -> tuple[Prices, list[tuple[Any, Any]]]:
    """Return prices, and 1,000 training, 300 validation and 700 test rows."""
    table = load("mfeat")
    groups = table.prices.groups
    prices = Prices(
        dict.fromkeys(table.X.columns, 0.0),
        groups=groups,
        shared={name: float(len(members)) for name, members in groups.items()},
    )
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=700, stratify=table.y, random_state=seed
    )
    X, X_val, y, y_val = train_test_split(X, y, test_size=300, stratify=y, random_state=seed)
    return prices, [(X, y), (X_val, y_val), (X_test, y_test)]


def scenes(method: str, seed: int) -> list[dict[str, float]]:
    """Return the points of a method on Multiple Features: accuracy and bill."""
    prices, ((X, y), (X_val, y_val), (X_test, y_test)) = split(seed)
    full = prices.bind(list(X.columns)).full
    if method == "SVM on all features":
        svm = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(X, y)
        quality = {"validation": svm.score(X_val, y_val), "test": svm.score(X_test, y_test)}
        return [{**quality, "validation_bill": 1.0, "bill": 1.0}]
    trees = {"n_estimators": 100, "max_depth": 3, "min_samples_leaf": 5, "random_state": seed}
    learner = {
        "GreedyMiser": GreedyMiserClassifier(prices, charge="example", **trees),
        "stage-wise regression": GreedyMiserClassifier(prices, **trees),
        "Early Exit": EarlyExitClassifier(prices, **trees),
        "AFR": AnytimeClassifier(prices, **AFR, random_state=seed),
        "linear SVM": LinearSVMClassifier(prices),
    }[method]
    penalties = {"penalties": [0.0]} if method == "stage-wise regression" else {}
    return [
        {
            # One model for all budgets has no choice: it answers with its last stage.
            "validation": k if method == "AFR" else p.quality,
            "validation_bill": p.bill / full,
            "test": float(np.mean(p.model.predict(X_test) == np.asarray(y_test))),
            "bill": float(p.model.bill(X_test).mean()) / full,
        }
        for k, p in enumerate(learner.path(X, y, validation=(X_val, y_val), **penalties))
    ]
