"""What the budget estimators share: candidates with prices and seeds, copies for other budgets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.metrics import f1_score, make_scorer

from thrifty import (
    BudgetClassifier,
    BudgetForestClassifier,
    BudgetRanker,
    BudgetRegressor,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    Prices,
    Table,
    load,
    progress,
)
from thrifty.bundle.file import pack
from thrifty.errors import BudgetError, DataError, ResumeError
from thrifty.learn.sampled_training_set import SampledTrainingSet

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
y = (X[:, 0] > 0).astype(int)
PRICES = Prices([1.0, 2.0])
MISER = GreedyMiserClassifier(n_estimators=3)


def test_candidates_get_the_prices_and_a_seed_of_the_estimator() -> None:
    model = BudgetClassifier(PRICES, learners={"a": MISER}, random_state=3)
    candidate = model.candidates("classification")["a"]
    assert candidate.prices is PRICES
    assert isinstance(candidate.random_state, int)
    assert MISER.prices is None and MISER.random_state is None


def test_a_candidate_keeps_a_seed_of_its_own() -> None:
    own = GreedyMiserClassifier(n_estimators=3, random_state=7)
    model = BudgetClassifier(PRICES, learners=[own], random_state=3)
    (candidate,) = model.candidates("classification").values()
    assert candidate.random_state == 7


def test_a_learner_for_another_task_is_refused() -> None:
    model = BudgetClassifier(PRICES, learners=[GreedyMiserRegressor()])
    with pytest.raises(DataError, match="not for classification"):
        model.fit(X, y)


def test_a_copy_for_another_budget_leaves_the_estimator_alone() -> None:
    model = BudgetClassifier(PRICES, learners=[MISER], random_state=0).fit(X, y)
    point = model.point_
    cheap = model.at_budget(0.0)
    assert cheap is not model and type(cheap) is BudgetClassifier
    assert model.point_ is point and cheap.point_.bill == 0.0
    assert cheap.frontier_.points == model.frontier_.points


# --- evidence ----------------------------------------------------------------


def rare_help(n, seed):
    """Feature 0 decides seven rows of ten; the dear feature 1 decides the others."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 2))
    hard = np.abs(Z[:, 0]) < 0.4
    return Z, (np.where(hard, Z[:, 1], Z[:, 0]) > 0).astype(int)


@pytest.fixture(scope="module")
def ladder() -> BudgetClassifier:
    model = BudgetClassifier(Prices([1.0, 10.0]), effort="fast", random_state=0)
    return model.fit(*rare_help(1200, seed=0)).at_budget(6.0)


def test_the_chosen_model_has_evidence_and_keeps_it_in_a_file(ladder, tmp_path) -> None:
    ladder.save(tmp_path / "m.thrifty")
    found, own = load(tmp_path / "m.thrifty").evidence, ladder.predictor_.evidence
    np.testing.assert_array_equal(found.ends, own.ends)
    np.testing.assert_array_equal(found.interim, own.interim)
    assert len(own.interim) > 0


