"""Budget estimators with costs of errors and thresholds: total cost, labels, files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score, fbeta_score, make_scorer

from thrifty import BudgetClassifier, GreedyMiserClassifier, LadderClassifier, Prices, load
from thrifty.errors import DataError
from thrifty.frontier import fit_budget
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.short_circuit import short_circuit
from thrifty.report import predictor_facts


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
    # All points compete, the constant too; the chosen one has the least total.
    totals = [point.totals.mean() for point in dear.frontier_.points]
    assert dear.point_.totals.mean() == min(totals)
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
    assert model.point_.totals.mean() == min(p.totals.mean() for p in model.frontier_.points)


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
