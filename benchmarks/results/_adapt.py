"""What nan2018_adapt.py measures: gates, and the methods of Nan 2018, chapter 5, beside them.

A case is a data set and the kind of its expensive model, such as "Letters, SVM".
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from _gates import share_curve, split
from _ranking import split as split_queries
from _result import best_within
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

from thrifty import (
    BoostedFamily,
    Call,
    CompressedSVC,
    GatedClassifier,
    GatedRanker,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    LinearFamily,
    PrunedForestClassifier,
)
from thrifty.data import four_clusters, synthetic_1
from thrifty.learn.baselines import GreedyGateClassifier

# Training, validation and test rows: as many as in the thesis for Letters, else fewer.
SIZES = {
    "Letters": (12000, 4000, 4000),
    "Covertype": (15000, 6000, 15000),
    "CIFAR-10": (4000, 2000, 4000),
}
TREES = {"n_estimators": 150, "learning_rate": 0.3, "max_depth": 4, "min_samples_leaf": 20}
ROUNDS = 3
TRAINED_SHARES = (0.1, 0.4)
FOLDS = 3
# Budgets, in shares of the full price.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def expensive_of(case: str, seed: int):
    """Return an expensive model that is not fitted."""
    if case.endswith("SVM"):
        # Frozen with probabilities, and all of its support vectors.
        gamma = 0.1 if case.startswith("Letters") else "scale"
        return CompressedSVC(n_vectors=1.0, C=10.0, gamma=gamma, max_moves=0)
    trees = 500 if case.startswith("Letters") else 40
    return RandomForestClassifier(trees, min_samples_leaf=2, random_state=seed)


def curve(case: str, method: str, seed: int) -> list[dict[str, float]]:
    """Return the points of a method: accuracy and bill on validation and test rows."""
    train, validation, test = split(case.partition(",")[0], seed, SIZES[case.partition(",")[0]])
    trees = {**TREES, "random_state": seed}
    if method == "GreedyMiser":
        trees["n_estimators"] *= 2
        return on_classes(GreedyMiserClassifier(**trees).path(*train, validation=validation), test)
    if method == "BudgetPrune":
        # A forest of its own, as out-of-bag errors then give more points.
        pruned = PrunedForestClassifier(n_estimators=40, random_state=seed)
        return on_classes(pruned.path(*train, validation=validation), test)
    call, proba = prepared(case, seed)
    if method == "L1":
        gate = GreedyGateClassifier(call, family=LinearFamily(), random_state=seed)
        points = gate.path(*train, validation=validation, expensive_proba=proba)
        return on_classes(points, test)
    family = LinearFamily(starts=2) if method == "ADAPT-LIN" else boosted_family()
    gate = GatedClassifier(call, family=family, alternations=ROUNDS, random_state=seed)
    points = gate.path(*train, validation=validation, expensive_proba=proba, shares=TRAINED_SHARES)
    return on_classes(points, test)


def boosted_family() -> BoostedFamily:
    return BoostedFamily(**TREES)


@lru_cache(maxsize=1)
def prepared(case: str, seed: int):
    """Return a call of the fitted expensive model, and its out-of-fold probabilities."""
    data = case.partition(",")[0]
    train, model = split(data, seed, SIZES[data])[0], expensive_of(case, seed)
    proba = cross_val_predict(model, *train, cv=FOLDS, method="predict_proba")
    return Call("expensive", fn=model.fit(*train), folds=None), proba


def measured(points, validate, quality) -> list[dict[str, float]]:
    """Return bills and qualities of the points that count: see `worth_showing`.

    `validate` returns the validation quality of a point, `quality` its quality and its mean bill on
    test rows.
    """
    found = []
    for point in points:
        full = point.model.prices.full
        figures = {"validation": validate(point), "validation_bill": point.bill / full}
        found.append((figures, point.model, full))
    for index in worth_showing([figures for figures, _, _ in found]):
        figures, model, full = found[index]
        figures["test"], bill = quality(model)
        figures["bill"] = bill / full
    return [figures for figures, _, _ in found if "test" in figures]


def worth_showing(points: list[dict[str, float]]) -> set[int]:
    """Return the points that are best within a share, the dearest, and the cheapest near it."""
    order = range(len(points))
    dearest = max(order, key=lambda k: points[k]["validation_bill"])
    near = [k for k in order if points[k]["validation"] >= points[dearest]["validation"] - 0.01]
    chosen = [p for p in best_within(points, SHARES) if p is not None]
    return {
        dearest,
        min(near, key=lambda k: points[k]["validation_bill"]),
        *(next(k for k in order if points[k] is p) for p in chosen),
    }


def on_classes(points, test) -> list[dict[str, float]]:
    """Measure points by accuracy."""
    X, y = test

    def quality(model):
        return float(np.mean(model.predict(X) == y)), float(model.bill(X).mean())

    return measured(points, lambda point: point.quality, quality)


def shares(case: str, seed: int) -> dict[str, dict[str, object]]:
    """Return accuracy by share of rows sent, without prices: ADAPT-GBRT and the confidence rule."""
    data = case.partition(",")[0]
    train, _, (X, y) = split(data, seed, SIZES[data])
    call, proba = prepared(case, seed)
    right = call.fn.predict(X) == y
    gate = GatedClassifier(call, family=boosted_family(), alternations=ROUNDS, random_state=seed)
    model = gate.fit(*train, expensive_proba=proba).model_
    local = GreedyMiserClassifier(**TREES, random_state=seed).fit(*train)
    certain = np.abs(local.predict_proba(X)[:, 1] - 0.5)
    return {
        "ADAPT-GBRT": share_curve(
            model.gate.score(X), model.local.score(X).argmax(axis=1) == y, right, ()
        ),
        "confidence": share_curve(-certain, local.predict(X) == y, right, ()),
        "expensive": {"area": float(right.mean())},
    }


def ranking(method: str, seed: int) -> list[dict[str, float]]:
    """Return the points of a ranker on MQ2008: AP@5 and bill."""
    prices, train, validation, test = split_queries("mq2008", seed)
    relevant = [(part.X, (part.grade > 0).astype(float), part.query) for part in
                (train, validation, test)]  # fmt: skip
    (X, y, query), held_out, (X_test, y_test, q_test) = relevant
    trees = {**TREES, "n_estimators": 100, "learning_rate": 0.1}
    if method == "GreedyMiser":
        trees["n_estimators"] *= 2
        ranker = GreedyMiserRanker(prices, loss="squared", **trees, random_state=seed)
        points = ranker.path(X, y, qid=query, validation=held_out)
    else:
        forest = RandomForestRegressor(140, min_samples_leaf=5, max_features=0.3, random_state=seed)
        call = Call("expensive", fn=forest, folds=FOLDS)
        ranker = GatedRanker(
            call, prices, family=BoostedFamily(**trees), alternations=ROUNDS, random_state=seed
        )
        points = ranker.path(X, y, qid=query, validation=held_out, shares=TRAINED_SHARES)
    X_val, y_val, q_val = held_out

    def quality(model):
        return precision(y_test, model.predict(X_test), q_test), float(model.bill(X_test).mean())

    return measured(
        points, lambda point: precision(y_val, point.model.predict(X_val), q_val), quality
    )


def precision(y, scores, query) -> float:
    """Return AP@5 as the thesis has it: the rows before the first irrelevant one, out of five."""
    order = np.lexsort((-scores, query))
    y, query = y[order], query[order]
    starts = np.flatnonzero(np.append(True, np.diff(query) != 0))
    top = [y[a : a + 5] for a in starts]
    return float(np.mean([np.sum(np.cumprod(rows > 0)) / 5 for rows in top]))


def synthetic_2(seed: int) -> dict[str, list[float]]:
    """Return accuracy and mean bill on Synthetic-2, with the sizes of the thesis."""
    table, svm = four_clusters(random_state=seed), SVC(gamma=1.0, C=10.0)
    gates = {
        "ADAPT-LIN": GatedClassifier(
            svm, share=4 / 7, penalty=0.03, family="linear", random_state=seed
        ),
        "L1": GreedyGateClassifier(svm, share=5 / 7, penalty=0.05, random_state=seed),
    }
    found = {}
    for name, gate in gates.items():
        gate.fit(table.X, table.y)
        found[name] = [gate.score(table.X, table.y), gate.bill(table.X).mean()]
    return found


def adaptation(family: str) -> list[list[float]]:
    """Return the share sent and the accuracy on Synthetic-1, at the start and after the search."""
    table = synthetic_1()
    X, y = table.X.to_numpy(float), np.asarray(table.y)
    svm = SVC(C=10.0, gamma=1.0).fit(X, y)
    kind = LinearFamily() if family == "ADAPT-LIN" else BoostedFamily(5, 0.5, 2)
    found = []
    for share in (0.0, 0.6):
        gate = GatedClassifier(svm, share=share, family=kind, random_state=0).fit(X, y)
        found.append([gate.sent(X).mean(), gate.score(X, y)])
    return found