def test_intervals_of_a_ladder_hold_on_new_rows_at_every_stage(ladder) -> None:
    Z, t = rare_help(4000, seed=1)
    predictor = ladder.predictor_
    scores, bills = predictor.predict_proba(Z), predictor.bill(Z)
    is_right, confidence = scores.argmax(axis=1) == t, scores.max(axis=1)
    covered, cells = 0, 0
    for bill in np.unique(bills):
        rows = np.flatnonzero(bills == bill)
        for part in np.array_split(rows[np.argsort(confidence[rows])], 5):
            middle = scores[part[len(part) // 2]]
            low, high = predictor.evidence.interval(bill, middle, is_done=True)
            slack = 2 * np.sqrt(0.25 / len(part)) / 2  # of the share measured here
            covered += low - slack <= is_right[part].mean() <= high + slack
            cells += 1
    assert len(np.unique(bills)) >= 2 and covered >= 0.9 * cells


def test_the_gain_of_a_ladder_is_what_new_rows_gain(ladder) -> None:
    Z, t = rare_help(4000, seed=2)
    predictor = ladder.predictor_
    right_now, right_later, expected = [], [], []
    for row, target in zip(Z[:600].tolist(), t, strict=False):
        walk = predictor.walk()
        walk.tell({0: row[0]})
        if not walk.asks:
            continue
        expected.append(walk.why.gain)
        right_now.append(walk.best == target)
        walk.tell({1: row[1]})
        right_later.append(walk.best == target)
    assert len(expected) > 50
    assert np.mean(expected) == pytest.approx(np.mean(right_later) - np.mean(right_now), abs=0.08)


def test_a_ranking_has_no_evidence() -> None:
    Z, grade = RNG.normal(size=(200, 2)), np.arange(200) % 3
    model = BudgetRanker(effort="fast", random_state=0).fit(Z, grade, qid=np.arange(200) // 10)
    assert model.predictor_.evidence is None


# --- resuming ----------------------------------------------------------------


class Interrupted(GreedyMiserClassifier):
    """A learner during which someone presses Ctrl-C, as long as `hits` is above 0."""

    hits = 0

    def path(self, *arguments, **more):
        if Interrupted.hits > 0:
            Interrupted.hits -= 1
            raise KeyboardInterrupt
        return super().path(*arguments, **more)


TWO = {"first": MISER, "second": Interrupted(n_estimators=4)}


def test_an_interrupted_fit_goes_on_with_the_learners_that_are_left(tmp_path, monkeypatch) -> None:
    whole = BudgetClassifier(PRICES, 2.0, learners=TWO, random_state=0).fit(X, y)
    model = BudgetClassifier(PRICES, 2.0, learners=TWO, random_state=0)
    monkeypatch.setattr(Interrupted, "hits", 1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, resume=tmp_path)
    assert len(list(tmp_path.glob("*.curve"))) == 1
    monkeypatch.setattr(GreedyMiserClassifier, "_path", only_for(Interrupted))
    model.fit(X, y, resume=tmp_path)
    assert pack(model.predictor_) == pack(whole.predictor_)
    assert model.predictor_.evidence is not None
    assert [result.outcome for result in model.learner_results_] == ["ran", "ran"]


def only_for(kind):
    """Return a path that fails the test for learners of any other kind."""
    path = GreedyMiserClassifier._path

    def call(self, *arguments, **more):
        assert isinstance(self, kind), "run again"
        return path(self, *arguments, **more)

    return call


def test_a_folder_serves_other_budgets(tmp_path, monkeypatch) -> None:
    learners = {"a": MISER}
    BudgetClassifier(PRICES, 2.0, learners=learners, random_state=0).fit(X, y, resume=tmp_path)
    whole = BudgetClassifier(PRICES, 0.5, learners=learners, random_state=0).fit(X, y)
    monkeypatch.setattr(GreedyMiserClassifier, "_path", only_for(Interrupted))
    other = BudgetClassifier(PRICES, 0.5, learners=learners, random_state=0)
    assert pack(other.fit(X, y, resume=tmp_path).predictor_) == pack(whole.predictor_)


@pytest.mark.parametrize(
    ("settings", "fit", "words"),
    [
        ({"random_state": 1}, {}, "seed 0, this run has 1"),
        ({"scoring": "f1"}, {}, 'scoring "accuracy", this run has "f1"'),
        ({"scoring": make_scorer(f1_score)}, {}, "make_scorer"),
        ({"prices": Prices([1.0, 3.0])}, {}, "a: prices was"),
        ({"learners": {"a": GreedyMiserClassifier(n_estimators=4)}}, {}, "n_estimators was 3"),
        ({"class_weight": "balanced"}, {}, "its jobs have data"),
        ({"costs": [[0, 2], [5, 0]]}, {}, "its jobs have data"),
        ({}, {"costs": np.arange(120.0)}, "its jobs have data"),
        ({}, {"sample_weight": np.arange(120) + 1}, "its jobs have data"),
        ({}, {"groups": np.arange(120) // 2}, "its jobs have data"),
        ({}, {"X": X + 1}, "its jobs have data"),
        ({}, {"validation": (X, y)}, "its jobs have data"),
    ],
)
def test_a_folder_of_other_data_or_settings_is_refused_before_anything_is_run(
    settings, fit, words, tmp_path, monkeypatch
) -> None:
    given = {"prices": PRICES, "learners": {"a": MISER}, "random_state": 0}
    BudgetClassifier(**given).fit(X, y, resume=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(GreedyMiserClassifier, "_path", only_for(Interrupted))
    model = BudgetClassifier(**{**given, **settings})
    with pytest.raises(ResumeError, match=rf"resume folder(?s:.*){words}"):
        model.fit(**{"X": X, "y": y, **fit}, resume=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_fit_that_cannot_be_repeated_cannot_be_resumed(tmp_path) -> None:
    with pytest.raises(ResumeError, match="without a random_state"):
        BudgetClassifier(PRICES, learners={"a": MISER}).fit(X, y, resume=tmp_path)
    model = BudgetClassifier(PRICES, learners={"a": MISER}, random_state=0,
                             scoring=lambda estimator, X, y: 1.0)  # fmt: skip
    with pytest.raises(ResumeError, match="cannot be told apart"):
        model.fit(X, y, resume=tmp_path)


@pytest.mark.parametrize(
    ("kind", "learner", "query"),
    [
        (BudgetRegressor, GreedyMiserRegressor, {}),
        (BudgetRanker, GreedyMiserRanker, {"qid": np.arange(120) // 10}),
    ],
)
def test_regressors_and_rankers_resume_too(kind, learner, query, tmp_path, monkeypatch) -> None:
    learners = {"a": learner(n_estimators=3)}
    model = kind(PRICES, 2.0, learners=learners, random_state=0)
    first = pack(model.fit(X, y, **query, resume=tmp_path).predictor_)
    monkeypatch.setattr(learner, "_path", lambda *a: pytest.fail("run again"))
    assert pack(model.fit(X, y, **query, resume=tmp_path).predictor_) == first


# --- tables in files ----------------------------------------------------------

LONG = pd.DataFrame(np.random.default_rng(3).normal(size=(3000, 3)), columns=["a", "b", "c"])
LABELS = np.where(LONG["a"] + LONG["b"] * LONG["c"] > 0, "yes", "no")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three thousand rows in two files, of which 1000 are drawn."""
    monkeypatch.setattr("thrifty.learn.long_training_set.SAMPLE", 1000)
    for name, rows in (("0", slice(0, 2000)), ("1", slice(2000, 3000))):
        LONG[rows].assign(y=LABELS[rows], v=LONG["a"][rows] ** 2).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    return tmp_path


@pytest.mark.parametrize("learners", ["auto", [GreedyMiserClassifier(n_estimators=20)]])
def test_the_race_is_run_on_drawn_rows_and_the_winner_trained_on_all(files, learners) -> None:
    settings = {"budget": 3, "learners": learners, "effort": "fast", "random_state": 0}
    reports = []
    with progress(reports.append):
        model = BudgetClassifier(**settings).fit(Table.parquet(files, "y", drop=["v"]))
    steps = list(dict.fromkeys(report.learner for report in reports))
    assert steps[0] == "files" and steps[-1] == "all rows"
    assert reports[-1].share == 1.0
    # The rows that points were measured on are not trained on.
    assert model.refit_rows_ == 3000 - len(model.validation_)
    train, _ = model._drawn
    alone = BudgetClassifier(**settings).fit(train.table, train.labels)
    assert alone.refit_rows_ == 0
    assert model.score(LONG, LABELS) > alone.score(LONG, LABELS)
    bill, quality = model.bill(model.validation_.table), model.predict(model.validation_.table)
    assert model.point_.bill == pytest.approx(bill.mean())
    assert model.point_.quality == pytest.approx(np.mean(quality == model.validation_.labels))


def test_values_are_trained_on_all_rows_too(files) -> None:
    model = BudgetRegressor(budget=3, learners=[GreedyMiserRegressor()], random_state=0)
    model.fit(Table.parquet(files, "v", drop=["y"]))
    assert model.refit_rows_ == 2800  # 200 of the rows that were drawn are the validation set
    assert model.score(LONG, LONG["a"] ** 2) > 0.9


def test_class_weights_hold_on_all_rows_too(files) -> None:
    learners = [GreedyMiserClassifier(n_estimators=20)]
    plain, weighted = (
        BudgetClassifier(budget=3, learners=learners, random_state=0, class_weight=weight).fit(
            Table.parquet(files, "y", drop=["v"])
        )
        for weight in (None, {"yes": 5.0, "no": 1.0})
    )
    assert weighted.refit_rows_ == plain.refit_rows_ > 0
    shares = (model.predict_proba(LONG)[:, 1].mean() for model in (plain, weighted))
    assert next(shares) + 0.1 < next(shares)


def test_where_errors_have_costs_totals_are_compared(files) -> None:
    costs = {("yes", "no"): 100.0, ("no", "yes"): 100.0}
    learners = [GreedyMiserClassifier(n_estimators=20)]
    model = BudgetClassifier(costs=costs, learners=learners, random_state=0)
    model.fit(Table.parquet(files, "y", drop=["v"]))
    assert model.refit_rows_ == 2800 and model.point_.totals is not None


def test_a_point_for_another_budget_can_be_trained_on_all_rows(files) -> None:
    model = BudgetClassifier(budget=3, learners=[GreedyMiserClassifier()], random_state=0)
    model.fit(Table.parquet(files, "y", drop=["v"]))
    cheap = model.at_budget(1.0)
    before = cheap.predictor_
    assert cheap.refit() is cheap and cheap.refit_rows_ == 2800
    assert cheap.predictor_ is not before and cheap.bill(LONG).max() <= 1.0
    with pytest.raises(DataError, match="there are no other rows"):
        BudgetClassifier(budget=3, learners=[MISER]).fit(X, y).refit()


@pytest.mark.parametrize(
    ("settings", "columns"),
    [({"budget": 1.5}, {"drop": ["v"]}), ({"class_weight": "balanced"}, {"weight": "v"})],
)
def test_workers_of_a_cluster_train_the_winner_on_all_rows(
    files, settings, columns, dask_client
) -> None:
    learners = [GreedyMiserClassifier(n_estimators=8)]
    model = BudgetClassifier(learners=learners, random_state=0, **settings)
    table = Table.parquet(files, "y", **columns)
    local = pack(model.fit(table).predictor_)
    assert model.refit_rows_ > 2000
    with parallel_config("dask"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(SampledTrainingSet, "all_rows", lambda *rest: pytest.fail("not here"))
        assert pack(model.fit(table).predictor_) == local
    with parallel_config("dask"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.access", lambda path, mode: False)
        with pytest.warns(UserWarning, match=r"not every worker can read .*0\.parquet"):
            assert pack(model.fit(table).predictor_) == local


def test_a_model_that_is_worse_on_all_rows_is_not_taken(files, monkeypatch) -> None:
    def wrong(self, predictor, train, evidence, report=None, deadline=np.inf):
        worse = BudgetClassifier(learners=[MISER], random_state=0).fit(evidence.X, 1 - evidence.y)
        return [type(point)(point.knob, predictor.replace(model=worse.model_), 0.0, 0.0)]

    model = BudgetClassifier(budget=3, learners=[GreedyMiserClassifier()], random_state=0)
    table = Table.parquet(files, "y", drop=["v"])
    point = next(iter(GreedyMiserClassifier(n_estimators=2).path(X, y, validation=(X, y))))
    monkeypatch.setattr(GreedyMiserClassifier, "refit", wrong)
    assert model.fit(table).refit_rows_ == 0
    monkeypatch.setattr(model, "_choose", _refuse)
    assert model.refit().refit_rows_ == 0
    monkeypatch.setattr(GreedyMiserClassifier, "refit", lambda *arguments: [])
    assert model.refit().refit_rows_ == 0


def _refuse(*arguments: object) -> None:
    raise BudgetError("no point meets the budget")


def test_without_time_or_a_way_the_drawn_rows_are_all(files) -> None:
    table = Table.parquet(files, "y", drop=["v"])
    model = BudgetClassifier(
        budget=3, learners=[GreedyMiserClassifier()], random_state=0, time_limit=1e-9
    )
    assert model.fit(table).refit_rows_ == 0
    forest = BudgetForestClassifier(n_estimators=2)
    model = BudgetClassifier(budget=3, learners=[forest], random_state=0)
    assert model.fit(table).refit_rows_ == 0


def test_several_budgets_are_kept_by_the_model_of_the_drawn_rows(files) -> None:
    prices = Prices(
        {"a": 1, "b": 2, "c": 3}, unit="CAD", also={"ms": Prices({"a": 3, "b": 1, "c": 1})}
    )
    model = BudgetClassifier(prices, {"CAD": 3, "ms": 4}, learners=[MISER], random_state=0)
    model.fit(Table.parquet(files, "y", drop=["v"]))
    assert model.refit_rows_ == 0
    bills = model.bills(LONG)
    assert bills["CAD"].mean() <= 3 and bills["ms"].mean() <= 4


def test_what_needs_rows_in_memory_is_refused_before_files_are_read(files) -> None:
    table = Table.parquet(files, "y", drop=["v"])
    with pytest.raises(DataError, match="queries, groups and costs of rows need the rows"):
        BudgetClassifier().fit(table, groups=[1, 2])
    with pytest.raises(DataError, match="BudgetRanker needs its rows in memory"):
        BudgetRanker().fit(table, None)
