"""Every public estimator obeys every law; new estimators are found automatically."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import thrifty
from thrifty.checks import LawError, check_laws, laws
from thrifty.learn.cost_tree.leaf_step import Effort
from thrifty.learn.ladder.effort import EFFORTS, RungSettings
from thrifty.learn.ladder.parts import BoostedTrees

pytestmark = pytest.mark.usefixtures("fitted_once")

# Set for every estimator that has the parameter.
SMALL = {"n_estimators": 6, "max_depth": 3, "min_samples_leaf": 5, "random_state": 0}
TREES = {"n_estimators": 6, "max_depth": 3, "min_samples_leaf": 5}
GATED = {"expensive": thrifty.Call("big", fn=thrifty.GreedyMiserClassifier(**TREES), folds=2)}
VALUED = {"expensive": thrifty.Call("big", fn=thrifty.GreedyMiserRegressor(**TREES), folds=2)}

# Settings to check; an estimator that is not listed is checked with its defaults.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "AnytimeClassifier": [{"dimensions": 2}],
    "BudgetClassifier": [
        {"learners": {"miser": thrifty.GreedyMiserClassifier(**TREES)}},
        {"budget": 8.0},
    ],
    "BudgetRanker": [{"learners": {"miser": thrifty.GreedyMiserRanker(**TREES)}}],
    "BudgetRegressor": [
        {"learners": {"miser": thrifty.GreedyMiserRegressor(**TREES)}, "budget": 5.0}
    ],
    "CompressedSVC": [
        {"max_moves": 10},
        {"max_moves": 10, "n_vectors": 3, "per_pair": True, "kernel": "poly"},
    ],
    "CostCascadeClassifier": [{"n_stages": 2, "max_sweeps": 1, "penalty": 0.003}],
    "CostTreeClassifier": [
        {"max_depth": 1, "max_sweeps": 1},
        {"max_depth": 1, "max_sweeps": 1, "penalty": 0.001, "base": "boosted", "loss": "squared"},
    ],
    "CostTreeRanker": [{"max_depth": 1, "max_sweeps": 1, "penalty": 0.003}],
    "CostTreeRegressor": [{"max_depth": 1, "max_sweeps": 1, "penalty": 0.003}],
    "GatedClassifier": [
        {"family": thrifty.BoostedFamily(**TREES), "alternations": 2, **GATED},
        {"family": thrifty.LeavesFamily(**TREES), "distance": "symmetric", **GATED},
        {"family": thrifty.LinearFamily(starts=2), "penalty": 0.001, "alternations": 1, **GATED},
    ],
    "GatedRanker": [{"family": thrifty.BoostedFamily(**TREES), "alternations": 2, **VALUED}],
    "GatedRegressor": [
        {"family": thrifty.LeavesFamily(**TREES), "alternations": 2, "penalty": 0.01, **VALUED}
    ],
    "EdgeCloudClassifier": [
        {"max_steps": 10},
        {"gates": "relaxed", "transmit_share": 0.9, "max_steps": 10},
    ],
    "EdgeCloudRegressor": [{"gates": "projected", "transmit_share": 0.3, "max_steps": 5}],
    "GreedyMiserClassifier": [
        {},
        {"penalty": 0.002, "charge": "example"},
        {"penalty": 0.001, "loss": "squared_hinge"},
    ],
    "GreedyMiserRegressor": [{}, {"penalty": 0.01, "charge": "example"}],
    "GreedyMiserRanker": [{}, {"penalty": 0.002, "loss": "squared"}],
    "LadderClassifier": [{"penalty": 0.001}],
    "LadderRanker": [{"penalty": 0.001}],
    "LadderRegressor": [{"penalty": 0.001}],
    "MarginNeighborsClassifier": [{}, {"base": "logistic"}],
    "PolicyClassifier": [{"penalty": 0.001}],
    "PrunedForestClassifier": [{}, {"penalty": 0.01}],
    "SubmodularTreeClassifier": [{}, {"routing": "soft", "node_budget": 30.0}],
    "SubmodularTreeRegressor": [{}, {"routing": "soft", "node_budget": 20.0}],
}

PAIRS = "repeating a row adds pairs of rows, which no weight of one row can do"
HELD = "rows are assigned to folds, so a row of weight two is not two rows"
DRAWN = "rows are sampled for each tree, so a row of weight two is not two rows"
REPEATED = "repeating a support vector adds a point to fit; only the SVC itself uses weights"
EXPECTED_FAILED: dict[str, dict[str, str]] = {
    "BudgetClassifier": {"check_sample_weight_equivalence_on_dense_data": HELD},
    "BudgetRanker": {"check_sample_weight_equivalence_on_dense_data": HELD},
    "BudgetRegressor": {"check_sample_weight_equivalence_on_dense_data": HELD},
    "CompressedSVC": {"check_sample_weight_equivalence_on_dense_data": REPEATED},
    # Without bootstrap it passes.
    "BudgetForestClassifier": {"check_sample_weight_equivalence_on_dense_data": DRAWN},
    "PrunedForestClassifier": {"check_sample_weight_equivalence_on_dense_data": DRAWN},
    "GatedClassifier": {"check_sample_weight_equivalence_on_dense_data": HELD},
    "GatedRanker": {"check_sample_weight_equivalence_on_dense_data": HELD},
    "GatedRegressor": {"check_sample_weight_equivalence_on_dense_data": HELD},
    "LadderClassifier": {"check_sample_weight_equivalence_on_dense_data": HELD},
    "LadderRanker": {"check_sample_weight_equivalence_on_dense_data": HELD},
    "LadderRegressor": {"check_sample_weight_equivalence_on_dense_data": HELD},
    "PolicyClassifier": {"check_sample_weight_equivalence_on_dense_data": HELD},
    # With the squared loss, without pairs, it passes.
    "GreedyMiserRanker": {
        "check_sample_weight_equivalence_on_dense_data": PAIRS,
        "check_sample_weight_equivalence_on_sparse_data": PAIRS,
    },
}

# Laws that take longest.
SLOW_LAWS: dict[str, tuple[str, ...]] = {
    "AnytimeClassifier": ("sklearn",),
    "BudgetClassifier": ("sklearn", "threads"),
    "CostCascadeClassifier": ("sklearn", "penalty", "path"),
    "CostTreeClassifier": ("sklearn",),
    "CostTreeRanker": ("sklearn", "penalty"),
    "CostTreeRegressor": ("sklearn", "penalty"),
    "MarginNeighborsClassifier": ("threads",),
}
# Laws whose coverage is measured: the others run the same lines again, and tracing them takes long.
MEASURED = {f"{law}-{case}" for law in ("walks", "path", "files") for case in ("numbers", "pandas")}


# Constants of `thrifty.learn` that say how long methods search.
SHORT_SEARCHES: dict[str, Any] = {
    "anytime.training.HALVINGS": 6,
    "cost_tree.fit.MIN_PATH_SHARE": 0.02,
    "cost_tree.fit.PATH_DECREASE": 0.1,
    "cost_tree.fit.PENALTY_FACTORS": (1.0,),
    "cost_tree.leaf_fit.TO_CONVERGENCE": Effort(20, systems=100, tolerance=1e-10),
    "edge_cloud.base.N_STARTS": 2,
    "edge_cloud.base.TRANSMIT_SHARES": (0.3, 0.6, 1.0),
    "edge_cloud.direct.PENALTIES": (0.05, 0.8, 12.8),
    "edge_cloud.relaxation.FIRST_ROUNDS": 2,
    "edge_cloud.relaxation.HALVINGS": 6,
    "edge_cloud.relaxation.LATER_ROUNDS": 1,
    "gates.base.PENALTY_FACTORS": (1.0, 0.1, 0.0),
    "gates.base.TRAINED_SHARES": (0.0, 0.25),
    "gates.leaves.RIDGES": (30.0, 300.0),
    "gates.linear.MAX_PROXIMAL_STEPS": 60,
}


@pytest.fixture(autouse=True)
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let methods do a small part of their work; no law depends on how much they do."""
    for name, value in SHORT_SEARCHES.items():
        monkeypatch.setattr(f"thrifty.learn.{name}", value)
    few_trees = BoostedTrees(8, learning_rate=0.3, max_leaves=7, min_samples_leaf=5, max_depth=3)
    monkeypatch.setattr(BoostedTrees, "suited_to", lambda rows, is_top=True: few_trees)
    monkeypatch.setitem(EFFORTS, "balanced", RungSettings(4, n_trees=6, n_top_trees=9, repeats=1))


