"""The figures of pacing and of a shadow."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "serve"))

from paced_points import chain_points
from scripted import NAMES, each

from thrifty.serve import Case, Pacing, Runtime, Shadow
from thrifty.web.metrics import Metrics
from thrifty.web.pacing_metrics import watch_runtime


def test_spend_is_shown_against_promise_and_budget():
    points, metrics = chain_points(), Metrics()
    pacing, shadow = Pacing(points, 30.0, per_day=50.0), Shadow(points.predictors[1])
    with Runtime(points.predictor, [each("lab", *NAMES)], pacing=pacing, shadow=shadow) as runtime:
        watch_runtime(runtime, metrics)
        for _ in range(3):
            runtime.answer(Case())
    lines = metrics.text().splitlines()
    for line in (
        "thrifty_budget 30",
        'thrifty_ceiling{window="day"} 50',
        'thrifty_ceiling_committed{window="day"} 47',
        "thrifty_limited_cases_total 1",
        'thrifty_paced_cases_total{point="2"} 3',
        "thrifty_paced_expected_total 57",
        "thrifty_paced_settled_total 3",
        "thrifty_paced_spent_total 47",
        'thrifty_shadow_billed_total{model="shadow"} 3',
        'thrifty_shadow_cases_total{outcome="agreed"} 3',
    ):
        assert line in lines, line
    assert any(line.startswith("thrifty_cost_weight ") for line in lines)


def test_what_a_shadow_lacks_is_shown():
    points, metrics = chain_points(default=1), Metrics()
    shadow = Shadow(points.predictors[2])
    with Runtime(points.predictor, [each("lab", *NAMES)], shadow=shadow) as runtime:
        watch_runtime(runtime, metrics)
        runtime.answer(Case())
    assert 'thrifty_shadow_lacking_total{feature="chol"} 1' in metrics.text()


def test_a_runtime_without_either_shows_nothing_more():
    metrics = Metrics()
    points = chain_points()
    watch_runtime(Runtime(points.predictor, [each("lab", *NAMES)]), metrics)
    assert "paced" not in metrics.text() and "shadow" not in metrics.text()
