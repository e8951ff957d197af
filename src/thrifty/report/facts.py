"""The facts of a fit as a plain dict: all that a page or a program may want to tell.

Every number is computed here or in `answers`, and everything in the dict can be written as JSON.
"""

from __future__ import annotations

import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from thrifty import __version__
from thrifty.bundle import Predictor
from thrifty.frontier import BudgetFit, CurvePoint
from thrifty.frontier.scoring import quality
from thrifty.frontier.splits import Rows
from thrifty.report.answers import answers
from thrifty.report.words import assumptions, headline, measured

__all__ = ["facts", "facts_of"]


def facts(
    found: BudgetFit,
    *,
    title: str = "Prediction under a budget",
    target: str = "target",
    source: str = "",
    note: str = "",
) -> dict[str, Any]:
    """Collect what there is to tell about a fit.

    Parameters
    ----------
    found : BudgetFit
    title : str
        Heading of the page.
    target : str
        What is predicted.
    source : str
        Where the table comes from.
    note : str
        A further assumption, such as where the prices come from.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.frontier import fit_budget
    >>> from thrifty.report import facts
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> found = fit_budget(X, X[:, 0] > 0, budget=1, learners=[GreedyMiserClassifier()])
    >>> told = facts(found, target="sign")
    >>> told["asked"]["target"], told["asked"]["task"], told["bills"]["mean"]
    ('sign', 'classification', 1.0)
    """
    return {
        "title": title,
        "headline": headline(found),
        "asked": {**_asked(found), "target": target, "source": source},
        "chosen": _chosen(found),
        "baselines": [asdict(baseline) for baseline in found.baselines],
        "frontier": _frontier(found),
        "points": [_point(point) for point in found.curve.points],
        "laps": [asdict(lap) for lap in found.estimator.laps_],
        **answers(found.predictor, found.test),
        "provenance": _provenance(found.predictor, found.seed, found.data),
        "assumptions": assumptions(found, note),
    }


def facts_of(
    predictor: Predictor,
    rows: Rows,
    *,
    title: str = "A predictor on these rows",
    target: str = "target",
    source: str = "",
) -> dict[str, Any]:
    """Collect what there is to tell about a predictor, as it is, on rows with their truth.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.frontier.splits import Rows
    >>> from thrifty.report import facts_of
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = GreedyMiserClassifier().fit(X, X[:, 0] > 0)
    >>> told = facts_of(model.predictor_, Rows(np.arange(300), X, X[:, 0] > 0))
    >>> told["asked"]["rows"], told["confusion"]["rows"]
    ({'test': 300}, [[164, 0], [0, 136]])
    """
    origin = predictor.provenance or {}
    task = "regression" if predictor.classes is None else "classification"
    measure = quality(origin.get("metric"), origin.get("task", task))
    bill, value = float(predictor.bill(rows.X).mean()), measure.measure(predictor, rows)
    return {
        "title": title,
        "headline": measured(bill, value, measure.name, predictor.prices.unit),
        "asked": {
            "target": target,
            "source": source,
            "task": origin.get("task", task),
            "guessed": False,
            "metric": measure.name,
            **dict.fromkeys(("budget", "quality", "cap", "confidence")),
            "unit": predictor.prices.unit,
            "features": len(predictor.schema),
            "full": predictor.prices.full,
            "rows": {"test": len(rows)},
        },
        **answers(predictor, rows),
        "provenance": _provenance(predictor, origin.get("seed"), origin.get("data")),
        "assumptions": ["Rows to come are taken to be like these."],
    }


def _asked(found: BudgetFit) -> dict[str, Any]:
    estimator, prices = found.estimator, found.predictor.prices
    return {
        "task": found.task,
        "guessed": found.guessed,
        "metric": found.curve.scoring,
        "budget": estimator.budget,
        "quality": found.target_quality,
        "cap": estimator.cap,
        "confidence": estimator.confidence,
        "unit": prices.unit,
        "features": len(prices.own),
        "full": prices.full,
        "rows": dict(found.sizes),
    }


def _chosen(found: BudgetFit) -> dict[str, Any]:
    return {
        "learner": found.chosen.learner,
        "knob": dict(found.chosen.knob),
        "ceiling": found.chosen.ceiling,
        "validation": _point(found.chosen),
        "test": asdict(found.held_out),
    }


def _point(point: CurvePoint) -> dict[str, Any]:
    return {
        "learner": point.learner,
        "bill": point.bill,
        "quality": point.quality,
        "bill_interval": list(point.bill_interval),
        "quality_interval": list(point.quality_interval),
    }


def _frontier(found: BudgetFit) -> list[dict[str, Any]]:
    best, budget = found.curve.frontier, found.estimator.budget
    # The choice may prefer a point that is beaten by a hair and steadier.
    others = () if found.chosen in best else (found.chosen,)
    shown = sorted([*best, *others], key=lambda point: point.bill)
    return [
        {
            **_point(point),
            "knob": dict(point.knob),
            "features": int(point.model.model.support.sum()),
            "within": budget is None or point.bill <= budget,
            "chosen": point is found.chosen,
            "beaten": point not in best,
        }
        for point in shown
    ]


def _provenance(predictor: Predictor, seed: Any, data: Any) -> dict[str, Any]:
    packages = {name: version(name) for name in ("numpy", "scikit-learn", "numba")}
    return {
        "method": (predictor.provenance or {}).get("method", ""),
        "seed": seed,
        "data": data,
        "versions": {"thrifty": __version__, "python": platform.python_version(), **packages},
    }
