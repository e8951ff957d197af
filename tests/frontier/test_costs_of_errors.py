"""Budget estimators with costs of errors and thresholds: total cost, labels, files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score, fbeta_score, make_scorer

from thrifty import BudgetClassifier, GreedyMiserClassifier, LadderClassifier, Prices, load
from thrifty.bundle import Decision
from thrifty.errors import DataError
from thrifty.frontier import fit_budget
from thrifty.frontier.results import TotalCost
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.short_circuit import short_circuit
from thrifty.report import card_facts, fit_facts, model_card, predictor_facts, render_page
from thrifty.report.fairness import group_results
from thrifty.report.remarks import remarks
from thrifty.report.words import total_words


def rows(n=400, seed=0, share=0.3):
    """A cheap and an expensive hint at a rare class."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, "ill", "well")
    ill = y == "ill"
    X = np.column_stack([rng.normal(size=n) + ill, rng.normal(size=n) + 2.5 * ill])
    return X, y


def fit(X, y, prices=(1.0, 10.0), **settings):
    settings = {"effort": "fast", "random_state": 0, **settings}
    return BudgetClassifier(Prices(list(prices), unit="CAD"), **settings).fit(X, y)


X, Y = rows()
TEST, Y_TEST = rows(seed=1)
MATRIX = np.array([[0.0, 500.0], [100.0, 0.0]])  # ill, well


def total(model, matrix=MATRIX):
    true, said = (np.searchsorted(["ill", "well"], each) for each in (Y_TEST, model.predict(TEST)))
    return float(np.mean(model.bill(TEST) + matrix[true, said]))


def test_the_total_of_bills_and_errors_is_minimized():
    dear = fit(X, Y, costs=MATRIX)
    cheap = fit(X, Y, costs=MATRIX / 100)
    assert dear.metric_.name == "neg_error_cost"
    assert cheap.bill(TEST).mean() < dear.bill(TEST).mean()
    assert total(dear) < total(cheap)
    assert total(cheap, MATRIX / 100) < total(dear, MATRIX / 100)
    # All points compete, the constant too; the chosen one has about the least total.
    best = min(dear.frontier_.points, key=lambda point: point.totals.mean())
    behind = dear.point_.totals - best.totals
    assert behind.mean() <= 0.25 * behind.std(ddof=1) / np.sqrt(len(behind))
    assert dear.point_.bill <= best.bill
    assert dear.frontier_.points[0].bill == 0.0


def test_labels_follow_the_costs_and_the_file_keeps_them(tmp_path):
    model = fit(X, Y, costs=MATRIX)
    proba = model.predict_proba(TEST)
    assert (
        model.predict(TEST).tolist()
        == np.where(proba[:, 0] * 500 >= proba[:, 1] * 100, "ill", "well").tolist()
    )
    model.save(tmp_path / "model.thrifty")
    again = load(tmp_path / "model.thrifty")
    assert (again.predict(TEST) == model.predict(TEST)).all()
    walk = again.walk()
    while walk.asks:
        walk.tell({walk.asks[0]: TEST[0, walk.asks[0]]})
    assert walk.answer == again.predict(TEST[:1])[0]


def test_costs_in_another_order_give_the_same_model():
    one = fit(X, Y, costs=MATRIX)
    other = fit(X, Y, costs={"well": {"ill": 100}, "ill": {"well": 500}})
    assert (one.predict_proba(TEST) == other.predict_proba(TEST)).all()
    assert (one.predict(TEST) == other.predict(TEST)).all()
    assert clone(other).costs == other.costs


def test_equal_costs_are_accuracy():
    """With nothing to pay, equal costs and accuracy differ in nothing but ties."""
    plain = fit(X, Y, prices=(0.0, 0.0))
    costs = fit(X, Y, prices=(0.0, 0.0), costs=1.0 - np.eye(2))
    assert (costs.predict(TEST) == costs.classes_[costs.predict_proba(TEST).argmax(axis=1)]).all()
    assert costs.score(TEST, Y_TEST) == pytest.approx(plain.score(TEST, Y_TEST), abs=0.03)
    accuracies = {str(p.knob): p.quality for p in plain.frontier_.points}
    shared = [p for p in costs.frontier_.points if str(p.knob) in accuracies and "rung" in p.knob]
    assert len(shared) > 1
    for point in shared:  # the same rungs
        assert point.quality == pytest.approx(accuracies[str(point.knob)] - 1)


