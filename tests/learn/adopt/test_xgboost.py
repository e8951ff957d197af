"""XGBoost's JSON files predict the same once adopted.

The files in models/ were written by XGBoost 3.2, with what it predicted beside them; many of the
values lie on a threshold or next to one. It adds in single precision, hence the tolerance.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty.errors import DataError
from thrifty.learn.adopt import adopt
from thrifty.learn.adopt.xgboost import read_xgboost

MODELS = Path(__file__).parent / "models"
NAMES = ("binary", "stopped", "values", "categories")


def rows_of(name):
    """A table and what XGBoost predicted for it."""
    told = json.loads((MODELS / f"{name}.expected.json").read_text())
    expected = np.array(told["expected"])
    if isinstance(told["X"], dict):
        return pd.DataFrame(told["X"]).astype({"k": "category", "n": "category"}), expected
    return np.array(told["X"], dtype=np.float64), expected


def model_of(name):
    return json.loads((MODELS / f"{name}.json").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_the_predictions_are_the_same(name):
    X, expected = rows_of(name)
    predictor = adopt(MODELS / f"{name}.json")
    if predictor.classes is None:
        np.testing.assert_allclose(predictor.predict(X), expected, rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_allclose(predictor.predict_proba(X), expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(predictor.predict(X), expected.argmax(axis=1))


def test_the_best_round_of_an_estimator_is_the_last_one_kept():
    model = model_of("stopped")
    assert len(model["learner"]["gradient_booster"]["model"]["trees"]) == 9
    assert len(adopt(MODELS / "stopped.json").model.roots) == 3
    del model["learner"]["attributes"]["scikit_learn"]  # as a bare booster writes it
    assert len(read_xgboost(json.dumps(model)).forest.roots) == 9
    assert len(read_xgboost(json.dumps(model), rounds=2).forest.roots) == 6


def test_base_scores_of_older_versions_are_single_numbers():
    model, (X, expected) = model_of("binary"), rows_of("binary")
    param = model["learner"]["learner_model_param"]
    param["base_score"] = param["base_score"].strip("[]")
    del model["learner"]["gradient_booster"]["model"]["cats"]
    np.testing.assert_allclose(read_xgboost(json.dumps(model)).forest.score(X), expected, rtol=1e-6)
    model = model_of("stopped")
    model["learner"]["learner_model_param"]["base_score"] = "5E-1"
    assert read_xgboost(json.dumps(model)).forest.base.tolist() == [0.5, 0.5, 0.5]


def test_categories_keep_their_labels():
    schema = adopt(MODELS / "categories.json").schema
    assert schema.columns[1].categories == ("s", "u", "v", "zz")
    assert schema.columns[2].categories == (1, 3, 9)


def test_labels_that_xgboost_has_maimed_stay_bare_codes():
    model = model_of("categories")
    model["learner"]["gradient_booster"]["model"]["cats"]["enc"][1]["values"][0] = -61
    assert read_xgboost(json.dumps(model)).unlabeled == (1,)


def test_bare_codes_take_the_labels_of_a_table():
    X, expected = rows_of("categories")
    model = model_of("categories")
    model["learner"]["gradient_booster"]["model"]["cats"]["enc"] = []
    source = json.dumps(model)
    bare = read_xgboost(source)
    assert bare.unlabeled == (1, 2)
    codes = X.assign(k=X["k"].cat.codes.replace(-1, np.nan), n=X["n"].cat.codes).to_numpy(float)
    np.testing.assert_allclose(bare.forest.score(codes), expected, rtol=1e-6)


def test_a_table_names_the_codes(tmp_path):
    X, expected = rows_of("categories")
    model = model_of("categories")
    model["learner"]["gradient_booster"]["model"]["cats"]["enc"] = []
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model))
    predictor = adopt(path, X=X)
    assert predictor.schema.columns[1].categories == ("s", "u", "v", "zz")
    np.testing.assert_allclose(predictor.predict_proba(X), expected, rtol=1e-6)


def test_a_table_with_too_many_categories_cannot_name_the_codes(tmp_path):
    X, _ = rows_of("categories")
    model = model_of("categories")
    model["learner"]["gradient_booster"]["model"]["cats"]["enc"] = []
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model))
    wide = pd.concat([X] * 300, ignore_index=True)
    wide["k"] = pd.Categorical([f"k{i % 300}" for i in range(len(wide))])
    with (
        pytest.warns(UserWarning, match="300 categories"),
        pytest.raises(DataError, match="'k' of X has more than 255 categories"),
    ):
        adopt(path, X=wide)


def change(model, *keys, to):
    for key in keys[:-1]:
        model = model[key]
    model[keys[-1]] = to


@pytest.mark.parametrize(
    ("keys", "to", "message"),
    [
        (("objective", "name"), "count:poisson", "objective 'count:poisson' is not one of"),
        (("gradient_booster", "name"), "dart", "booster 'dart'"),
        (("learner_model_param", "num_target"), "2", "more than one target"),
        (("learner_model_param", "base_score"), "[1E0,2E0]", "2 base scores for 1 outputs"),
        (("learner_model_param", "base_score"), "[NaN]", "finite"),
        (("learner_model_param", "num_feature"), "1", "beyond the 1"),
        (("gradient_booster", "model"), {}, "the XGBoost model is damaged"),
        (("gradient_booster", "model"), [], "the XGBoost model is damaged"),
        (("gradient_booster", "model", "cats"), 5, "the XGBoost model is damaged"),
        (("gradient_booster", "model", "tree_info"), [10**30] * 99, "tree_info is not a list"),
        (("attributes",), 5, "the XGBoost model is damaged"),
        (("attributes",), {"scikit_learn": "", "best_iteration": "9" * 30}, "best_iteration is"),
        (("feature_names",), [5], "distinct names"),
        (("feature_names",), 5, "the XGBoost model is damaged"),
        (("learner_model_param", "num_feature"), "99999999999", "num_feature is 99999999999"),
        (("learner_model_param", "num_feature"), -1, "num_feature is -1"),
        (("learner_model_param", "num_class"), "99999999999", "num_class is 99999999999"),
        (("learner_model_param", "base_score"), "[1E999]", "finite"),
        (("learner_model_param", "base_score"), "[9" + "9" * 400 + "]", "finite number"),
        (("learner_model_param", "base_score"), "[[1]]", "base_score is not a list"),
        (("learner_model_param", "base_score"), 0.5, "the XGBoost model is damaged"),
    ],
)
def test_what_cannot_be_adopted_is_refused(keys, to, message):
    model = model_of("binary")
    change(model, "learner", *keys, to=to)
    with pytest.raises(DataError, match=message):
        read_xgboost(json.dumps(model))


@pytest.mark.parametrize(
    ("key", "to", "message"),
    [
        ("left_children", [1, 0], "not trees|is damaged"),
        ("split_conditions", ["x"], "is damaged"),
        ("split_conditions", [1e300], "differ in length|finite"),
        ("split_indices", [10**400], "finite number"),
        ("split_indices", [2**40], "split_indices is not a list"),
        ("left_children", 5, "left_children is not a list"),
        ("default_left", [7], "default_left is not a list"),
        ("sum_hessian", [1.0], "differ in length"),
        ("categories_nodes", [0], "is damaged"),
        ("tree_param", {"size_leaf_vector": "3"}, "leaves are vectors"),
    ],
)
def test_a_damaged_tree_is_refused(key, to, message):
    model = model_of("binary")
    change(model, "learner", "gradient_booster", "model", "trees", 0, key, to=to)
    with pytest.raises(DataError, match=message):
        read_xgboost(json.dumps(model))


def test_categories_beyond_255_are_refused():
    model = model_of("categories")
    trees = model["learner"]["gradient_booster"]["model"]["trees"]
    next(tree for tree in trees if tree["categories"])["categories"][0] = 255
    with pytest.raises(DataError, match="more than 255 categories"):
        read_xgboost(json.dumps(model))


def test_a_split_by_category_needs_a_categorical_feature():
    model = model_of("categories")
    model["learner"]["feature_types"] = ["float", "float", "c"]
    with pytest.raises(DataError, match="feature 1 of the XGBoost model is not categorical"):
        read_xgboost(json.dumps(model))


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"learner": 3}', "{}", '{"learner": {}}'])
def test_other_text_is_refused(text):
    with pytest.raises(DataError, match="XGBoost model is damaged|not an XGBoost model"):
        read_xgboost(text)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ({"oblivious_trees": [], "features_info": {}}, "CatBoost models are not supported"),
        ({"tree_info": []}, "JSON dump of a LightGBM model; save it as text"),
        ({"a": 1}, "not an XGBoost model: it has no 'learner'"),
    ],
    ids=["catboost", "lightgbm", "dict"],
)
def test_another_json_file_is_refused_by_what_it_is(file, words, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(file))
    with pytest.raises(DataError, match=words):
        adopt(path)


@pytest.mark.parametrize(
    ("key", "to", "message"),
    [
        ("categories_nodes", [10**9], "out of range"),
        ("categories_segments", [-5], "out of range"),
        ("categories_sizes", [1e308], "out of range"),
    ],
)
def test_a_split_by_category_that_is_nowhere_is_refused(key, to, message):
    model = model_of("categories")
    trees = model["learner"]["gradient_booster"]["model"]["trees"]
    tree = next(tree for tree in trees if tree["categories"])
    tree[key] = to * len(tree[key])
    with pytest.raises(DataError, match=message):
        read_xgboost(json.dumps(model))


@pytest.mark.parametrize("values", [[[1]], [1, 1, 2], [None], list(range(300))])
def test_categories_that_are_no_labels_are_refused(values):
    model = model_of("categories")
    model["learner"]["gradient_booster"]["model"]["cats"]["enc"][2]["values"] = values
    with pytest.raises(DataError, match="categor"):
        read_xgboost(json.dumps(model))


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "model.json")
    with pytest.raises(DataError, match=r"model.json: this is not a regular file"):
        adopt(tmp_path / "model.json")
