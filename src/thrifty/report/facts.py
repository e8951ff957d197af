"""The facts of a fit, or of one predictor, as a dict of plain values that JSON can hold.

Every number of the page is computed here or in `predictions`; the template only formats them.
"""

from __future__ import annotations

import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from thrifty import __version__
from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.frontier import BudgetFit, CurvePoint
from thrifty.frontier.scoring import find_metric
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.point import ValidationOutputs
from thrifty.report.predictions import prediction_facts
from thrifty.report.words import assumptions, headline, summary

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
        ``title``, ``headline``, ``settings``, ``chosen`` (the chosen point with its validation and
        test results), ``total`` (features and errors on the test set, where errors have
        costs), ``baselines`` (on the test set), ``frontier`` and ``points`` (on the
        validation set), ``learners`` (which ones ran), everything in `prediction_facts` for the
        test set, ``provenance`` and ``assumptions``.

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
    '1.00 per example, accuracy 100.0%, the same as plain boosting on all features.'
    >>> facts["settings"]["task"], facts["bills"]["mean"]
    ('classification', 1.0)
    """
    estimator, chosen, best = found.estimator, found.chosen, found.curve.frontier
    # The choice may fall on a dominated point: see `thrifty.frontier.choice`.
    listed = [*best, *(() if chosen in best else (chosen,))]
    return {
        "title": title,
        "headline": headline(found),
        "settings": {
            "target": target,
            "source": source,
            "task": found.task,
            "inferred": found.guessed,
            "metric": found.curve.scoring,
            "budget": estimator.budget,
            "quality": found.target_quality,
            "cap": estimator.cap,
            "confidence": estimator.confidence,
            **_table_facts(found.predictor),
            "rows": found.sets.sizes,
            "cross_fitted": found.sets.cross_fitted,
        },
        "chosen": {
            "learner": chosen.learner,
            "knob": dict(chosen.knob),
            "ceiling": chosen.ceiling,
            "validation": _point(chosen),
            "test": asdict(found.test_result),
        },
        "total": None
        if found.total is None
        else {
            **asdict(found.total),
            "total": found.total.total,
        },
        "baselines": [asdict(baseline) for baseline in found.baselines],
        "frontier": [
            {
                **_point(point),
                "knob": dict(point.knob),
                "features": int(point.model.model.support.sum()),
                "within": estimator.budget is None or point.bill <= estimator.budget,
                "chosen": point is chosen,
                "dominated": point not in best,
            }
            for point in sorted(listed, key=lambda point: point.bill)
        ],
        "points": [_point(point) for point in found.curve.points],
        "learners": [asdict(result) for result in estimator.learner_results_],
        **prediction_facts(found.predictor, found.test),
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
    ('2.00 per example, accuracy 100.0%.', [[164, 0], [0, 136]])
    """
    origin = predictor.provenance or {}
    try:
        metric = find_metric(origin.get("metric"), rows.task)
    except DataError:  # a scorer of the user's own, which a file cannot hold
        metric = find_metric(None, rows.task)
    outputs = ValidationOutputs.of(predictor, rows.X)
    bill, value = (
        float(outputs.bills.mean()),
        metric.value(outputs.scores, rows, predictor.decision),
    )
    return {
        "title": title,
        "headline": summary(bill, value, metric.name, predictor.prices.unit),
        "settings": {
            "target": target,
            "source": source,
            "task": rows.task,
            "inferred": False,
            "metric": metric.name,
            **dict.fromkeys(("budget", "quality", "cap", "confidence")),
            **_table_facts(predictor),
            "rows": {"test": len(rows)},
        },
        **prediction_facts(predictor, rows),
        "provenance": _provenance(predictor, origin.get("seed"), origin.get("data")),
        "assumptions": ["New data is assumed to come from the same distribution as these rows."],
    }


def _table_facts(predictor: Predictor) -> dict[str, Any]:
    """Return the number of features, their price, and its unit."""
    prices = predictor.prices
    return {"unit": prices.unit, "features": len(predictor.schema), "full": prices.full}


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
