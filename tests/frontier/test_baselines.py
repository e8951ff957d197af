"""Baselines: what they pay, which features a budget buys for everyone, and who wins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification

from thrifty import GreedyMiserClassifier, GreedyMiserRegressor, Prices
from thrifty.frontier import baselines as module
from thrifty.frontier import fit_budget
from thrifty.frontier.baselines import PlainModels, best_per_price, cheapest
from thrifty.frontier.fit_budget import split_table
from thrifty.frontier.scoring import find_metric
from thrifty.learn.dataset import TrainingSet

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
y = X[:, 0] + X[:, 1]


def trained(prices, budget, target=y, task="regression", **changes):
    """The plain models by name, trained on small ensembles."""
    whole = TrainingSet.read(task, X, target, prices)
    parts = split_table(whole)
    train = whole.sample(np.setdiff1d(np.arange(300), parts.test.positions))
    learner = GreedyMiserRegressor() if task == "regression" else GreedyMiserClassifier()
    plain = PlainModels(
        learner, whole.prices, parts.train, parts.validation, train,
        whole.hold_out(parts.test.positions, train.schema), find_metric(None, task), 0,
    )  # fmt: skip
    return {model.name: model for model in replace(plain, **changes).within(budget)}


@pytest.fixture(scope="module")
def found():
    return trained(Prices([1.0, 10.0, 2.0]), budget=3.0)


def quality(model):
    whole = TrainingSet.read("regression", X, y)
    test = split_table(whole).test
    return find_metric(None, "regression").value(model.outputs.scores, test)


def test_plain_models_are_trained_on_all_features_and_on_what_the_budget_buys() -> None:
    found = trained(Prices([1.0, 2.5, 2.0]), budget=3.5)
    places = ("all features", "the cheapest features", "the best features per price")
    kinds = ("plain boosting", "plain forest")
    assert list(found) == [f"{kind} on {place}" for place in places for kind in kinds]
    for kind in kinds:
        assert quality(found[f"{kind} on all features"]) > 0.9
        assert quality(found[f"{kind} on the cheapest features"]) < 0.7  # which do not matter
        assert quality(found[f"{kind} on the best features per price"]) > 0.9


def test_plain_boosting_is_as_good_as_lightgbm() -> None:
    """Six classes of three clusters each: shallow trees on a part of the rows are 8 points off."""
    X, y = make_classification(
        1500, 10, n_informative=8, n_redundant=0, n_classes=6, n_clusters_per_class=3,
        class_sep=1.5, random_state=0,
    )  # fmt: skip
    found = fit_budget(X, y, budget=1.0, learners=[GreedyMiserClassifier(n_estimators=5)])
    held_out = found.test.positions
    rows = np.setdiff1d(np.arange(len(y)), held_out)
    rival = LGBMClassifier(n_jobs=1, verbose=-1).fit(X[rows], y[rows])
    wanted = np.mean(rival.predict(X[held_out]) == y[held_out])
    assert found.baselines[0].name == "plain boosting on all features"
    assert found.baselines[0].quality > wanted - 0.02
    # The headline compares with the better of boosting and a forest.
    assert max(each.quality for each in found.baselines[:2]) > wanted


def test_a_forest_pays_for_all_that_it_reads_and_boosting_for_what_a_row_reads(found) -> None:
    forest, boosting = (found[f"plain {kind} on all features"] for kind in ("forest", "boosting"))
    assert set(forest.outputs.bills) == {13.0} and forest.ceiling == 13.0
    assert boosting.outputs.bills.max() <= boosting.ceiling <= 13.0
    assert len(boosting.outputs.bills) == 60


def test_what_the_budget_buys_is_within_the_budget(found) -> None:
    for name, model in found.items():
        if "all features" not in name:
            assert model.ceiling <= 3.0 and set(model.columns) <= {0, 2}


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_evaluations_do_not_take_a_baseline_past_the_budget(task) -> None:
    """Trees used to be paid on top of the features that filled the budget."""
    target = y if task == "regression" else np.digitize(y, [-0.5, 0.5])
    found = trained(Prices([1.0, 10.0, 2.0], evaluation=0.05), 3.0, target, task)
    restricted = [model for name, model in found.items() if "all features" not in name]
    assert restricted
    for model in restricted:
        assert model.outputs.bills.max() <= model.ceiling <= 3.0
        assert model.outputs.bills.min() > 0


def test_a_budget_that_buys_no_tree_has_no_baseline_within_it() -> None:
    found = trained(Prices([0.0, 10.0, 2.0], evaluation=9.0), budget=3.0)
    assert list(found) == ["plain boosting on all features", "plain forest on all features"]


def test_equal_sets_of_features_are_trained_once() -> None:
    found = trained(Prices([1.0, 1.0, 1.0]), budget=9.0)  # both sets are all features
    assert list(found) == ["plain boosting on all features", "plain forest on all features"]
    assert list(trained(Prices([5.0, 5.0, 5.0]), budget=1.0)) == list(found)


def test_boosting_is_tuned_on_the_validation_rows(monkeypatch) -> None:
    """One setting is hopeless; the other is taken, whatever the order."""
    hopeless = {"learning_rate": 1e-6, "max_depth": 1, "n_estimators": 1}
    useful = {"learning_rate": 0.1, "max_depth": 6, "n_estimators": 300}
    for settings in ((hopeless, useful), (useful, hopeless)):
        monkeypatch.setattr(module, "SETTINGS", settings)
        model = trained(Prices([1.0, 10.0, 2.0]), budget=0.0)["plain boosting on all features"]
        assert quality(model) > 0.9


def test_on_many_rows_one_setting_has_to_do(monkeypatch) -> None:
    fits = []
    fit = GreedyMiserRegressor.fit
    monkeypatch.setattr(
        GreedyMiserRegressor, "fit", lambda *a, **k: (fits.append(len(a[1])), fit(*a, **k))[1]
    )
    trained(Prices([1.0, 10.0, 2.0]), budget=3.0)
    few = len(fits)
    fits.clear()
    monkeypatch.setattr(module, "MANY_ROWS", 100)
    trained(Prices([1.0, 10.0, 2.0]), budget=3.0)
    assert len(fits) < few <= 8 and max(fits) == 240


def test_a_forest_on_very_many_rows_uses_a_sample(monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_FOREST_ROWS", 50)
    sizes = []
    trees = module.ExtraTrees

    def spy(binned, y, *rest):
        sizes.append(len(y))
        return trees(binned, y, *rest)

    monkeypatch.setattr(module, "ExtraTrees", spy)
    trained(Prices([1.0, 10.0, 2.0]), budget=3.0)
    assert set(sizes) == {50}


def test_a_shared_price_counts_once() -> None:
    prices = Prices([1.0, 1.0, 4.0], groups={"g": [0, 1]}, shared={"g": 2.0}).bind(3)
    assert cheapest(prices, budget=4.0).tolist() == [0, 1]
    assert cheapest(prices, budget=3.9).tolist() == [0]
    assert cheapest(prices, budget=0.5).tolist() == []
    importance = np.array([0.1, 0.1, 0.8])
    assert best_per_price(prices, importance, budget=4.0).tolist() == [2]
    assert best_per_price(prices, importance, budget=8.0).tolist() == [0, 1, 2]


def test_ties_go_by_name_and_free_features_come_first() -> None:
    prices = Prices({"b": 1.0, "a": 1.0, "z": 0.0}).bind(["b", "a", "z"])
    assert cheapest(prices, budget=1.0).tolist() == [1, 2]
    assert best_per_price(prices, np.array([0.4, 0.4, 0.2]), budget=1.0).tolist() == [1, 2]
    assert best_per_price(prices, np.array([0.4, 0.0, 0.0]), budget=9.0).tolist() == [0]


# --- decisions ---------------------------------------------------------------

RARE = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=300) > 1.5, "yes", "no")


def test_a_metric_of_labels_gives_each_baseline_its_threshold() -> None:
    metric = find_metric("f1", "classification")
    found = trained(
        Prices([1.0, 2.5, 2.0]), budget=3.5, target=RARE, task="classification", metric=metric
    )
    thresholds = {model.decision.threshold for model in found.values()}
    assert len(found) == 6 and len(thresholds) > 1 and min(thresholds) < 0.5


def test_without_a_threshold_the_more_probable_class_is_predicted() -> None:
    found = trained(Prices([1.0, 10.0, 2.0]), budget=3.0, target=RARE, task="classification")
    assert all(model.decision is None for model in found.values())
