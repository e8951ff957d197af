"""Prices travel through a pipeline: what a column became costs what the column costs, once."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from pipeline_cases import (
    BOUND,
    FRAME,
    LABELS,
    PRICES,
    SIGNAL,
    N,
    finish,
    fitted_pipeline,
    miser,
    prepare,
)
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.utils.fixes import parse_version

from thrifty import (
    BudgetClassifier,
    Call,
    CompressedSVC,
    GatedClassifier,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    Pipeline,
    Prices,
)
from thrifty.errors import DataError, PriceError
from thrifty.learn.pipeline import price_columns


@pytest.fixture(scope="module")
def pipeline():
    return fitted_pipeline()


# --- bills -------------------------------------------------------------------


def test_a_bill_is_that_of_the_source_columns(pipeline):
    used = pipeline.used(FRAME)
    assert used.shape == (N, 4) and used.dtype == np.bool_
    assert len(np.unique(used, axis=0)) == 3  # rows differ in what they use
    np.testing.assert_array_equal(pipeline.bill(FRAME), BOUND.bill(used))
    assert pipeline.prices_ == BOUND


def test_one_hot_columns_are_paid_once(pipeline):
    model = pipeline[-1]
    of_town = [k for k, name in enumerate(model.schema_.names) if "town" in name]
    assert len(of_town) == 3
    assert model.prices_.own[of_town].tolist() == [0, 0, 0]
    assert model.prices_.full == pytest.approx(BOUND.full + 2.1)  # chol and fbs, each with blood


def test_a_sparse_result_of_a_step_becomes_dense():
    X = FRAME[["town"]]
    piped = Pipeline([("encode", OneHotEncoder()), ("model", miser(prices={"town": 5}))])
    piped.fit(X, LABELS)
    assert set(piped.bill(X)) <= {0.0, 5.0} and piped[-1].prices_.full == 5.0
    assert piped[-1].schema_.names == ("town_bonn", "town_kiel", "town_ulm")


def test_training_never_counts_less_than_the_bill(pipeline):
    table = pipeline._transformed(FRAME)
    assert np.all(pipeline[-1].bill(table) >= pipeline.bill(FRAME) - 1e-9)


def test_what_is_not_used_may_be_anything(pipeline):
    used, before = pipeline.used(FRAME), pipeline.predict_proba(FRAME)
    for j, name in enumerate(FRAME):
        changed = FRAME.copy()
        unused = ~used[:, j]
        changed.loc[unused, name] = FRAME[name].iloc[3]
        np.testing.assert_array_equal(pipeline.predict_proba(changed), before)
        np.testing.assert_array_equal(pipeline.used(changed), used)


def test_the_model_of_a_pipeline_that_changes_nothing_is_the_same():
    alone = miser().fit(FRAME, LABELS)
    for steps in ([], [("nothing", "passthrough")], [("nothing", FunctionTransformer())]):
        piped = Pipeline([*steps, ("model", miser())]).fit(FRAME, LABELS)
        np.testing.assert_array_equal(piped.predict_proba(FRAME), alone.predict_proba(FRAME))
        np.testing.assert_array_equal(piped.bill(FRAME), alone.bill(FRAME))


def test_a_component_costs_all_that_it_is_made_of():
    X = FRAME[["age", "fbs"]]
    model = miser(prices={"age": 1, "fbs": 3}, penalty=0.0)
    piped = Pipeline([("pca", PCA(2)), ("model", model)]).fit(X, LABELS)
    assert piped.sources_.all()
    assert set(piped.bill(X)) == {4.0}
    assert model.prices_.group_names == ("age + fbs",) and model.prices_.full == 4.0


def test_a_budget_that_holds_in_training_holds():
    model = BudgetClassifier(PRICES, 6, learners=[miser()], random_state=0, confidence=None)
    piped = Pipeline([("prepare", prepare()), ("model", model)]).fit(FRAME, LABELS)
    assert 0 < piped.bill(FRAME).mean() <= 6.5
    assert model.prices is PRICES  # what the user gave is kept
    assert piped.score(FRAME, LABELS) > 0.6
    weights = np.linspace(0.5, 2, N)
    assert piped.score(FRAME, LABELS, sample_weight=weights) != piped.score(FRAME, LABELS)


def test_evaluations_are_paid_too():
    X = FRAME[["age", "fbs"]]
    model = miser(prices=Prices({"age": 1, "fbs": 3}, evaluation=0.5))
    piped = Pipeline([("scale", StandardScaler()), ("model", model)]).fit(X, LABELS)
    rest = piped.bill(X) - Prices([1, 3]).bind(2).bill(piped.used(X))
    np.testing.assert_allclose(rest, 0.5 * len(model.model_.roots))
    walk = finish(piped.walk(), X.iloc[0])
    assert walk.receipt.total == piped.bill(X)[0]


# --- prices of transformed columns ---------------------------------------------


def test_columns_of_a_group_stay_in_it_where_that_is_exact():
    prices = Prices([0, 0, 4], groups={"g": [0, 1], "h": [2]}, shared={"g": 2, "h": 3}).bind(3)
    sources = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    columns = price_columns(prices, sources, list("abcde")).bind(list("abcde"))
    assert columns.group_names == ("g", "h") and columns.group.tolist() == [0, 0, 0, 1, -1]
    assert columns.full == prices.full == 9.0


def test_groups_have_different_names():
    prices = Prices({"x": 1, "x*": 2, "z": 3}, groups={"x + x*": ["z"]}, shared={"x + x*": 1})
    sources = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    bound = price_columns(prices.bind(["x", "x*", "z"]), sources, list("abc")).bind(list("abc"))
    assert sorted(bound.group_names) == ["x + x*", "x + x**"] and bound.full == 7.0


def test_the_name_of_a_large_group_is_short():
    prices = Prices([1] * 5).bind(5)
    columns = price_columns(prices, np.ones((2, 5), dtype=bool), ["a", "b"])
    assert list(columns.groups) == ["feature 0 + feature 1 + feature 2 + 2 more"]


# --- a scikit-learn estimator --------------------------------------------------


def test_columns_go_by_name_in_any_order_and_others_are_ignored(pipeline):
    other = FRAME[["town", "fbs", "chol", "age"]].assign(note="x")
    np.testing.assert_array_equal(pipeline.bill(other), pipeline.bill(FRAME))
    with pytest.raises(DataError, match="column 'town' is missing from the table"):
        pipeline.predict(FRAME.drop(columns="town"))


def test_a_pipeline_is_cloned_searched_and_weighted():
    piped = Pipeline([("prepare", prepare()), ("model", miser())], memory=None)
    search = GridSearchCV(clone(piped), {"model__penalty": [0.0, 0.01]}, cv=2)
    search.fit(FRAME, LABELS)
    assert search.best_estimator_.bill(FRAME).shape == (N,)
    weight = (np.arange(N) < N // 2).astype(float)
    half = clone(piped).fit(FRAME, LABELS, model__sample_weight=weight)
    whole = clone(piped).fit(FRAME, LABELS)
    assert not np.array_equal(half.predict_proba(FRAME), whole.predict_proba(FRAME))
    assert list(whole.classes_) == ["no", "yes"]


def test_a_cache_is_used(tmp_path):
    piped = Pipeline([("prepare", prepare()), ("model", miser())], memory=str(tmp_path))
    expected = clone(piped).set_params(memory=None).fit(FRAME, LABELS).bill(FRAME)
    np.testing.assert_array_equal(piped.fit(FRAME, LABELS).bill(FRAME), expected)


def test_steps_that_cross_fit_are_trained_as_in_scikit_learn():
    X = FRAME[["town"]]
    if parse_version(sklearn.__version__) < parse_version("1.9"):
        encoder = TargetEncoder(cv=3, random_state=0)
    else:
        encoder = TargetEncoder(cv=KFold(3, shuffle=True, random_state=0))
    piped = Pipeline([("encode", encoder), ("model", miser(prices=[1.0]))])
    piped.fit(X, LABELS)
    cross_fitted = clone(encoder).fit_transform(X, LABELS)
    alone = miser(prices=[1.0]).fit(pd.DataFrame(cross_fitted, columns=["town"]), LABELS)
    np.testing.assert_array_equal(
        piped.predict_proba(X), alone.predict_proba(piped._transformed(X))
    )


def test_a_validation_set_is_transformed():
    budget = BudgetClassifier(PRICES, 6, learners=[miser()], random_state=0, confidence=None)
    piped = Pipeline([("prepare", prepare()), ("model", budget)])
    piped.fit(FRAME[:300], LABELS[:300], model__validation=(FRAME[300:], LABELS[300:]))
    assert len(budget.validation_) == 100


def test_other_tasks_have_other_methods():
    X = FRAME[["age", "fbs"]]
    piped = Pipeline([("scale", StandardScaler()), ("model", GreedyMiserRegressor(n_estimators=5))])
    piped.fit(X, SIGNAL)
    assert not hasattr(piped, "predict_proba") and not hasattr(piped, "decision_function")
    assert piped.score(X, SIGNAL) > 0.1
    svc = Pipeline([("scale", StandardScaler()), ("model", CompressedSVC(random_state=0))])
    svc.fit(X, LABELS)
    if hasattr(svc, "decision_function"):
        assert len(svc.decision_function(X)) == N


# --- errors ------------------------------------------------------------------


def test_a_model_file_is_refused_with_the_remedy(pipeline, tmp_path):
    with pytest.raises(DataError, match=r"m.thrifty: .*keep the pipeline with joblib.dump"):
        pipeline.save(tmp_path / "m.thrifty")
    assert not list(tmp_path.iterdir())


def test_an_unfitted_pipeline_says_so():
    piped = Pipeline([("prepare", prepare()), ("model", miser())])
    for face in (piped.predict, piped.bill, piped.used):
        with pytest.raises(NotFittedError):
            face(FRAME)
    with pytest.raises(NotFittedError):
        piped.walk()


def test_a_pipeline_survives_pickling(pipeline):
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.bill(FRAME), pipeline.bill(FRAME))
    assert finish(again.walk(), FRAME.iloc[1]).answer == pipeline.predict(FRAME.iloc[[1]])[0]


def test_the_last_step_must_be_ours():
    piped = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
    with pytest.raises(DataError, match="a LogisticRegression, is not an estimator of Thrifty"):
        piped.fit(FRAME[["age"]], LABELS)


def test_prices_that_do_not_fit_the_sources_are_refused():
    piped = Pipeline([("prepare", prepare()), ("model", miser(prices={"age": 1}))])
    with pytest.raises(PriceError, match="no price for 'chol', 'fbs', 'town'"):
        piped.fit(FRAME, LABELS)


def test_a_model_with_columns_of_its_own_is_refused():
    X = FRAME[["age", "fbs"]]
    expensive = GreedyMiserClassifier(n_estimators=5).fit(X, LABELS)
    gate = GatedClassifier(Call("expensive", 1.0, None, expensive), random_state=0)
    piped = Pipeline([("nothing", FunctionTransformer()), ("model", gate)])
    with pytest.raises(DataError, match="a GatedClassifier reads columns of its own"):
        piped.fit(X, LABELS)


def test_a_step_that_does_not_name_its_columns_gets_numbers():
    X = FRAME[["age", "fbs"]].to_numpy()
    step = FunctionTransformer(lambda X: X * 2)
    model = miser(prices=[1, 3])
    piped = Pipeline([("double", step), ("model", model)]).fit(X, LABELS)
    assert model.schema_.names == ("x0", "x1") and piped.bill(X).max() <= 4.0


def test_the_order_of_the_columns_decides_nothing():
    def piped(table):
        model = GreedyMiserClassifier(PRICES, penalty=0.002, n_estimators=10, random_state=0)
        towns = make_column_transformer(
            (OneHotEncoder(), ["town"]), remainder="passthrough", verbose_feature_names_out=False
        )
        return Pipeline([("prepare", towns), ("model", model)]).fit(table, LABELS)

    order = [2, 0, 3, 1]
    permuted = FRAME.iloc[:, order]
    first, second = piped(FRAME), piped(permuted)
    np.testing.assert_array_equal(first.predict_proba(FRAME), second.predict_proba(permuted))
    np.testing.assert_array_equal(first.bill(FRAME), second.bill(permuted))
    np.testing.assert_array_equal(first.used(FRAME)[:, order], second.used(permuted))
