"""Gates in front of an expensive regressor."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import thrifty
from thrifty import Call, GatedRegressor, GreedyMiserClassifier, GreedyMiserRegressor, Prices
from thrifty.errors import BudgetError, DataError
from thrifty.serve import connect

FOREST = RandomForestRegressor(10, min_samples_leaf=3, random_state=0)


@pytest.fixture
def half_steep():
    """A function that draws rows: column 0 is enough where it is positive."""

    def draw(n=600, seed=0):
        X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 4))
        return X, X[:, 0] + np.where(X[:, 0] > 0, 0.0, 2 * X[:, 1] * X[:, 2])

    return draw


@pytest.mark.parametrize("family", ["boosted", "linear", "leaves"])
def test_rows_that_the_local_model_cannot_predict_are_sent(family, half_steep, families) -> None:
    X, y = half_steep()
    model = GatedRegressor(
        FOREST, share=0.5, family=families[family], alternations=3, random_state=0
    ).fit(X, y)
    sent = model.sent(X)
    assert np.mean(X[sent, 0] < 0) > 0.8
    assert np.all(np.diff(model.history_) <= 1e-9)
    local = model.local_outputs(X)[0]
    assert model.score(X, y) > 1.0 - np.var(y - local) / np.var(y)


def test_a_share_of_0_is_greedy_miser_to_the_bit(half_steep, families) -> None:
    X, y = half_steep(300)
    y = 1000.0 * y
    gated = GatedRegressor(
        FOREST, [1.0, 2.0, 3.0, 4.0], share=0.0, penalty=500.0, family=families["boosted"]
    ).fit(X, y)
    plain = GreedyMiserRegressor(
        [1.0, 2.0, 3.0, 4.0], 500.0, n_estimators=8, learning_rate=0.3, max_depth=3,
        min_samples_leaf=5,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_array_equal(gated.predict(X), plain.predict(X))
    np.testing.assert_array_equal(gated.bill(X), plain.bill(X))


def test_the_unit_of_the_target_decides_nothing(half_steep, families) -> None:
    X, y = half_steep(300)
    small = GatedRegressor(FOREST, penalty=0.001, family=families["linear"], random_state=0)
    large = GatedRegressor(FOREST, penalty=1.024, family=families["linear"], random_state=0)
    small.fit(X, y), large.fit(X, 32.0 * y)
    np.testing.assert_array_equal(small.sent(X), large.sent(X))
    np.testing.assert_allclose(32.0 * small.predict(X), large.predict(X))


def test_a_quality_is_reached_with_confidence(half_steep, families) -> None:
    X, y = half_steep()
    validation = half_steep(400, seed=1)
    settings = {"family": families["boosted"], "alternations": 2, "random_state": 0}
    plain = GatedRegressor(FOREST, target={"quality": 0.6}, **settings)
    sure = GatedRegressor(FOREST, target={"quality": 0.6, "confidence": 0.9}, **settings)
    plain.fit(X, y, validation=validation), sure.fit(X, y, validation=validation)
    assert plain.score(*validation) >= 0.6
    assert sure.score(*validation) > plain.score(*validation)
    with pytest.raises(BudgetError, match="the best is"):
        plain.set_params(target={"quality": 1.0}).fit(X, y, validation=validation)


def test_the_cheapest_penalty_within_noise_is_taken(half_steep, families) -> None:
    X, y = half_steep()
    model = GatedRegressor(
        FOREST, penalty="auto", family=families["boosted"], alternations=2, random_state=0
    ).fit(X, y, validation=half_steep(200, seed=1))
    assert model.predictor_.knob["penalty"] > 0


def test_a_path_reports_r2(half_steep, families) -> None:
    X, y = half_steep()
    Xv, yv = half_steep(200, seed=1)
    model = GatedRegressor(FOREST, family=families["leaves"], alternations=2, random_state=0)
    points = list(model.path(X, y, validation=(Xv, yv), shares=[0.3], penalties=[0.01, 0.0]))
    assert points[0].bill == 0.0 and points[0].quality == pytest.approx(0.0, abs=0.05)
    residual = yv - points[-1].model.predict(Xv)
    assert points[-1].quality == pytest.approx(1 - np.mean(residual**2) / np.var(yv))
    assert points[-1].quality > 0.8


def test_a_function_is_called_for_the_rows_sent(half_steep, families, tmp_path) -> None:
    X, y = half_steep(300)
    frame = pd.DataFrame(X, columns=list("abcd"))
    oracle = LinearRegression().fit(X[:, :3], y)
    calls = []

    def remote(rows):
        calls.append(len(rows))
        return oracle.predict(rows.to_numpy())

    call = Call("remote", 5.0, needs=["a", "b", "c"], fn=remote)
    model = GatedRegressor(
        call, Prices(unit="ct"), share=0.4, penalty=0.01, family=families["leaves"], random_state=0
    ).fit(frame, y)
    sent = model.sent(frame)
    predicted = model.predict(frame)
    assert calls == [300, sent.sum()]
    np.testing.assert_allclose(predicted[sent], oracle.predict(X[sent, :3]))
    path = tmp_path / "gate.thrifty"
    model.save(path)
    loaded = thrifty.load(path)
    walk = loaded.walk()
    row = int(np.flatnonzero(sent)[0])
    while "remote: value" not in walk.asks:
        walk.tell({name: frame[name].iloc[row] for name in walk.asks})
    walk.tell(model.make_call(walk.told))
    assert (
        walk.answer == pytest.approx(predicted[row])
        and walk.receipt.total == model.bill(frame)[row]
    )
    target = GreedyMiserRegressor(n_estimators=3).fit(frame[["a", "b", "c"]], y)
    connected = connect(loaded, target.predictor_)
    np.testing.assert_allclose(connected.predict(frame)[sent], target.predict(frame)[sent])


def test_a_server_answers_with_values(half_steep, families, serve) -> None:
    X, y = half_steep(120)
    url, requests, _ = serve(
        lambda body: (
            200,
            str({"values": [row[0] for row in body["rows"]]}).replace("'", '"').encode(),
        )
    )
    model = GatedRegressor(Call("remote", fn=url), family=families["linear"], random_state=0)
    model.fit(X, y)
    sent = model.sent(X)
    np.testing.assert_allclose(model.predict(X)[sent], X[sent, 0])
    assert sum(len(body["rows"]) for body in requests) == 120 + sent.sum()


def test_the_local_model_steps_in_for_a_value_that_is_missing(half_steep, families) -> None:
    X, y = half_steep(120)
    outputs = [y, np.full(36, np.nan)]
    call = Call("remote", fn=lambda rows: outputs.pop(0)[: len(rows)])
    model = GatedRegressor(call, family=families["linear"], random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"failed for 36 rows.*a value is missing"):
        predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, model.local_outputs(X)[0])


def test_predictions_that_are_known_are_not_computed(half_steep, families) -> None:
    X, y = half_steep(120)
    fitted = GreedyMiserRegressor(n_estimators=3).fit(X, y)
    model = GatedRegressor(fitted, family=families["linear"], random_state=0)
    model.fit(X, y, sample_weight=np.arange(120) % 2, expensive_values=y + 0.1)
    assert model.sent(X).any()
    with pytest.raises(thrifty.errors.SourceError, match=r"call 'expensive_values'.*shape \(3,\)"):
        model.fit(X, y, expensive_values=y[:3])


def test_a_classifier_is_refused(half_steep) -> None:
    X, y = half_steep(60)
    classifier = GreedyMiserClassifier(n_estimators=2).fit(X, y > 0)
    with pytest.raises(DataError, match=r"it predicts the classes \[False, True\], .* numbers"):
        GatedRegressor(classifier).fit(X, y)