def test_a_budget_limits_the_bills():
    model = fit(X, Y, costs=MATRIX, budget=2.0)
    assert model.bill(TEST).mean() < 2.5
    assert model.bill(TEST).mean() < fit(X, Y, costs=MATRIX).bill(TEST).mean()


def test_costs_of_rows_choose_and_decide():
    settings = {"effort": "fast", "random_state": 0}
    by_row = BudgetClassifier(Prices([1.0, 10.0]), **settings)
    by_row.fit(X, Y, costs=np.where(Y == "ill", 500.0, 100.0))
    by_class = BudgetClassifier(Prices([1.0, 10.0]), costs=MATRIX, **settings).fit(X, Y)
    assert (by_row.predict(TEST) == by_class.predict(TEST)).all()
    assert by_row.point_.quality == pytest.approx(by_class.point_.quality)
    with pytest.raises(DataError, match="give one of them"):
        by_class.fit(X, Y, costs=np.ones(len(Y)))


def test_a_validation_set_is_measured_by_the_same_costs():
    model = BudgetClassifier(Prices([1.0, 10.0]), effort="fast", random_state=0)
    model.fit(X, Y, costs=np.where(Y == "ill", 500.0, 100.0), validation=(TEST, Y_TEST))
    true = np.searchsorted(["ill", "well"], Y_TEST)
    said = np.searchsorted(["ill", "well"], model.predict(TEST))
    assert model.point_.quality == pytest.approx(-MATRIX[true, said].mean())


def test_any_learner_decides_by_costs():
    model = fit(X, Y, costs=MATRIX, learners=[GreedyMiserClassifier(n_estimators=20)])
    assert model.predictor_.decision.costs.tolist() == MATRIX.tolist()
    assert (model.predict(TEST) == "ill").mean() > (Y_TEST == "ill").mean()


def test_costs_can_be_scored_by_another_metric():
    model = fit(X, Y, costs=MATRIX, scoring="accuracy")
    assert model.frontier_.scoring == "accuracy"
    assert model.point_.knob == fit(X, Y, costs=MATRIX).point_.knob  # totals decide


def test_costs_are_required_where_they_are_scored():
    with pytest.raises(DataError, match="errors have no costs here"):
        fit(X, Y, scoring="neg_error_cost")


# --- thresholds --------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["f1", "balanced_accuracy", "matthews_corrcoef"])
def test_a_threshold_is_chosen_for_metrics_of_labels(scoring, tmp_path):
    table, y = rows(n=600, share=0.1)
    rare = y == "ill"
    model = fit(table, rare, scoring=scoring, budget=1.5)
    threshold = model.predictor_.decision.threshold
    assert 0.05 < threshold < 0.45
    proba = model.predict_proba(table)[:, 1]
    assert (model.predict(table) == (proba > threshold)).all()
    model.save(tmp_path / "model.thrifty")
    assert load(tmp_path / "model.thrifty").decision.threshold == threshold
    assert (load(tmp_path / "model.thrifty").predict(table) == model.predict(table)).all()


def test_the_threshold_of_f1_beats_one_half_on_new_rows():
    (table, y), (test, y_test) = rows(n=800, share=0.1), rows(n=4000, seed=5, share=0.1)
    model = fit(table, y == "ill", scoring="f1", budget=1.5)
    tuned = f1_score(y_test == "ill", model.predict(test))
    assert tuned > 0.03 + f1_score(y_test == "ill", model.predict_proba(test)[:, 1] > 0.5)


def test_scorers_of_labels_get_a_threshold_and_others_do_not():
    table, y = rows(n=300, share=0.2)
    rare = (y == "ill").astype(int)
    labels = fit(table, rare, scoring=make_scorer(fbeta_score, beta=2))
    assert labels.predictor_.decision.threshold < 0.5
    ranked = fit(table, rare, scoring="neg_log_loss")
    assert ranked.predictor_.decision is None
    by_name = fit(table, rare, scoring="roc_auc_ovr")
    assert by_name.predictor_.decision is None and by_name.frontier_.scoring == "roc_auc_ovr"
    assert fit(table, rare, scoring="precision").predictor_.decision is None


def test_accuracy_and_more_classes_keep_the_most_probable_class():
    assert fit(X, Y).predictor_.decision is None
    three = np.where(X[:, 0] > 1, "high", Y)
    assert fit(X, three, scoring="f1").predictor_.decision is None


