"""The facts of a fit, or of one predictor, as a dict of plain values that JSON can hold.

Every number of the page is computed here or in `predictions`; the template only formats them.
"""

from __future__ import annotations

import math
import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from thrifty import __version__
from thrifty.bundle import Predictor
from thrifty.frontier import BudgetFit, CurvePoint
from thrifty.frontier.baselines import Baseline
from thrifty.frontier.results import MeasuredOutputs, TestPoint, TestResult, TotalCost
from thrifty.frontier.several_budgets import read_amounts
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.point import ValidationOutputs
from thrifty.report.predictions import prediction_facts, recorded_metric
from thrifty.report.remarks import comparison, remarks, seen_rows_remark
from thrifty.report.spending import other_amounts, spending_facts
from thrifty.report.words import (
    assumptions,
    count_queries,
    drawn_words,
    shown_frontier,
    summary,
)

__all__ = ["fit_facts", "predictor_facts"]


def fit_facts(
    found: BudgetFit,
    *,
    title: str = "Prediction under a budget",
    target: str = "target",
    source: str = "",
    note: str = "",
) -> dict[str, Any]:
    """Collect the settings and the results of a fit.

    Parameters
    ----------
    found : BudgetFit
    title : str
        Heading of the page.
    target : str
        Name of the target.
    source : str
        Where the table comes from.
    note : str
        A further assumption, such as where the prices come from.

    Returns
    -------
    dict
        ``title``, ``headline`` (``remarks``, what a user must know first, and ``comparison``),
        ``settings``, ``chosen`` (the chosen point with its validation and test results),
        ``alternative`` (a cheaper point that is not clearly worse, where money was no object, and a
        budget for it); on the test set, with intervals: ``test`` (the chosen model), ``baselines``,
        ``constant`` and ``test_points`` (the frontier and the constant); ``total`` (features and
        errors on the test set, where errors have costs); on the validation set: ``frontier`` (what
        is Pareto-optimal as printed, and the chosen point) and ``points``; ``learners`` (which ones
        ran), everything in `prediction_facts` for the test set, ``provenance`` and
        ``assumptions``.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.frontier import fit_budget
    >>> from thrifty.report import fit_facts
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> found = fit_budget(X, X[:, 0] > 0, budget=1, learners=[GreedyMiserClassifier()])
    >>> facts = fit_facts(found, target="sign")
    >>> facts["headline"]
    '1.00 per example, accuracy 100.0% [94.0, 100.0], the same as plain boosting on all features.'
    >>> facts["settings"]["task"], facts["bills"]["mean"]
    ('classification', 1.0)
    """
    estimator, chosen = found.estimator, found.chosen
    test, first, sentence = _figures(found.test_result), remarks(found), comparison(found)
    budgets = read_amounts(estimator.budget, found.predictor.prices)
    return {
        "title": title,
        "headline": " ".join([*first, sentence]),
        "remarks": first,
        "comparison": sentence,
        "settings": _settings(found, target, source),
        "chosen": {
            "learner": chosen.learner,
            "knob": dict(chosen.knob),
            "ceiling": chosen.ceiling,
            "validation": _point(chosen),
            "test": test,
        },
        "alternative": _alternative(found),
        "total": _total(found.total),
        "test": test,
        "test_points": [
            {"name": point.name, **_figures(point), "chosen": point.chosen}
            for point in found.test_points
        ],
        "constant": {
            **_baseline(found.constant, found),
            "validation": _figures(found.constant_validation),
        },
        "same_answer": found.same_answer,
        "baselines": [_baseline(baseline, found) for baseline in found.baselines],
        "frontier": _frontier(found),
        "points": [_point(point) for point in found.curve.points],
        "learners": [asdict(result) for result in estimator.learner_results_],
        **prediction_facts(found.predictor, found.test),
        **spending_facts(found.predictor, found.test.X, budgets),
        "provenance": _provenance(found.predictor, found.seed, found.data),
        "assumptions": assumptions(found, note),
    }


def predictor_facts(
    predictor: Predictor,
    rows: ValidationSet,
    *,
    title: str = "A model on labeled rows",
    target: str = "target",
    source: str = "",
) -> dict[str, Any]:
    """Collect the results of one predictor, as it is, on labeled rows.

    Returns
    -------
    dict
        The keys of `fit_facts` without those about the curve and the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.learn.dataset import ValidationSet
    >>> from thrifty.report import predictor_facts
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = GreedyMiserClassifier().fit(X, X[:, 0] > 0).predictor_
    >>> rows = ValidationSet.for_predictor(model, "classification", X, X[:, 0] > 0)
    >>> facts = predictor_facts(model, rows)
    >>> facts["headline"], facts["confusion"]["rows"]
    ('2.00 per example, accuracy 100.0% [98.7, 100.0].', [[164, 0], [0, 136]])
    """
    origin = predictor.provenance or {}
    metric = recorded_metric(predictor, rows.task)
    outputs = ValidationOutputs.of(predictor, rows.X)
    result = MeasuredOutputs.of(outputs, rows, metric, predictor.ceiling, predictor.decision).result
    sentence = summary(result, metric.name, predictor.prices.unit)
    seen = seen_rows_remark(predictor, rows)
    first = [] if seen is None else [seen]
    return {
        "title": title,
        "headline": " ".join([*first, sentence]),
        "remarks": first,
        "comparison": sentence,
        "test": _figures(result),
        "settings": {
            "target": target,
            "source": source,
            "task": rows.task,
            "inferred": False,
            "metric": metric.name,
            **dict.fromkeys(("budget", "quality", "cap", "confidence")),
            **{"other_budgets": [], "other_caps": []},
            **_table_facts(predictor),
            "rows": {"test": len(rows)},
            "queries": count_queries(rows),
        },
        **prediction_facts(predictor, rows),
        **spending_facts(predictor, rows.X),
        "provenance": _provenance(predictor, origin.get("seed"), origin.get("data")),
        "assumptions": ["New data is assumed to come from the same distribution as these rows."],
    }


