"""The budget estimators: the best point within the budget, and never a row above the cap."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from thrifty import (
    BudgetClassifier,
    BudgetForestClassifier,
    BudgetRanker,
    BudgetRegressor,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    LadderClassifier,
    LadderRegressor,
    Prices,
    load,
)
from thrifty.errors import BudgetError, DataError

RNG = np.random.default_rng(1)
X = pd.DataFrame(RNG.normal(size=(400, 4)), columns=["free", "cheap", "dear", "noise"])
VALUE = (0.3 * X["free"] + X["cheap"] + X["dear"] + 0.2 * RNG.normal(size=400)).to_numpy()
LABEL = np.where(VALUE > 0, "yes", "no")
PRICES = Prices({"free": 0.0, "cheap": 1.0, "dear": 10.0, "noise": 1.0}, unit="CAD")
MISER = GreedyMiserClassifier(n_estimators=15, charge="example")
FOREST = BudgetForestClassifier(n_estimators=5)


def budgeted(**settings):
    given = {"prices": PRICES, "learners": [MISER, FOREST], "random_state": 0, **settings}
    return BudgetClassifier(**given)


@pytest.fixture(scope="module")
def model():
    return budgeted(budget=5.0, confidence=None).fit(X, LABEL)


def test_the_best_point_within_the_budget_is_taken(model) -> None:
    within = [point for point in model.frontier_.points if point.bill <= 5.0]
    assert model.point_ in within
    assert model.frontier_.chosen is model.point_
    assert max(point.quality for point in within) >= model.point_.quality > 0.6


def test_the_curve_has_the_points_of_all_learners(model) -> None:
    assert set(model.frontier_.learners) == {"GreedyMiserClassifier", "BudgetForestClassifier"}
    assert [result.outcome for result in model.learner_results_] == ["ran", "ran"]


def test_together_they_are_at_least_as_good_as_each_alone(model) -> None:
    for learner in model.frontier_.learners:
        alone = model.frontier_.of(learner)
        for budget in (0.0, 1.0, 2.0, 5.0, 12.0):
            best = max(p.quality for p in model.frontier_.points if p.bill <= budget)
            assert best >= max(p.quality for p in alone.points if p.bill <= budget)


def test_another_budget_chooses_without_training(model, monkeypatch) -> None:
    monkeypatch.setattr("thrifty.frontier.budget_base.race", None)
    cheap, dear = model.at_budget(1.0), model.at_budget(12.0)
    assert cheap.bill(X).mean() < dear.bill(X).mean()
    assert (cheap.budget, dear.budget, model.budget) == (1.0, 12.0, 5.0)
    assert cheap.frontier_.points == model.frontier_.points
    assert dear.score(X, LABEL) > cheap.score(X, LABEL)


def test_a_quality_takes_the_cheapest_that_reaches_it_with_the_confidence(model) -> None:
    sure = copy.copy(model)
    sure.confidence = 0.95
    good = sure.at_quality(0.5)
    assert good.point_ is model.frontier_.cheapest(0.5, 0.95)
    assert good.point_.quality >= 0.5 and good.budget is None
    with pytest.raises(BudgetError, match=r"no model reaches accuracy 1\.01 with 95% confidence"):
        sure.at_quality(1.01)


def test_a_quality_without_a_confidence_is_that_of_the_validation_set(model) -> None:
    good = model.at_quality(0.7)
    cheaper = [p for p in model.frontier_.points if p.bill < good.point_.bill]
    assert good.point_.quality >= 0.7
    assert cheaper and all(point.quality < 0.7 for point in cheaper)


def test_without_a_budget_money_is_no_object() -> None:
    model = budgeted(learners=[MISER]).fit(X, LABEL)
    best = max(point.quality for point in model.frontier_.points)
    assert model.point_.quality == pytest.approx(best, abs=0.05)
    assert model.point_.bill > 5


def test_a_budget_of_nothing_gives_the_constant_and_what_is_free(model) -> None:
    assert model.at_budget(0.0).bill(X).max() == 0.0


@pytest.mark.parametrize("amount", [-1.0, np.nan, np.inf, True])
@pytest.mark.parametrize("which", ["budget", "cap"])
def test_an_amount_that_is_none_is_refused_before_training(which, amount, monkeypatch) -> None:
    monkeypatch.setattr("thrifty.frontier.budget_base.race", None)
    with pytest.raises(BudgetError, match=f"{which}: .* is not a finite number"):
        budgeted(**{which: amount}).fit(X, LABEL)


def test_a_budget_below_the_cheapest_point_names_it() -> None:
    prices = Prices({"free": 1.0, "cheap": 1.0, "dear": 9.0, "noise": 1.0}, evaluation=0.5)
    forest = BudgetForestClassifier(n_estimators=2)
    model = budgeted(prices=prices, learners=[forest], confidence=None, budget=1e-9)
    points = [p for p in forest.set_params(prices=prices).path(X, LABEL, validation=(X, LABEL))]
    if points[0].bill > 0:
        with pytest.raises(BudgetError, match="the cheapest"):
            model.fit(X, LABEL)
    else:
        assert model.fit(X, LABEL).bill(X).max() == 0


@settings(max_examples=12, deadline=None)
@given(cap=st.floats(0, 14), noise=st.floats(0.1, 100), seed=st.integers(0, 3))
def test_no_row_ever_costs_more_than_the_cap(cap, noise, seed) -> None:
    model = budgeted(cap=cap, learners=[MISER, clone(FOREST).set_params(n_estimators=3)],
                     random_state=seed).fit(X.iloc[:150], LABEL[:150])  # fmt: skip
    strange = pd.DataFrame(np.random.default_rng(seed).normal(scale=noise, size=(300, 4)),
                           columns=X.columns)  # fmt: skip
    strange = strange.mask(strange > noise)
    assert model.bill(strange).max(initial=0.0) <= cap
    assert all(point.ceiling <= cap for point in model.frontier_.points)


def test_the_quality_asked_for_is_the_one_that_is_maximized() -> None:
    model = budgeted(scoring="roc_auc", learners=[MISER]).fit(X, LABEL)
    assert model.frontier_.scoring == "roc_auc"
    point = model.point_
    assert point.quality_interval[0] <= point.quality <= point.quality_interval[1]


def test_a_validation_set_of_ones_own_is_used() -> None:
    model = budgeted(learners=[MISER]).fit(X[:300], LABEL[:300], validation=(X[300:], LABEL[300:]))
    rows = X[300:]
    for point in model.frontier_.points[::5]:
        assert point.bill == pytest.approx(point.model.bill(rows).mean())
        assert point.quality == pytest.approx(np.mean(point.model.predict(rows) == LABEL[300:]))


def test_rows_of_a_group_stay_together() -> None:
    families = np.arange(400) // 8
    model = budgeted(learners=[MISER]).fit(X, LABEL, groups=families)
    clusters = model.frontier_.clusters
    assert np.unique(clusters, return_counts=True)[1].tolist() == [8] * 10


def test_a_class_whose_groups_are_all_held_out_is_named() -> None:
    families = np.arange(400) // 8
    rare = LABEL.astype(object)
    rare[families == 7] = "rare"
    message = r"no row of class \['rare'\] is left to train on"
    with pytest.raises(DataError, match=message):
        for seed in range(60):  # some seed holds out the one family
            budgeted(learners=[clone(MISER).set_params(n_estimators=1)], random_state=seed).fit(
                X, rare, groups=families
            )


def test_values_and_orders_have_estimators_too(tmp_path) -> None:
    miser = GreedyMiserRegressor(n_estimators=15)
    regressor = BudgetRegressor(PRICES, budget=1.0, learners=[miser], random_state=0).fit(X, VALUE)
    assert regressor.bill(X).max() <= 1.0 and regressor.score(X, VALUE) > 0.2
    ranker = BudgetRanker(PRICES, budget=1.0, effort="fast", random_state=0)
    ranker.fit(X, np.digitize(VALUE, [0, 1]), qid=np.arange(400) // 10)
    assert ranker.bill(X).mean() <= 1.0
    assert ranker.score(X, np.digitize(VALUE, [0, 1]), np.arange(400) // 10) > 0.5
    ranker.save(tmp_path / "rank.thrifty")
    np.testing.assert_array_equal(load(tmp_path / "rank.thrifty").predict(X), ranker.predict(X))


def test_a_ranker_is_chosen_on_whole_queries() -> None:
    ranker = BudgetRanker(PRICES, learners=[GreedyMiserRanker(n_estimators=5)], random_state=0)
    ranker.fit(X, np.digitize(VALUE, [0, 1]), qid=np.arange(400) // 10)
    assert np.unique(ranker.frontier_.clusters, return_counts=True)[1].tolist() == [10] * 8


@pytest.mark.parametrize("learners", ["auto", [GreedyMiserRanker(n_estimators=5)]])
def test_a_ranker_without_queries_divides_the_rows(learners) -> None:
    ranker = BudgetRanker(PRICES, learners=learners, effort="fast", random_state=0)
    assert ranker.fit(X, np.digitize(VALUE, [0, 1])).score(X, np.digitize(VALUE, [0, 1])) > 0.5


def test_it_is_cloned_and_searched_like_any_estimator() -> None:
    search = GridSearchCV(
        budgeted(learners=[MISER], confidence=None), {"budget": [0.0, 12.0]}, cv=2
    )
    assert search.fit(X, LABEL).best_params_ == {"budget": 12.0}
    assert clone(search.best_estimator_).budget == 12.0


def test_the_same_seed_gives_the_same_curve(model) -> None:
    again = budgeted(budget=5.0, confidence=None).fit(X, LABEL)
    figures = [[(p.bill, p.quality) for p in m.frontier_.points] for m in (model, again)]
    assert figures[0] == figures[1]
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"learners": []}, "there are none"),
        ({"learners": [GreedyMiserClassifier]}, "have no path"),
        ({"learners": ["miser"]}, r"\['str'\] have no path"),
        ({"scoring": "acuracy"}, "did you mean 'accuracy'"),
        ({"scoring": "r2"}, "is for regression"),
    ],
)
def test_wrong_settings_are_refused_with_a_remedy(change, words) -> None:
    with pytest.raises(DataError, match=words):
        budgeted(**change).fit(X, LABEL)


def test_too_few_rows_to_hold_any_out_are_refused() -> None:
    with pytest.raises(DataError, match="too few to hold out a validation set"):
        budgeted(learners=[MISER]).fit(X.iloc[:4], ["a", "b", "c", "d"])


def test_validation_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(DataError, match="give the table and its target"):
        budgeted().fit(X, LABEL, validation=X)


def test_learners_of_one_class_get_numbers() -> None:
    shallow = GreedyMiserClassifier(n_estimators=3, max_depth=1)
    model = budgeted(learners=[shallow, MISER]).fit(X, LABEL)
    assert [result.learner for result in model.learner_results_] == [
        "GreedyMiserClassifier-1",
        "GreedyMiserClassifier-2",
    ]


# --- ladders, on all rows ----------------------------------------------------


def test_a_ladder_alone_trains_and_chooses_on_all_rows(monkeypatch) -> None:
    fitted = []
    read = LadderClassifier._fit_ladders

    def spy(self, train, validation):
        fitted.append((len(train), validation))
        return read(self, train, validation)

    monkeypatch.setattr(LadderClassifier, "_fit_ladders", spy)
    model = BudgetClassifier(PRICES, effort="fast", random_state=0).fit(X, LABEL)
    assert fitted == [(400, None)]
    assert model.frontier_.learners == ("ladder",)
    assert model.validation_.positions.tolist() == list(range(400))
    assert len(model.point_.bills) == 400
    assert model.point_.quality == pytest.approx(0.9, abs=0.08)


@pytest.mark.parametrize("ladder", [LadderClassifier, LadderRegressor])
def test_noise_is_not_taken_for_quality(ladder) -> None:
    noise = np.random.default_rng(0).normal(size=400)
    kind, y = (
        (BudgetClassifier, noise > 0) if ladder is LadderClassifier else (BudgetRegressor, noise)
    )
    model = kind(effort="fast", random_state=0).fit(X.to_numpy(), y)
    best = max(point.quality for point in model.frontier_.points)
    assert best < (0.62 if ladder is LadderClassifier else 0.1)


def test_one_learner_that_does_not_cross_fit_holds_rows_out_for_all() -> None:
    learners = [LadderClassifier(effort="fast"), MISER]
    model = budgeted(learners=learners).fit(X, LABEL)
    assert len(model.validation_) == 80
    assert all(len(point.bills) == 80 for point in model.frontier_.points)
    held_out = X.iloc[model.validation_.positions]
    for point in model.frontier_.points[::9]:
        assert point.bill == pytest.approx(point.model.bill(held_out).mean())


def test_two_ladders_are_measured_on_the_same_rows() -> None:
    shallow = LadderClassifier(effort="fast", folds=2)
    model = budgeted(learners={"a": shallow, "b": LadderClassifier(effort="fast")}).fit(X, LABEL)
    assert set(model.frontier_.learners) == {"a", "b"}
    assert all(len(point.bills) == 400 for point in model.frontier_.points)


def test_rows_of_weight_0_are_as_if_they_were_not_there() -> None:
    kept = np.random.default_rng(0).random(400) < 0.5
    strange = X.copy()
    strange[~kept] = 1e6
    model = BudgetClassifier(PRICES, budget=5.0, effort="fast", random_state=0)
    beside = model.fit(strange, LABEL, sample_weight=kept.astype(float)).predict_proba(X)
    alone = model.fit(X[kept], LABEL[kept], sample_weight=np.ones(kept.sum())).predict_proba(X)
    np.testing.assert_array_equal(beside, alone)


@pytest.mark.parametrize("learners", ["auto", [MISER], [LadderClassifier(effort="fast")]])
def test_class_weights_count_once_in_training(learners) -> None:
    rare = np.where(np.arange(400) % 5 == 0, "rare", "usual")
    model = BudgetClassifier(
        budget=0.0, class_weight="balanced", effort="fast", learners=learners, random_state=0
    )
    shares = model.fit(X, rare).predict_proba(X)[:, 0]
    np.testing.assert_allclose(shares, 0.5, atol=0.01)


def test_groups_stay_together_in_the_folds_of_a_ladder() -> None:
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(50), 8)
    visits = rng.normal(size=(50, 3))[patient] + 0.01 * rng.normal(size=(400, 3))
    ill = (np.arange(50) % 2)[patient]  # pure chance
    model = BudgetClassifier(effort="fast", random_state=0)
    by_row = max(point.quality for point in model.fit(visits, ill).frontier_.points)
    by_patient = model.fit(visits, ill, groups=patient).frontier_
    assert by_row > 0.9 > 0.72 > max(point.quality for point in by_patient.points)
    assert by_patient.clusters.tolist() == patient.tolist()


def test_effort_and_cap_are_passed_on_to_the_ladder() -> None:
    model = BudgetClassifier(PRICES, cap=3.0, effort="best", time_limit=60.0, random_state=0)
    (ladder,) = model.candidates("classification").values()
    assert (ladder.effort, ladder.cap, ladder.time_limit) == ("best", 3.0, 60.0)
    own = LadderClassifier(effort="fast")
    (ladder,) = (
        BudgetClassifier(learners=[own], effort="best").candidates("classification").values()
    )
    assert ladder.effort == "fast"


def test_no_row_of_a_ladder_costs_more_than_the_cap() -> None:
    model = BudgetClassifier(PRICES, cap=2.0, effort="fast", random_state=0).fit(X, LABEL)
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.4)
    assert model.bill(holes).max() <= 2.0
    assert all(point.ceiling <= 2.0 for point in model.frontier_.points)