# --- ladders, trees and fit_budget -------------------------------------------


def test_a_ladder_with_costs_walks_as_it_scores():
    model = fit(X, Y, costs=MATRIX / 20)
    for point in model.frontier_.points[::20]:
        for row in TEST[:10]:
            walk = point.model.walk()
            while walk.asks:
                walk.tell({walk.asks[0]: row[walk.asks[0]]})
            assert walk.answer == point.model.predict(row[np.newaxis])[0]
            assert walk.receipt.total == point.model.bill(row[np.newaxis])[0]


def test_a_ladder_by_itself_takes_the_costs_of_its_training_set():
    train = TrainingSet.read("classification", X, Y).with_costs(MATRIX)
    model = LadderClassifier(penalty=1.0, effort="fast", random_state=0).fit(train, None)
    assert model.predictor_.decision.costs.tolist() == MATRIX.tolist()
    assert (model.predict(TEST) == "ill").mean() > (Y_TEST == "ill").mean()


def test_fit_budget_reports_the_total_of_the_test_set():
    settings = {"prices": Prices([1.0, 10.0]), "effort": "fast"}
    found = fit_budget(X, Y, costs=MATRIX, **settings)
    test = found.test
    said = np.searchsorted(["ill", "well"], found.predictor.predict(test.table))
    assert found.total.errors == pytest.approx(MATRIX[test.y, said].mean())
    assert found.total.features == pytest.approx(found.predictor.bill(test.table).mean())
    assert found.total.total == found.total.features + found.total.errors
    assert found.test_result.quality == pytest.approx(-found.total.errors)
    by_row = fit_budget(X, Y, costs=np.where(Y == "ill", 500.0, 100.0), **settings)
    assert by_row.total.total == pytest.approx(found.total.total)
    assert fit_budget(X, Y, budget=5.0, **settings).total is None


def test_fit_budget_weighs_rows_and_keeps_thresholds():
    settings = {"prices": Prices([1.0, 10.0]), "effort": "fast", "budget": 1.5}
    weight = np.where(Y == "ill", 20.0, 1.0)
    weighted = fit_budget(X, Y, sample_weight=weight, **settings).predictor
    plain = fit_budget(X, Y, **settings).predictor
    assert weighted.predict_proba(TEST)[:, 0].mean() > plain.predict_proba(TEST)[:, 0].mean() + 0.2
    found = fit_budget(X, Y, scoring="f1", **settings)
    test = found.test
    expected = f1_score(test.labels, found.predictor.predict(test.table), pos_label="well")
    assert found.predictor.decision is not None
    assert found.test_result.quality == pytest.approx(expected)


def test_a_report_on_other_rows_uses_the_decision():
    found = fit_budget(X, Y, prices=Prices([1.0, 10.0]), costs=MATRIX, effort="fast")
    labeled = ValidationSet.for_predictor(found.predictor, "classification", TEST, Y_TEST)
    facts = predictor_facts(found.predictor, labeled)
    assert facts["settings"]["metric"] == "neg_error_cost"
    counts = np.array(facts["confusion"]["rows"])
    said = found.predictor.predict(TEST)
    assert counts[0, 0] == ((Y_TEST == "ill") & (said == "ill")).sum()
    own = found.predictor.replace(provenance={"metric": "middle"})
    assert predictor_facts(own, labeled)["settings"]["metric"] == "accuracy"


def test_labels_without_costs_are_named():
    found = fit(X, Y, costs=MATRIX)
    labeled = ValidationSet.for_predictor(
        found.predictor_, "classification", TEST[:3], ["ill", "well", "odd"]
    )
    with pytest.raises(DataError, match=r"\['odd'\] are not classes"):
        found.metric_.value(found.predict_proba(TEST[:3]), labeled, found.predictor_.decision)


def test_trees_are_not_skipped_where_costs_decide():
    model = fit(X, Y, costs=MATRIX, learners=[GreedyMiserClassifier(n_estimators=20)])
    with pytest.raises(DataError, match="decides by costs of errors or a threshold"):
        short_circuit(model.predictor_)


# --- baselines ---------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    prices = Prices([1.0, 10.0], unit="CAD")
    return fit_budget(X, Y, prices=prices, costs=MATRIX, effort="fast")