def _table_facts(predictor: Predictor) -> dict[str, Any]:
    """Return the number of features, their price, and its unit."""
    prices = predictor.prices
    return {"unit": prices.unit, "features": len(predictor.schema), "full": prices.full}


def _figures(result: TestResult | TestPoint | Baseline) -> dict[str, Any]:
    """Return bill and quality on the test set with the ends of their intervals.

    An end that is not finite, as for a single row, is None.
    """
    ends = (*result.bill_interval, *result.quality_interval)
    bill_low, bill_high, quality_low, quality_high = (
        end if math.isfinite(end) else None for end in ends
    )
    return {
        "bill": result.bill,
        "bill_low": bill_low,
        "bill_high": bill_high,
        "quality": result.quality,
        "quality_low": quality_low,
        "quality_high": quality_high,
    }


def _baseline(baseline: Baseline, found: BudgetFit) -> dict[str, Any]:
    """Return the figures of a baseline, and how it compares with the chosen model."""
    low, high = (end if math.isfinite(end) else None for end in baseline.difference_interval)
    return {
        "name": baseline.name,
        "features": baseline.features,
        "columns": list(baseline.columns),
        **_figures(baseline),
        "difference": baseline.difference,
        "difference_low": low,
        "difference_high": high,
        "total": _total(baseline.total),
        "verdict": found.verdict(baseline),
    }


def _total(cost: TotalCost | None) -> dict[str, float] | None:
    """Return the mean cost of features, of errors, and of both."""
    return None if cost is None else {**asdict(cost), "total": cost.total}


def _frontier(found: BudgetFit) -> list[dict[str, Any]]:
    """Return the validation frontier as it is printed, with the constant and the chosen point.

    The choice may fall on a point that is dominated: see `thrifty.frontier.choice`.
    """
    budget, chosen, constant = found.estimator.main_budget, found.chosen, found.constant_validation
    rows = [
        {
            **_point(point),
            "knob": dict(point.knob),
            "features": int(point.model.model.support.sum()),
            "within": budget is None or point.bill <= budget,
            "chosen": point is chosen,
        }
        for point in found.curve.points
    ]
    if all(row["features"] for row in rows):
        figures = {"learner": "constant", **asdict(constant), "knob": {}, "features": 0}
        figures |= {"within": True, "chosen": False}
        intervals = ("bill_interval", "quality_interval")
        rows.append({**figures, **{name: list(figures[name]) for name in intervals}})
    kept = shown_frontier(rows, found.curve.scoring)
    shown = [{**row, "dominated": False} for row in kept]
    if not any(row["chosen"] for row in kept):
        # Perhaps only as printed: then it is ahead by less than the digits show.
        tied = any(point is chosen for point in found.curve.frontier)
        shown += [{**row, "dominated": True, "tied": tied} for row in rows if row["chosen"]]
    return sorted(shown, key=lambda row: row["bill"])


def _settings(found: BudgetFit, target: str, source: str) -> dict[str, Any]:
    """Return what was asked for, and of which table."""
    estimator = found.estimator
    return {
        "target": target,
        "source": source,
        "task": found.task,
        "inferred": found.guessed,
        "metric": found.curve.scoring,
        "budget": estimator.main_budget,
        "other_budgets": other_amounts(estimator.budget, found.predictor.prices),
        "quality": found.target_quality,
        "cap": estimator.main_cap,
        "other_caps": other_amounts(estimator.cap, found.predictor.prices, "cap"),
        "confidence": estimator.confidence,
        **_table_facts(found.predictor),
        "rows": found.sets.sizes,
        "queries": count_queries(found.test),
        "cross_fitted": found.sets.cross_fitted,
        "drawn": drawn_words(found),
    }


def _alternative(found: BudgetFit) -> dict[str, Any] | None:
    """Return the figures of a cheaper point on the validation set, and a budget for it."""
    alternative = found.alternative
    return alternative and {**_point(alternative.point), "budget": alternative.budget}


def _point(point: CurvePoint) -> dict[str, Any]:
    """Return the figures of a point on the validation set."""
    return {
        "learner": point.learner,
        "bill": point.bill,
        "quality": point.quality,
        "bill_interval": list(point.bill_interval),
        "quality_interval": list(point.quality_interval),
    }


def _provenance(predictor: Predictor, seed: Any, data: Any) -> dict[str, Any]:
    """Return the method, the seed, the hash of the data, and the versions of the packages."""
    packages = {name: version(name) for name in ("numpy", "scikit-learn")}
    return {
        "method": (predictor.provenance or {}).get("method", ""),
        "seed": seed,
        "data": data,
        "versions": {"thrifty": __version__, "python": platform.python_version(), **packages},
    }
