"""The expensive model: trained or taken as it is, out of fold, cached, frozen or called."""

from __future__ import annotations

import errno

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from thrifty import Call, GatedClassifier, GreedyMiserClassifier
from thrifty.errors import DataError
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.expensive_model import (
    as_call,
    out_of_fold_scores,
    prepare_expensive,
    schema_of,
)


def prepared(call, X, y, weight=None):
    train = TrainingSet.read("classification", X, y, sample_weight=weight)
    return prepare_expensive(call, train, None, np.random.RandomState(0))


def test_optimism_is_kept_out() -> None:
    # A forest that has memorized its training rows would look perfect on noise.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    forest = RandomForestClassifier(20, random_state=0)
    out_of_fold = prepared(Call("x", fn=forest), X, y).scores
    assert abs(np.mean(out_of_fold.argmax(axis=1) == y) - 0.5) < 0.1
    in_sample = prepared(Call("x", fn=forest.fit(X, y), folds=None), X, y).scores
    assert np.mean(in_sample.argmax(axis=1) == y) > 0.95


def test_a_fitted_estimator_is_trusted_only_if_the_call_says_so(half_hard) -> None:
    X, y = half_hard(200)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    again = prepared(Call("x", fn=forest), X, y)
    np.testing.assert_array_equal(again.call.fn.predict_proba(X), forest.predict_proba(X))
    assert not np.array_equal(again.scores, forest.predict_proba(X))
    as_it_is = prepared(Call("x", fn=forest, folds=None), X, y)
    np.testing.assert_array_equal(as_it_is.scores, forest.predict_proba(X))


def test_a_class_too_rare_for_a_fold_has_probability_zero_there() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    train = TrainingSet.read("classification", X, np.array([0] * 10 + [1] * 9 + [2]))
    forest = RandomForestClassifier(5, random_state=0)
    call = Call("x", fn=forest, folds=3)
    proba = out_of_fold_scores(call, forest, X, train, np.random.RandomState(0))
    assert proba[19, 2] == 0.0
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_sample_weights_reach_the_expensive_model(half_hard) -> None:
    X, y = half_hard(200)
    weight = np.where(y == 1, 5.0, 0.1)
    forest = RandomForestClassifier(10, max_depth=2, random_state=0)
    plain, weighted = (prepared(Call("x", fn=forest), X, y, w).scores for w in (None, weight))
    assert weighted[:, 1].mean() > plain[:, 1].mean() + 0.2


def test_trained_models_are_frozen_and_others_are_called(half_hard, small) -> None:
    X, y = half_hard(300)
    forest = RandomForestClassifier(15, min_samples_leaf=3, random_state=0)
    inside = GatedClassifier(forest, **small).fit(X, y)
    assert inside.model_.expensive.kind == "forest"
    called = GatedClassifier(MLPClassifier(8, max_iter=30, random_state=0), **small)
    with pytest.warns(UserWarning, match="[Cc]onverge"):
        called.fit(X, y)
    assert called.model_.expensive.kind == "answer"
    assert called.used(X).shape == (300, 6)
    assert called.predict_proba(X).shape == (300, 2)


def test_an_svm_is_calibrated_and_frozen(half_hard) -> None:
    X, y = half_hard(200)
    expensive = prepared(Call("x", fn=SVC()), X, y)
    assert expensive.frozen.n_scores == 2
    np.testing.assert_allclose(expensive.scores.sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        expensive.frozen.score(X).argmax(axis=1), SVC().fit(X, y).predict(X)
    )


def test_without_a_model_a_large_boosted_one_is_trained(half_hard) -> None:
    X, y = half_hard(100)
    expensive = prepared(as_call(None), X, y)
    assert isinstance(expensive.call.fn, GreedyMiserClassifier)
    assert expensive.call.fn.n_estimators == 200 and expensive.frozen.kind == "forest"


def test_a_priced_estimator_is_called_with_what_it_needs(named_table, small) -> None:
    X, y = named_table()
    forest = RandomForestClassifier(10, random_state=0)
    call = Call("forest", 3.0, needs=["a", "b"], fn=forest)
    model = GatedClassifier(call, share=0.3, **small).fit(X, y)
    assert model.model_.expensive.kind == "answer"
    assert model._columns.call.fn.n_features_in_ == 2
    assert not hasattr(forest, "estimators_")  # the user's own is not fitted
    assert set(model.why(X)) == {"sent to forest", "local: the gate keeps it"}


def test_a_model_of_another_table_is_refused(half_hard) -> None:
    X, y = half_hard(200)
    unnamed = GreedyMiserClassifier(n_estimators=3).fit(X, y)
    names = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(DataError, match="other columns"):
        GatedClassifier(Call("x", fn=unnamed, folds=None)).fit(names, y)
    with pytest.raises(DataError, match="it predicts the classes"):
        GatedClassifier(Call("x", fn=unnamed, folds=None)).fit(
            X, y + 1, expensive_proba=np.eye(2)[y]
        )
    forest = RandomForestClassifier(3, random_state=0).fit(names, y)
    with pytest.raises(DataError, match="expensive: trained on other columns"):
        GatedClassifier(Call("x", fn=forest, folds=None)).fit(names.rename(columns={"a": "z"}), y)


@pytest.mark.parametrize("is_fitted", [True, False])
def test_the_columns_of_a_forest_go_by_name(half_hard, small, is_fitted) -> None:
    X, y = half_hard(200)
    names = pd.DataFrame(X, columns=list("dbca"))
    forest = RandomForestClassifier(3, random_state=0)
    forest = forest.fit(names, y) if is_fitted else forest
    given = Call("x", fn=forest, folds=None if is_fitted else 2)
    permuted = names[list("bacd")]
    first = GatedClassifier(given, **small).fit(names, y)
    second = GatedClassifier(given, **small).fit(permuted, y)
    np.testing.assert_array_equal(first.predict_proba(names), second.predict_proba(permuted))
    np.testing.assert_array_equal(
        first.expensive_outputs(names)[0], second.expensive_outputs(permuted)[0]
    )


