"""LightGBM's models, from the object or its text, predict the same once adopted."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import lightgbm
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import DataError
from thrifty.learn.adopt import adopt
from thrifty.learn.adopt.lightgbm import NAN, NONE, TINY, ZERO, cuts

QUIET = {"verbose": -1, "num_threads": 1, "num_leaves": 7, "min_data_in_leaf": 5,
         "deterministic": True}  # fmt: skip
MISSING = {"nan": {}, "zero": {"zero_as_missing": True}, "none": {"use_missing": False}}
FOREST = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
TASKS = {
    "regression": ("value", {}),
    "regression_l1": ("value", {}),
    "binary": ("two", {}),
    "multiclass": ("three", {"num_class": 3}),
    "lambdarank": ("three", {}),
}


def train(X, y, rounds=6, group=None, categorical="auto", **options):
    data = lightgbm.Dataset(X, y, group=group, params=QUIET, categorical_feature=categorical)
    return lightgbm.train({**QUIET, **options}, data, rounds)


def grades(drawn, target):
    y = getattr(drawn, target)
    return y if target == "value" else np.unique(y, return_inverse=True)[1]


def theirs(booster, X):
    found = booster.predict(X)
    two = booster.params.get("objective") == "binary"
    return np.column_stack([1 - found, found]) if two else found


def ours(predictor, X):
    return predictor.predict(X) if predictor.classes is None else predictor.predict_proba(X)


def tiny_numbers(X):
    """The table with numbers that LightGBM takes for zero."""
    X = X.copy()
    X[:60, 3] = np.resize([1e-36, -1e-36, TINY, -TINY, 2 * TINY, -2 * TINY], 60)
    return X


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("objective", TASKS)
def test_boosted_trees_predict_the_same(holes, objective, missing):
    target, options = TASKS[objective]
    group = [26] * 10 if objective == "lambdarank" else None
    booster = train(holes.X, grades(holes, target), group=group, objective=objective, **options,
                    **MISSING[missing])  # fmt: skip
    held = tiny_numbers(holes.held)
    np.testing.assert_allclose(ours(adopt(booster), held), theirs(booster, held), rtol=1e-14)


@pytest.mark.parametrize("objective", ["regression", "binary", "multiclass"])
def test_forests_average(rows, objective):
    target, options = TASKS[objective]
    booster = train(rows.X, grades(rows, target), objective=objective, **options, **FOREST)
    np.testing.assert_allclose(
        ours(adopt(booster), rows.held), theirs(booster, rows.held), rtol=1e-12
    )


def test_values_are_the_same_to_the_bit_where_the_sums_are(holes):
    booster = train(holes.X, holes.value, objective="regression")
    np.testing.assert_array_equal(adopt(booster).predict(holes.held), booster.predict(holes.held))


def test_the_slope_of_a_sigmoid_is_kept(rows):
    booster = train(rows.X, grades(rows, "two"), objective="binary", sigmoid=0.7)
    np.testing.assert_allclose(
        ours(adopt(booster), rows.held), theirs(booster, rows.held), rtol=1e-13
    )


def test_categories_of_an_array_go_by_their_numbers(holes):
    X = holes.X.copy()
    X[:, 4] = np.random.default_rng(0).integers(0, 30, size=len(X)) * 11
    X[::9, 4] = np.nan
    y = holes.value + 40 * (X[:, 4] % 2 == 0)
    booster = train(
        X, y, categorical=[4], objective="regression", min_data_per_group=3, cat_smooth=1
    )
    adopted = adopt(booster)
    assert len(adopted.model.subsets) > 0
    np.testing.assert_array_equal(adopted.predict(X), booster.predict(X))
    strange = X.copy()
    strange[:, 4] = 1234
    with pytest.warns(UserWarning, match="never seen"):
        found = adopted.predict(strange)
    np.testing.assert_array_equal(found, booster.predict(strange))


def frame_of(drawn):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(drawn.X, columns=list("vwxyz"))
    frame["kind"] = pd.Categorical(rng.choice(["u", "s", "t"], len(frame)), ["u", "s", "t"])
    frame.loc[3:20, "kind"] = np.nan
    frame.insert(1, "code", pd.Categorical(rng.choice([30, 10, 20], len(frame))))
    return frame, np.where((frame["kind"] == "u") ^ (frame["code"] == 10), "yes", "no")


@pytest.fixture(scope="module")
def classifier(holes):
    frame, y = frame_of(holes)
    small = {"n_estimators": 5, "num_leaves": 7, "min_data_per_group": 3, "cat_smooth": 1}
    return frame, lightgbm.LGBMClassifier(**small, verbose=-1, n_jobs=1).fit(frame, y)


def test_categories_of_a_data_frame_keep_their_labels(classifier):
    frame, model = classifier
    adopted = adopt(model)
    assert adopted.schema.columns[1].categories == (10, 20, 30)
    assert adopted.schema.columns[-1].categories == ("u", "s", "t")
    assert len(adopted.model.subsets) > 0
    np.testing.assert_allclose(adopted.predict_proba(frame), model.predict_proba(frame), rtol=1e-14)
    np.testing.assert_array_equal(adopted.predict(frame), model.predict(frame))


def test_the_text_file_says_what_the_object_says(classifier, tmp_path):
    frame, model = classifier
    path = tmp_path / "model.txt"
    model.booster_.save_model(path)
    adopted = adopt(path, classes=["no", "yes"])
    np.testing.assert_array_equal(adopted.predict_proba(frame), adopt(model).predict_proba(frame))
    np.testing.assert_array_equal(adopted.predict(frame), model.predict(frame))
    assert adopt(path).classes.tolist() == [0, 1]


@given(
    st.one_of(st.floats(-3, 3), st.sampled_from([0.0, -0.0, TINY, -TINY, 1e-40, -1e-40])),
    st.sampled_from([NONE, ZERO, NAN]),
    st.booleans(),
    st.one_of(st.floats(-4, 4), st.sampled_from([0.0, TINY, -TINY, 3e-35, -3e-35, 1e-38])),
)
def test_a_split_is_a_chain_of_intervals(threshold, missing, default_left, x):
    ends, missing_left = cuts(threshold, missing, default_left)
    chained = next((side for end, side in ends if x <= end), False)
    read = 0.0 if abs(x) <= TINY else x
    zero = default_left if missing == ZERO else threshold >= 0
    assert chained == (zero if read == 0.0 else read <= threshold)
    assert missing_left == (default_left if missing == NAN else zero)
    assert all(one[1] != other[1] for one, other in pairwise(ends))


@pytest.fixture(scope="module")
def text(rows):
    return train(rows.X, rows.value, rounds=2, objective="regression").model_to_string()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("objective=regression", "objective=poisson"), "objective 'poisson' is not one of"),
        (("objective=regression", "objective=regression sqrt"), "regression sqrt"),
        (("objective=regression", "objective=multiclassova num_class:3"), "multiclassova"),
        (("num_class=1", "num_class=2"), "2 outputs"),
        (("is_linear=0", "is_linear=1"), "linear trees"),
        (("left_child=", "left_child=0 0 "), "is damaged|not trees"),
        (("left_child=", "left="), "the LightGBM model is damaged"),
        (("leaf_value=", "leaf_value=nan "), "not trees"),
        (("end of trees", ""), "in the middle"),
        (("num_class=1", "num_class=99999999999"), "num_class is '?99999999999"),
        (("num_class=1", "num_class=0"), "num_class is 0"),
        (("num_tree_per_iteration=1", "num_tree_per_iteration=-5"), "num_tree_per_iteration is"),
        (("split_feature=", "split_feature=" + "9" * 400 + " "), "split_feature .* out of range"),
        (("decision_type=2", "decision_type=1"), "a subset that does not exist"),
        (("feature_names=Column_0", "feature_names=Column_1"), "distinct names"),
        (("tree\nversion", "version"), "neither a LightGBM text file"),
    ],
)
def test_what_cannot_be_adopted_is_refused(text, tmp_path, change, message):
    path = tmp_path / "model.txt"
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(DataError, match=message):
        adopt(path)


def test_leaves_that_are_no_numbers_are_refused(text, tmp_path):
    path = tmp_path / "model.txt"
    path.write_text(re.sub(r"leaf_value=\S+", "leaf_value=nan", text))
    with pytest.raises(DataError, match="values must be finite"):
        adopt(path)


def test_nodes_that_go_in_circles_are_refused(text, tmp_path):
    lines = [f"{line.split('=')[0]}={' '.join(['0'] * len(line.split()))}"
             if line.startswith(("left_child", "right_child")) else line
             for line in text.split("\n")]  # fmt: skip
    path = tmp_path / "model.txt"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match="are not trees"):
        adopt(path)


def test_categories_that_fit_no_column_are_refused(classifier, tmp_path):
    text = classifier[1].booster_.model_to_string()
    head, tail = text.rsplit("pandas_categorical:", 1)
    path = tmp_path / "model.txt"
    path.write_text(head + "pandas_categorical:" + json.dumps([*json.loads(tail), ["a"]]) + "\n")
    with pytest.raises(DataError, match="which is which"):
        adopt(path)


def test_an_unfitted_model_is_refused():
    with pytest.raises(DataError, match="LGBMRegressor is not fitted"):
        adopt(lightgbm.LGBMRegressor())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[1, [2]]], "neither text nor numbers"),
        ([["a", "a"]], "a category twice"),
        ([list(range(256))], "more than 255 categories"),
        (5, "damaged"),
        ([5], "damaged"),
    ],
)
def test_categories_that_are_no_labels_are_refused(classifier, tmp_path, labels, message):
    text = classifier[1].booster_.model_to_string()
    head, tail = text.rsplit("pandas_categorical:", 1)
    known = json.loads(tail)
    given = [*labels, *known[1:]] if isinstance(labels, list) else labels
    path = tmp_path / "model.txt"
    path.write_text(head + "pandas_categorical:" + json.dumps(given) + "\n")
    with pytest.raises(DataError, match=message):
        adopt(path)


def test_a_small_file_cannot_unfold_to_endless_nodes(rows, tmp_path, monkeypatch):
    X = np.where(np.abs(rows.X) < 0.5, 0.0, rows.X)
    text = train(X, rows.value, objective="regression", zero_as_missing=True).model_to_string()
    monkeypatch.setattr("thrifty.learn.adopt.lightgbm.MIN_NODES", 20)
    monkeypatch.setattr("thrifty.learn.adopt.lightgbm.NODES_PER_BYTE", 0)
    (tmp_path / "model.txt").write_text(text)
    with pytest.raises(DataError, match="more than .* nodes"):
        adopt(tmp_path / "model.txt")