def public_estimators() -> list[type]:
    members = [getattr(thrifty, name) for name in thrifty.__all__]
    classes = [member for member in members if inspect.isclass(member)]
    estimators = [cls for cls in classes if hasattr(cls, "fit") and hasattr(cls, "predict")]
    # A pipeline is made of others; tests/learn/test_pipeline.py has its laws.
    return [cls for cls in estimators if cls is not thrifty.Pipeline]


def variants() -> Iterator[tuple[str, Any, dict[str, str]]]:
    for cls in public_estimators():
        for settings in VARIANTS.get(cls.__name__, [{}]):
            taken = inspect.signature(cls).parameters
            small = {name: value for name, value in SMALL.items() if name in taken}
            label = ",".join([cls.__name__, *(f"{k}={v}" for k, v in settings.items())])
            failing = {} if "loss" in settings else EXPECTED_FAILED.get(cls.__name__, {})
            yield label, cls(**small | settings), failing


def every_law() -> Iterator[Any]:
    for label, estimator, failing in variants():
        for name, check in laws(estimator, failing):
            marks = [] if name in MEASURED else [pytest.mark.no_cover]
            if name.split("-")[0] in SLOW_LAWS.get(type(estimator).__name__, ()):
                marks.append(pytest.mark.slow)
            yield pytest.param(check, id=f"{label}-{name}", marks=marks)