def test_baselines_and_the_constant_are_decided_by_the_costs(found):
    for each in (*found.baselines, found.constant):
        assert each.total.errors == pytest.approx(-each.quality)
        assert each.total_saving == pytest.approx(each.total.total - found.total.total)
        low, high = each.total_saving_interval
        assert low < each.total_saving < high
    # All are called ill, as that is cheaper than to miss the ill.
    well = np.mean(found.test.labels == "well")
    assert found.constant.total.total == pytest.approx(100 * well)


def test_test_points_are_decided_by_the_costs(found):
    (chosen,) = (point for point in found.test_points if point.chosen)
    assert (chosen.bill, chosen.quality) == (found.test_result.bill, found.test_result.quality)
    assert chosen.quality == pytest.approx(-found.total.errors)


@pytest.mark.parametrize(
    ("saving", "interval", "verdict"),
    [(-3.0, (-5.0, -1.0), "better"), (-3.0, (-7.0, 1.0), "ahead"), (3.0, (1.0, 5.0), "behind")],
)
def test_where_errors_have_costs_totals_are_compared(found, saving, interval, verdict):
    baseline = replace(
        found.baselines[0], total_saving=saving, total_saving_interval=interval,
        bill=50.0, difference=-1.0, difference_interval=(-2.0, -0.5),
    )  # fmt: skip
    assert found.by_total and found.verdict(baseline) == verdict
    within = replace(found, target_quality=-20.0)  # then the bill is minimized, not the total
    assert not within.by_total and within.verdict(baseline) == "behind"


def test_a_baseline_of_a_lower_total_is_named_first(found):
    behind = [
        replace(each, total_saving=9.0, total_saving_interval=(8.0, 10.0))
        for each in found.baselines
    ]
    constant = replace(found.constant, total_saving=9.0, total_saving_interval=(8.0, 10.0))
    assert remarks(replace(found, baselines=tuple(behind), constant=constant)) == []
    first = replace(
        behind[0], total=TotalCost(11.0, 4.0), total_saving=-3.0, total_saving_interval=(-5.0, -1.0)
    )
    changed = replace(found, baselines=(first, *behind[1:]), constant=constant)
    (words,) = remarks(changed)
    assert words.startswith(
        "A baseline is better: plain boosting on all features has a total of CAD 15.00 per example "
        "= 11.00 for features + 4.00 for errors, the chosen model a total of CAD "
    )
    assert "(difference -3 [-5, -1], 80 test rows)" in words
    facts = fit_facts(changed)
    assert facts["baselines"][0]["verdict"] == "better"
    assert facts["baselines"][0]["total"] == {"features": 11.0, "errors": 4.0, "total": 15.0}


def test_page_and_card_show_the_total_and_the_rule(found):
    facts = fit_facts(found)
    assert facts["answer"] == "It predicts well if its probability is above 83.3%, otherwise ill."
    page = render_page(facts)
    assert facts["answer"] in page and "most probable class" not in page
    assert total_words(facts["total"], "CAD") in page
    sets = dict(zip(("training", "validation", "test"), found.sets.all, strict=True))
    card = model_card({**facts, **card_facts(found.predictor, sets)})
    assert "Chosen for the lowest total cost of features and errors on the validation set." in card
    assert facts["answer"] in card and "Total per example: CAD " in card


def test_groups_are_decided_as_the_model_decides(found):
    always = found.predictor.replace(decision=Decision.at_threshold(0.0))  # all are called well
    rows = replace(found.test, error_costs=None)
    (everyone,) = group_results(always, rows, ["all"] * len(rows), "accuracy")
    assert everyone.quality == pytest.approx(np.mean(rows.labels == "well"))


def test_a_constant_says_that_no_feature_saves_what_it_costs():
    found = fit_budget(X, Y, prices=Prices([50.0, 90.0]), costs=MATRIX / 10, effort="fast")
    assert found.chosen.ceiling == 0
    assert "No feature saves more in errors than it costs" in remarks(found)[0]


def test_a_card_of_a_scorer_of_ones_own_uses_the_default_metric():
    def hits(estimator, X, y):
        return float(np.mean(estimator.predict(X) == y))

    found = fit_budget(X, Y, budget=1, scoring=hits, learners=[GreedyMiserClassifier()])
    sets = dict(zip(("training", "validation", "test"), found.sets.all, strict=True))
    by = {"half": np.arange(len(found.test)) % 2}
    assert card_facts(found.predictor, sets, by=by)["by"][0]["metric"] == "accuracy"
    assert found.curve.scoring == "hits"