def test_a_needed_feature_must_be_in_the_table(named_table, oracle, small) -> None:
    X, y = named_table()
    with pytest.raises(DataError, match="z"):
        GatedClassifier(Call("x", fn=oracle, needs=["z"]), **small).fit(X, y)


def test_probabilities_are_cached_in_a_folder(
    tmp_path, named_table, counting_oracle, oracle, small
) -> None:
    X, y = named_table()
    call = Call("the oracle", fn=counting_oracle, folder=tmp_path / "cache")
    first = GatedClassifier(call, **small).fit(X, y)
    again = GatedClassifier(call, **small).fit(X, y)
    assert counting_oracle.rows == 300
    (file,) = (tmp_path / "cache").iterdir()
    np.testing.assert_array_equal(np.load(file, allow_pickle=False), oracle(X))
    assert first.model_.state()[0] == again.model_.state()[0]
    GatedClassifier(call, **small).fit(X.iloc[:299], y[:299])
    assert counting_oracle.rows == 599  # other rows
    file.write_bytes(b"damaged")
    GatedClassifier(call, **small).fit(X, y)
    assert counting_oracle.rows == 899 and np.load(file, allow_pickle=False).shape == (300, 2)


@pytest.mark.parametrize(
    "array",
    [np.full((300, 2), np.nan), np.full((300, 2), 7.0), np.zeros((300, 3)), np.zeros(600, ">f8"),
     np.zeros((300, 2), "f4")],
)  # fmt: skip
def test_a_cached_file_that_holds_no_probabilities_is_not_used(
    tmp_path, named_table, counting_oracle, small, array
) -> None:
    X, y = named_table()
    call = Call("the oracle", fn=counting_oracle, folder=tmp_path)
    GatedClassifier(call, **small).fit(X, y)
    (file,) = tmp_path.iterdir()
    np.save(file, array)
    GatedClassifier(call, **small).fit(X, y)
    assert counting_oracle.rows == 600


def test_a_folder_that_cannot_be_made_is_an_error_before_anything_is_paid(
    tmp_path, named_table, counting_oracle, small
) -> None:
    X, y = named_table()
    (tmp_path / "file").write_bytes(b"")
    call = Call("the oracle", fn=counting_oracle, folder=tmp_path / "file")
    with pytest.raises(OSError, match="cannot make the folder"):
        GatedClassifier(call, **small).fit(X, y)
    assert counting_oracle.rows == 0


def test_a_disk_that_is_full_does_not_end_a_fit_that_was_paid_for(
    tmp_path, named_table, counting_oracle, small, monkeypatch
) -> None:
    X, y = named_table()

    def full(path, data):
        raise OSError(errno.ENOSPC, "cannot write: No space left on device", str(path))

    monkeypatch.setattr("thrifty.learn.gates.expensive_model.write_whole", full)
    call = Call("the oracle", fn=counting_oracle, folder=tmp_path)
    with pytest.warns(UserWarning, match="not cached, and the next fit calls again.*No space"):
        model = GatedClassifier(call, **small).fit(X, y)
    assert counting_oracle.rows == 300 and len(model.predict(X)) == 300


def test_the_schema_of_a_fitted_model_of_this_library_is_known(half_hard) -> None:
    X, y = half_hard(100)
    miser = GreedyMiserClassifier(n_estimators=3)
    assert schema_of(as_call(miser)) is None
    miser.fit(X, y)
    for model in (miser, miser.predictor_, FrozenEstimator(miser)):
        assert schema_of(as_call(model)) == miser.schema_
    assert schema_of(Call("priced", 1.0, fn=miser)) == miser.schema_
    assert schema_of(Call("needy", needs=[0], fn=miser)) is None
    assert schema_of(as_call(RandomForestClassifier(3).fit(X, y))) is None


@pytest.mark.parametrize("price", [0.0, 3.0])
def test_a_model_of_some_columns_becomes_part_of_the_gate(price, named_table, small) -> None:
    X, y = named_table()
    own = X.loc[X["kind"] == "y", ["kind", "b"]]  # it knows one category, and another order
    miser = GreedyMiserClassifier(n_estimators=5, random_state=0)
    miser.fit(pd.concat([own, X[["kind", "b"]].iloc[:50]]), np.append(y[own.index], y[:50]))
    call = Call("miser", price, fn=miser.predictor_)
    model = GatedClassifier(call, share=0.4, **small).fit(X, y)
    assert model.model_.expensive.kind == "priced-call"
    assert model.predictor_.schema.names == ("a", "b", "c", "kind", "miser")
    sent = model.sent(X)
    assert sent.any()
    np.testing.assert_array_equal(
        model.predict_proba(X)[sent], miser.predict_proba(X[["kind", "b"]])[sent]
    )
    used = model.used(X)
    np.testing.assert_array_equal(used[:, 4], sent)
    np.testing.assert_allclose(model.bill(X), used[:, :4].sum(axis=1) + price * sent)
    np.testing.assert_array_equal(model.predictor_.predict(X), model.predict(X))


def test_a_gate_with_a_priced_model_is_called_by_another(half_hard, small) -> None:
    X, y = half_hard(300)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    inner = GatedClassifier(Call("inner", 2.0, fn=forest, folds=None), **small).fit(X, y)
    outer = GatedClassifier(Call("outer", 1.0, fn=inner.predictor_), **small).fit(X, y)
    assert outer.model_.expensive.kind == "answer"  # its own call is no column of the table