@pytest.mark.parametrize("check", list(every_law()))
def test_every_public_estimator_obeys_every_law(check: Callable[[], None]) -> None:
    check()


def test_all_three_tasks_are_among_the_estimators() -> None:
    names = {cls.__name__ for cls in public_estimators()}
    assert {"GreedyMiserClassifier", "GreedyMiserRegressor", "GreedyMiserRanker"} <= names
    assert set(VARIANTS) | set(EXPECTED_FAILED) | set(SLOW_LAWS) <= names


def test_laws_of_one_estimator_have_different_names(honest) -> None:
    names = [name for name, _ in laws(honest)]
    assert len(names) == len(set(names))
    some = {"walks-pandas", "penalty-float32", "path-polars", "threads-large", "sklearn"}
    assert some | MEASURED <= set(names)


def test_a_law_that_does_not_apply_is_left_out(bend) -> None:
    class Pathless(thrifty.GreedyMiserRegressor):
        path = property()

        def __init__(self, prices=None) -> None:
            super().__init__(prices=prices)

    named = {name.split("-")[0] for name, _ in laws(Pathless())}
    assert named.isdisjoint({"path", "penalty"})
    assert "walks" in named


def test_check_laws_reports_all_failures_at_once(bend) -> None:
    def used(self, X):
        return ~thrifty.GreedyMiserClassifier.used(self, X)

    with pytest.raises(LawError) as caught:
        check_laws(bend(used=used, score=lambda self, X, y: 0.5))
    message = str(caught.value)
    assert "a value that is not used can be replaced by anything" in message
    assert "a bill is the price of what was used" in message
    assert "score is the quality" in message
    assert "case numbers" in message and "case pandas" in message


def test_check_laws_is_silent_when_all_is_well(honest, monkeypatch) -> None:
    obeyed = [(name, check) for name, check in laws(honest) if name.startswith("bills")]
    monkeypatch.setattr("thrifty.checks.laws", lambda *_: iter(obeyed))
    assert obeyed
    check_laws(honest)
