"""From a table and a budget to a predictor: chosen on validation rows, measured on test rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty import (
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    LadderClassifier,
    LadderRegressor,
    Prices,
    Table,
    frontier,
    load,
)
from thrifty.bundle.file import pack
from thrifty.errors import BudgetError, DataError, PriceError, ResumeError
from thrifty.frontier import baselines, choose
from thrifty.frontier.tasks import guess_task

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(240, 3)), columns=["cheap", "dear", "noise"])
VALUE = (X["cheap"] + X["dear"]).to_numpy()
LABEL = np.where(VALUE > 0, "yes", "no")
QUERY = np.repeat(np.arange(24), 10)
PRICES = Prices({"cheap": 1.0, "dear": 10.0, "noise": 1.0}, unit="CAD")
LEARNERS = {
    "classification": GreedyMiserClassifier(n_estimators=20),
    "regression": GreedyMiserRegressor(n_estimators=20),
    "ranking": GreedyMiserRanker(n_estimators=20),
}


def fit_budget(X, y, **given):
    """With one small learner: which learners race is tested with the race."""
    task = given.get("task") or guess_task(np.asarray(y), given.get("qid"))
    return frontier.fit_budget(X, y, learners=[LEARNERS.get(task)], **given)


@pytest.fixture(scope="module")
def found():
    return fit_budget(X, LABEL, prices=PRICES, budget=2.0)


def test_the_choice_is_made_on_the_points_of_the_curve(found) -> None:
    assert found.chosen is choose(found.curve, 2.0)
    assert found.chosen.bill <= 2.0
    assert found.curve.chosen is found.chosen


def test_the_figures_are_those_of_the_test_rows(found) -> None:
    rows = X.iloc[found.test.index]
    model = found.predictor
    assert found.test_result.bill == model.bill(rows).mean()
    assert found.test_result.quality == np.mean(model.predict(rows) == LABEL[found.test.index])
    assert found.sets.sizes == {"train": 144, "validation": 48, "test": 48}


def test_test_figures_have_intervals(found) -> None:
    result, n = found.test_result, 48
    assert result.quality_interval[0] < result.quality < result.quality_interval[1]
    assert result.bill_interval[0] <= result.bill <= result.bill_interval[1]
    share, z = result.quality, 1.959964
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    assert result.quality_interval == pytest.approx((middle - half, middle + half))


def test_baselines_are_compared_row_by_row(found) -> None:
    boosting, forest = found.baselines[:2]
    assert (boosting.name, forest.name) == (
        "plain boosting on all features", "plain forest on all features"
    )  # fmt: skip
    assert forest.bill == 12.0 and forest.columns == ("cheap", "dear", "noise")
    assert 2.0 < boosting.bill <= 12.0
    for baseline in found.baselines:
        assert baseline.difference == found.test_result.quality - baseline.quality
        low, high = baseline.difference_interval
        assert low < baseline.difference < high
        assert baseline.quality_interval[0] < baseline.quality < baseline.quality_interval[1]
    others = found.baselines[2:]
    assert others and all(baseline.bill <= 2.0 for baseline in others)


def test_baselines_are_trained_on_all_rows_but_the_test_set(found, monkeypatch) -> None:
    sizes, trees = [], baselines.ExtraTrees

    def spy(binned, y, *rest):
        sizes.append(len(y))
        return trees(binned, y, *rest)

    monkeypatch.setattr(baselines, "ExtraTrees", spy)
    again = fit_budget(X, LABEL, prices=PRICES, budget=2.0)
    assert set(sizes) == {192}
    assert again.baselines == found.baselines  # the same seed, the same figures


def test_a_cap_limits_the_features_of_every_row() -> None:
    found = fit_budget(X, LABEL, prices=PRICES, budget=11.5, cap=2.0)
    fixed = [each for each in found.baselines if "all features" not in each.name]
    assert fixed and all(each.ceiling <= 2.0 for each in fixed)


def test_the_frontier_and_the_constant_are_measured_on_the_test_rows(found) -> None:
    first, *others = found.test_points
    assert (first.name, first.bill) == ("constant", 0.0)
    rows = X.iloc[found.test.index]
    labels = LABEL[found.test.index]
    common = "yes" if np.mean(found.sets.train.labels == "yes") > 0.5 else "no"
    assert first.quality == found.constant.quality == np.mean(labels == common)
    by_name = {point.name: point for point in found.curve.points}
    for point in others:
        model = by_name[point.name].model
        assert point.bill == pytest.approx(model.bill(rows).mean())
        assert point.quality == np.mean(model.predict(rows) == labels)
    (chosen,) = [point for point in found.test_points if point.chosen]
    assert (chosen.bill, chosen.quality) == (found.test_result.bill, found.test_result.quality)


def test_an_answer_that_is_always_the_same_is_noticed(found) -> None:
    assert found.same_answer is None
    constant = fit_budget(X, LABEL, prices=PRICES, budget=0)
    assert constant.same_answer in ("yes", "no")
    assert constant.test_result.quality == constant.constant.quality
    flat = fit_budget(X, VALUE, prices=PRICES, budget=0)
    assert float(flat.same_answer) == pytest.approx(VALUE.mean(), abs=0.5)


def test_without_a_feature_within_the_budget_there_is_no_cheapest_baseline() -> None:
    names = [baseline.name for baseline in fit_budget(X, LABEL, budget=0.5).baselines]
    assert names == ["plain boosting on all features", "plain forest on all features"]


def test_the_cheapest_that_is_good_enough_is_taken() -> None:
    found = fit_budget(X, LABEL, prices=PRICES, target_quality=0.6, confidence=None)
    cheaper = [point for point in found.curve.points if point.bill < found.chosen.bill]
    assert found.chosen.quality >= 0.6 and cheaper
    assert all(point.quality < 0.6 for point in cheaper)
    with pytest.raises(BudgetError, match="no model reaches accuracy 1.5; the nearest"):
        fit_budget(X, LABEL, prices=PRICES, target_quality=1.5, confidence=None)


def test_a_quality_is_met_with_confidence_by_default() -> None:
    found = fit_budget(X, LABEL, prices=PRICES, target_quality=0.6)
    assert found.chosen is found.curve.cheapest(0.6, 0.95)
    best = max(point.quality for point in found.curve.points)
    with pytest.raises(BudgetError, match="with 95% confidence; the nearest"):
        fit_budget(X, LABEL, prices=PRICES, target_quality=best)


def test_test_rows_have_no_part_in_learning_and_choosing() -> None:
    first = fit_budget(X, VALUE, prices=PRICES, budget=2.0)
    y = VALUE.copy()
    y[first.test.index] += 100.0
    other = fit_budget(X, y, prices=PRICES, budget=2.0)
    assert [(p.bill, p.quality) for p in first.curve.points] == [
        (p.bill, p.quality) for p in other.curve.points
    ]
    assert first.chosen.knob == other.chosen.knob
    assert first.test_result.quality != other.test_result.quality


def test_the_same_seed_gives_the_same_model_file(found, tmp_path) -> None:
    fit_budget(X, LABEL, prices=PRICES, budget=2.0).predictor.save(tmp_path / "a")
    found.predictor.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_model_knows_where_it_comes_from(found, tmp_path) -> None:
    found.predictor.save(tmp_path / "m.thrifty")
    origin = load(tmp_path / "m.thrifty").provenance
    assert origin["budget"] == 2.0 and origin["seed"] == 0
    assert origin["task"] == "classification"
    assert origin["data"] == found.data
    assert origin["held_out"]["bill"] == found.test_result.bill


def test_the_hash_of_the_data_changes_with_a_value(found) -> None:
    other = X.copy()
    other.iloc[3, 1] += 1.0
    assert fit_budget(other, LABEL, prices=PRICES, budget=2.0).data != found.data


def test_a_budget_of_nothing_buys_nothing() -> None:
    found = fit_budget(X, LABEL, prices=PRICES, budget=0)
    assert found.test_result.bill == 0
    assert found.chosen.knob["trees"] == 0


def test_values_are_predicted() -> None:
    found = fit_budget(X, VALUE, prices=PRICES, budget=20)
    assert (found.task, found.guessed, found.curve.scoring) == ("regression", True, "r2")
    assert found.test_result.quality > 0.5


def test_queries_are_ranked() -> None:
    grades = np.digitize(VALUE, [0.5, 1.5])
    found = fit_budget(X, grades, prices=PRICES, budget=20, qid=QUERY)
    assert (found.task, found.curve.scoring) == ("ranking", "ndcg@5")
    assert found.test_result.quality > 0.5
    assert len(set(QUERY[found.test.index])) == len(set(found.test.query))


def test_a_polars_table_is_taken() -> None:
    import polars as pl

    table = pl.DataFrame({name: X[name].to_numpy() for name in X}).with_columns(city=pl.lit("x"))
    found = fit_budget(table, LABEL, budget=4)
    assert found.chosen.model.schema.table_names == ("cheap", "dear", "noise", "city")
    assert found.test.row(0)["city"] == "x"


def test_without_prices_every_feature_costs_one() -> None:
    found = fit_budget(X, LABEL, budget=3)
    assert found.baselines[1].bill == 3
    assert found.chosen.model.prices.full == 3


def test_rows_of_a_group_stay_together() -> None:
    families = np.arange(240) // 4
    found = fit_budget(X, LABEL, budget=1, groups=families)
    held = [set(families[rows.index]) for rows in (found.sets.validation, found.sets.test)]
    assert not held[0] & held[1]
    assert len(found.sets.train) == 240 - 4 * sum(map(len, held))


def test_a_task_that_is_given_is_not_guessed() -> None:
    assert not fit_budget(X, LABEL, budget=1, task="classification").guessed


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"budget": -1}, BudgetError, "budget"),
        ({"task": "clustering"}, DataError, "'clustering' is not one of classification"),
        ({"y": LABEL[:9]}, DataError, "9 values for 240 rows"),
        ({"y": np.repeat("yes", 240)}, DataError, "only one class, 'yes'"),
        ({"y": VALUE, "task": "classification"}, DataError, "not classes.*try regression"),
        ({"y": LABEL, "task": "regression"}, DataError, "numbers are needed"),
        ({"task": "ranking"}, DataError, "ranking needs the query"),
        ({"qid": QUERY, "task": "classification"}, DataError, "no queries"),
        ({"qid": QUERY[:5], "y": np.zeros(240)}, DataError, "5 values for 240 rows"),
        (
            {"qid": np.where(QUERY, QUERY, np.nan), "y": np.zeros(240)},
            DataError,
            "qid: .*in row 0 is missing",
        ),
        ({"prices": Prices({"cheap": 1})}, PriceError, "no price for 'dear'"),
        ({"X": X.assign(dear=np.nan)}, DataError, "'dear' has no value at all"),
        ({"X": X.assign(dear=np.where(X.index == 7, np.inf, 1))}, DataError, "inf in row 7"),
        ({"X": X.assign(dear=["abc", *map(str, range(239))])}, DataError, "'abc' in row 0"),
        ({"X": X.iloc[:0], "y": LABEL[:0]}, DataError, "there are no rows"),
        ({"X": X.iloc[:4], "y": LABEL[:4], "task": "classification"}, DataError, "too few rows"),
    ],
)
def test_bad_input_is_refused_before_learning(change, error, words) -> None:
    given = {"X": X, "y": LABEL, "budget": 1, **change}
    with pytest.raises(error, match=words):
        frontier.fit_budget(**given)


def test_a_value_that_only_held_out_rows_have_is_an_error() -> None:
    index = fit_budget(X, LABEL, budget=1).test.index
    rare = np.full(240, np.nan)
    rare[index[0]] = 1.0
    with pytest.raises(DataError, match=r".*'rare' has no value"):
        fit_budget(X.assign(rare=rare), LABEL, budget=1)


# --- ladders -----------------------------------------------------------------


@pytest.fixture(scope="module")
def by_ladder():
    return frontier.fit_budget(X, LABEL, prices=PRICES, budget=5.0, effort="fast")


def test_a_ladder_trains_on_all_rows_but_the_test_set(by_ladder) -> None:
    assert by_ladder.sets.cross_fitted
    assert by_ladder.sets.sizes == {"train": 192, "validation": 192, "test": 48}
    validation, test = by_ladder.sets.validation.positions, by_ladder.test.positions
    assert sorted([*validation, *test]) == list(range(240))
    assert by_ladder.sets.validation.labels.tolist() == LABEL[validation].tolist()
    assert len(by_ladder.chosen.bills) == 192
    assert by_ladder.predictor.provenance["rows"] == by_ladder.sets.sizes


def test_the_ladder_is_measured_on_test_rows_that_it_has_not_seen(by_ladder) -> None:
    rows = X.iloc[by_ladder.test.positions]
    model = by_ladder.predictor
    assert by_ladder.test_result.bill == model.bill(rows).mean() <= 11.0
    assert by_ladder.test_result.quality == np.mean(
        model.predict(rows) == LABEL[by_ladder.test.positions]
    )


def test_other_learners_choose_on_a_validation_set(found) -> None:
    assert not found.sets.cross_fitted
    sets = found.sets
    positions = [sets.validation.positions, sets.test.positions]
    assert not set(positions[0]) & set(positions[1])
    assert found.estimator.validation_.labels.tolist() == sets.validation.labels.tolist()


# --- resuming ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "settings"),
    [
        (LABEL, {"budget": 4.0}),
        (LABEL, {"budget": 4.0, "costs": {("yes", "no"): 50, ("no", "yes"): 10}}),
        (LABEL, {"target_quality": 0.6, "scoring": "f1", "sample_weight": np.arange(240) + 1.0}),
        (VALUE, {"budget": 4.0, "groups": QUERY}),
    ],
    ids=["budget", "costs", "quality", "values"],
)
def test_a_resumed_ladder_gives_the_same_file_and_is_not_trained_again(
    target, settings, tmp_path, monkeypatch
) -> None:
    def fit(**resume):
        return frontier.fit_budget(X, target, prices=PRICES, effort="fast", **settings, **resume)

    whole = fit()
    kept = fit(resume=tmp_path)
    monkeypatch.setattr(LadderClassifier, "_path", lambda *a: pytest.fail("trained again"))
    monkeypatch.setattr(LadderRegressor, "_path", lambda *a: pytest.fail("trained again"))
    again = fit(resume=tmp_path)
    assert pack(whole.predictor) == pack(kept.predictor) == pack(again.predictor)
    assert whole.test_points == again.test_points
    assert whole.total == again.total


def test_a_folder_of_other_rows_is_named_and_not_taken_for_bad_rows(tmp_path) -> None:
    fit_budget(X, LABEL, prices=PRICES, budget=2.0, resume=tmp_path)
    with pytest.raises(ResumeError, match=r"^resume folder"):
        fit_budget(X, LABEL, prices=PRICES, budget=2.0, resume=tmp_path, random_state=1)


def test_a_table_in_files_is_drawn_from_and_the_test_rows_are_kept_apart(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("thrifty.learn.long_training_set.SAMPLE", 400)
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(1500, 2)), columns=["a", "b"])
    rows.assign(y=rows["a"] + rows["b"] > 0).to_parquet(tmp_path / "rows.parquet")
    table = Table.parquet(tmp_path, "y")
    learners = [GreedyMiserClassifier(n_estimators=10)]
    found = frontier.fit_budget(table, None, budget=2, learners=learners, confidence=None)
    assert (found.task, found.guessed) == ("classification", True)
    assert found.sets.sizes == {"train": 240, "validation": 80, "test": 80}
    assert found.estimator.refit_rows_ == 1500 - 160
    assert found.predictor.provenance["refit_rows"] == 1340
    with pytest.raises(DataError, match="columns of the files, and groups need rows in memory"):
        frontier.fit_budget(table, rows["a"] > 0, budget=2)
    trained, unseen = found.estimator._drawn
    assert set(unseen) >= set(np.setdiff1d(trained.drawn, trained.numbers))
