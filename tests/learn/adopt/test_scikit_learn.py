"""scikit-learn's trees, forests and boosted trees predict the same once adopted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from thrifty.errors import DataError
from thrifty.learn.adopt import adopt, adopt_forest

SMALL = {"n_estimators": 8, "random_state": 0}
AVERAGES = [
    RandomForestClassifier(**SMALL),
    RandomForestClassifier(**SMALL, max_depth=3, bootstrap=False, class_weight="balanced"),
    ExtraTreesClassifier(**SMALL),
    DecisionTreeClassifier(random_state=0),
    ExtraTreeClassifier(random_state=0),
]


@pytest.mark.parametrize("target", ["two", "three"])
@pytest.mark.parametrize("table", ["rows", "holes"])
@pytest.mark.parametrize("estimator", AVERAGES, ids=lambda e: type(e).__name__)
def test_a_forest_has_the_same_probabilities_to_the_bit(request, estimator, table, target):
    drawn = request.getfixturevalue(table)
    estimator.fit(drawn.X, getattr(drawn, target))
    ours = adopt(estimator)
    np.testing.assert_array_equal(
        ours.predict_proba(drawn.held), estimator.predict_proba(drawn.held)
    )
    np.testing.assert_array_equal(ours.predict(drawn.held), estimator.predict(drawn.held))


@pytest.mark.parametrize("table", ["rows", "holes"])
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_a_forest_of_values_differs_in_the_last_bits_at_most(request, kind, table):
    drawn = request.getfixturevalue(table)
    estimator = kind(**SMALL).fit(drawn.X, drawn.value)
    np.testing.assert_allclose(
        adopt(estimator).predict(drawn.held), estimator.predict(drawn.held), rtol=1e-13, atol=1e-13
    )


def test_a_tree_of_values_is_the_same_to_the_bit(holes):
    estimator = DecisionTreeRegressor(random_state=0).fit(holes.X, holes.value)
    np.testing.assert_array_equal(
        adopt(estimator).predict(holes.held), estimator.predict(holes.held)
    )


@pytest.mark.parametrize(
    ("target", "options"),
    [("two", {}), ("two", {"loss": "exponential"}), ("two", {"init": "zero"}), ("three", {}),
     ("three", {"init": "zero", "subsample": 0.7})],
)  # fmt: skip
def test_boosted_classes_have_the_same_sums_to_the_bit(rows, target, options):
    estimator = GradientBoostingClassifier(**SMALL, **options).fit(rows.X, getattr(rows, target))
    ours = adopt(estimator)
    scale = 2.0 if "loss" in options else 1.0
    sums = np.squeeze(ours.model.raw(rows.held)) / scale
    np.testing.assert_array_equal(sums, estimator.decision_function(rows.held))
    np.testing.assert_allclose(
        ours.predict_proba(rows.held), estimator.predict_proba(rows.held), rtol=1e-14
    )
    np.testing.assert_array_equal(ours.predict(rows.held), estimator.predict(rows.held))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
def test_boosted_values_are_the_same_to_the_bit(rows, loss):
    estimator = GradientBoostingRegressor(**SMALL, loss=loss).fit(rows.X, rows.value)
    np.testing.assert_array_equal(adopt(estimator).predict(rows.held), estimator.predict(rows.held))


@pytest.mark.parametrize("target", ["two", "three"])
def test_histogram_boosting_has_the_same_sums_to_the_bit(holes, target):
    estimator = HistGradientBoostingClassifier(max_iter=8).fit(holes.X, getattr(holes, target))
    ours = adopt(estimator)
    np.testing.assert_array_equal(
        np.squeeze(ours.model.raw(holes.held)), estimator.decision_function(holes.held)
    )
    np.testing.assert_array_equal(ours.predict(holes.held), estimator.predict(holes.held))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_values_of_histogram_boosting_are_the_same_to_the_bit(holes, loss):
    estimator = HistGradientBoostingRegressor(max_iter=8, loss=loss).fit(holes.X, holes.value)
    np.testing.assert_array_equal(
        adopt(estimator).predict(holes.held), estimator.predict(holes.held)
    )


def test_a_split_of_missing_from_all_others_is_kept():
    X = np.array([[np.nan]] * 60 + [[1.0]] * 60)
    y = np.isnan(X[:, 0]).astype(float)
    estimator = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    held = np.array([[np.nan], [-1e300], [1e300]])
    np.testing.assert_array_equal(adopt(estimator).predict(held), estimator.predict(held))


def frame_of(drawn) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(drawn.X, columns=list("vwxyz"))
    frame["kind"] = pd.Categorical(rng.choice(["u", "s", "t"], len(frame)), ["u", "s", "t", "q"])
    frame.loc[3:20, "kind"] = np.nan
    frame.insert(1, "code", pd.Categorical(rng.choice([30, 10, 20], len(frame))))
    return frame


def test_categories_of_a_data_frame_keep_their_labels_and_places(holes):
    frame = frame_of(holes)
    y = np.where((frame["kind"] == "u") ^ (frame["code"] == 10), holes.three, 6)
    estimator = HistGradientBoostingClassifier(max_iter=8).fit(frame, y)
    ours = adopt(estimator)
    assert [column.name for column in ours.schema.columns] == list(frame.columns)
    assert ours.schema.columns[1].categories == (10, 20, 30)
    assert len(ours.model.subsets) > 5
    backwards = frame[frame.columns[::-1]]
    np.testing.assert_array_equal(ours.predict(backwards), estimator.predict(frame))
    np.testing.assert_allclose(
        ours.predict_proba(frame), estimator.predict_proba(frame), rtol=1e-14
    )


def test_a_category_that_training_never_saw_goes_where_missing_goes(holes):
    frame = frame_of(holes)
    frame["kind"] = frame["kind"].cat.remove_unused_categories()
    estimator = HistGradientBoostingRegressor(max_iter=8).fit(frame, holes.value)
    ours = adopt(estimator)
    strange = frame.assign(kind=pd.Categorical(["new"] * len(frame)))
    with pytest.warns(UserWarning, match="never seen"):
        found = ours.predict(strange)
    np.testing.assert_array_equal(found, estimator.predict(strange))


def test_categories_of_an_array_go_by_their_numbers(holes):
    X = holes.X.copy()
    X[:, 3] = np.random.default_rng(0).integers(0, 9, size=len(X)) * 7
    estimator = HistGradientBoostingRegressor(max_iter=8, categorical_features=[3])
    estimator.fit(X, holes.value + (X[:, 3] % 2))
    ours = adopt(estimator)
    assert ours.schema.columns[3].categories == tuple(range(0, 63, 7))
    np.testing.assert_array_equal(ours.predict(X), estimator.predict(X))


def test_names_come_from_the_table_of_the_fit(rows):
    frame = pd.DataFrame(rows.X, columns=list("abcde"))
    ours = adopt(RandomForestClassifier(**SMALL).fit(frame, rows.two))
    assert ours.schema.named and set(ours.walk().asks) <= set("abcde")


def test_values_next_to_a_threshold_go_the_same_way():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).astype(np.float32).astype(np.float64)
    forest = RandomForestClassifier(**SMALL).fit(X, X[:, 0] * X[:, 1] > 0)
    ours = adopt(forest)
    splits = ours.model.nodes[np.isfinite(ours.model.nodes["threshold"])]
    edges = np.concatenate([splits["threshold"], *(tree.tree_.threshold for tree in forest)])
    for j in range(2):
        held = rng.choice(X[:, 0], size=(3 * len(edges), 2))
        held[:, j] = np.concatenate([edges, np.nextafter(edges, 9), np.nextafter(edges, -9)])
        np.testing.assert_array_equal(ours.predict_proba(held), forest.predict_proba(held))


def test_inner_nodes_have_the_best_answer_so_far(rows):
    estimator = RandomForestClassifier(**SMALL).fit(rows.X, rows.two)
    start = adopt(estimator).walk().scores
    roots = [tree.tree_.value[0, 0] for tree in estimator.estimators_]
    np.testing.assert_allclose(start, np.mean(roots, axis=0))
    boosted = GradientBoostingRegressor(**SMALL).fit(rows.X, rows.value)
    np.testing.assert_allclose(adopt(boosted).walk().best, rows.value.mean())


def test_the_forest_alone_can_be_had(rows):
    estimator = RandomForestClassifier(**SMALL).fit(rows.X, rows.two)
    forest = adopt_forest(estimator)
    assert forest.kind == "forest" and len(forest.roots) == 8


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (RandomForestClassifier(), "RandomForestClassifier is not fitted"),
        (
            LogisticRegression(),
            "type LogisticRegression cannot be adopted; adopt takes fitted",
        ),
        (object(), "an object of type object cannot be adopted"),
    ],
)
def test_what_cannot_be_adopted_is_refused(estimator, message):
    with pytest.raises(DataError, match=message):
        adopt(estimator)


def test_what_a_forest_cannot_do_is_refused(rows):
    positive = np.exp(rows.value / 5)
    both = np.column_stack([rows.value, positive])
    started = GradientBoostingRegressor(n_estimators=2, init=LinearRegression())
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2)
    for estimator, y, message in (
        (HistGradientBoostingRegressor(max_iter=2, loss="poisson"), positive, "loss 'poisson'"),
        (RandomForestRegressor(2), both, "2 outputs"),
        (started, rows.value, "starts from a LinearRegression"),
        (DecisionTreeClassifier(), np.zeros(len(rows.X)), "one class only"),
        (search, rows.two, "best_estimator_"),
    ):
        with pytest.raises(DataError, match=message):
            adopt(estimator.fit(rows.X, y))
