"""What a predictor does on labeled rows: what it buys, what that costs, and how good it is."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import NamedWalk, Predictor
from thrifty.costs.money import money
from thrifty.errors import DataError
from thrifty.frontier.scoring import Metric, find_metric
from thrifty.learn.dataset import ValidationSet
from thrifty.model import LinearTree
from thrifty.report.calibration import calibration_curves
from thrifty.report.tree_nodes import tree_nodes
from thrifty.report.words import format_number

__all__ = [
    "answer_rule",
    "bill_distribution",
    "example",
    "prediction_facts",
    "recorded_metric",
    "walk_row",
]

# Bars of the histogram of bills.
MAX_BARS = 10
# Rows whose walk is spelled out.
N_EXAMPLES = 5
# A confusion matrix of more classes is hard to read on a page.
MAX_CONFUSION_CLASSES = 12


def prediction_facts(predictor: Predictor, rows: ValidationSet) -> dict[str, Any]:
    """Describe the predictions for some labeled rows as a dict of plain values.

    Returns
    -------
    dict
        ``bought``: the features that any row buys, those bought most often first;
        ``tree``: the nodes of a tree of linear models, empty for other models;
        ``bills``: see `bill_distribution`;
        ``calibration``: one entry per calibration curve, empty for regression and ranking;
        ``answer``: how a prediction follows from the output of the model, in a sentence;
        ``confusion``: counts by true and predicted class, None without classes or with too many;
        ``examples``: the walks of a few rows, from the smallest bill to the largest.
    """
    model, classes = predictor.model, predictor.classes
    scores, used = model.score(rows.X), model.used(rows.X)
    bills = predictor.prices.bill(used, model.evaluations(rows.X))
    confusion = None
    if classes is not None and len(classes) <= MAX_CONFUSION_CLASSES:
        predicted, codes = predictor.decide(scores), range(len(classes))
        counts = [[int(np.sum((rows.y == t) & (predicted == p))) for p in codes] for t in codes]
        confusion = {"classes": classes.tolist(), "rows": counts}
    by_bill = np.argsort(bills, kind="stable")
    ranks = np.linspace(0, len(by_bill) - 1, min(N_EXAMPLES, len(by_bill))).astype(int)
    is_tree = isinstance(predictor.model, LinearTree)
    return {
        "bought": _features_bought(predictor, used),
        "tree": [
            {**asdict(node), "bought": list(node.bought)}
            for node in (tree_nodes(predictor, rows.X) if is_tree else ())
        ],
        "bills": bill_distribution(bills),
        "answer": answer_rule(predictor, rows.task),
        "calibration": [
            {
                "name": curve.name,
                "rows": int(curve.counts.sum()),
                "error": curve.error,
                "bins": [
                    {
                        "confidence": float(curve.confidence[i]),
                        "accuracy": float(curve.accuracy[i]),
                        "low": float(curve.low[i]),
                        "high": float(curve.high[i]),
                        "rows": int(curve.counts[i]),
                    }
                    for i in range(len(curve.counts))
                ],
            }
            for curve in ([] if classes is None else calibration_curves(predictor, rows))
        ],
        "confusion": confusion,
        "examples": [example(predictor, rows, int(by_bill[rank])) for rank in np.unique(ranks)],
    }


def recorded_metric(predictor: Predictor, task: str) -> Metric:
    """Return the metric that a model was chosen by; the default if it is not known by name."""
    try:
        return find_metric((predictor.provenance or {}).get("metric"), task)
    except DataError:  # a scorer of the user's own, which a file cannot hold
        return find_metric(None, task)


def answer_rule(predictor: Predictor, task: str) -> str:
    """Say how a prediction follows from what the model outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.bundle import Decision
    >>> from thrifty.report.predictions import answer_rule
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = GreedyMiserClassifier().fit(X, np.where(X[:, 0] > 0, "ill", "well")).predictor_
    >>> answer_rule(model, "classification")
    'It predicts the most probable class.'
    >>> answer_rule(model.replace(decision=Decision([[0, 500], [100, 0]])), "classification")
    'It predicts well if its probability is above 83.3%, otherwise ill.'
    """
    decision, classes = predictor.decision, predictor.classes
    if task == "ranking":
        return "It sorts the rows of a query by their predicted values, the largest first."
    if classes is None:
        return "It predicts the value itself."
    if decision is None:
        return "It predicts the most probable class."
    if decision.threshold is None:
        return "It predicts the class with the least expected cost of errors."
    first, second = classes.tolist()
    return (
        f"It predicts {second} if its probability is above {100 * decision.threshold:.1f}%, "
        f"otherwise {first}."
    )


def _features_bought(predictor: Predictor, used: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """List the features that any row buys, with prices, those bought by the most rows first."""
    counts, prices = used.sum(axis=0), predictor.prices
    features = []
    for j in np.argsort(-counts, kind="stable").tolist():
        if not counts[j]:
            break
        group = int(prices.group[j])
        features.append(
            {
                "feature": predictor.schema.names[j],
                "price": float(prices.own[j]),
                "group": prices.group_names[group] if group >= 0 else None,
                "shared": float(prices.shared[group]) if group >= 0 else 0.0,
                "rows": int(counts[j]),
                "share": float(counts[j] / len(used)),
            }
        )
    return features


def bill_distribution(bills: NDArray[np.float64]) -> dict[str, Any]:
    """Summarize the bills of some rows.

    Returns
    -------
    dict
        ``mean``, ``median``, ``smallest``, ``largest`` and ``histogram``, a list of bars. A few
        distinct bills get one bar each, more are binned; ``share`` is the height of a bar relative
        to the highest one.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.report.predictions import bill_distribution
    >>> bills = bill_distribution(np.array([1.0, 1.0, 1.0, 6.0]))
    >>> bills["mean"], [(bar["low"], bar["rows"]) for bar in bills["histogram"]]
    (2.25, [(1.0, 3), (6.0, 1)])
    """
    # Bills that differ in the last bit only are the same bill.
    values, counts = np.unique(np.round(bills, 9), return_counts=True)
    lows, highs = values, values
    if len(values) > MAX_BARS:
        counts, edges = np.histogram(bills, bins=MAX_BARS)
        lows, highs = edges[:-1], edges[1:]
    return {
        "mean": float(bills.mean()),
        "median": float(np.median(bills)),
        "smallest": float(bills.min()),
        "largest": float(bills.max()),
        "histogram": [
            {"low": float(a), "high": float(b), "rows": int(n), "share": float(n / counts.max())}
            for a, b, n in zip(lows, highs, counts, strict=True)
        ],
    }


def example(predictor: Predictor, rows: ValidationSet, i: int) -> dict[str, Any]:
    """Walk the i-th of some rows and describe its purchases, prediction and bill.

    The entry ``story`` says the same in a few sentences, ``reasons`` why each purchase was made,
    and ``receipt`` is the whole receipt.
    """
    walk = walk_row(predictor, rows.row(i))
    (target,) = rows.labels[[i]].tolist()  # as a plain Python value
    receipt, target = walk.receipt, _without_nan(target)
    probability = None if predictor.classes is None else float(walk.scores.max())
    purchases = [
        {
            "feature": purchase.feature,
            "value": _without_nan(purchase.value),
            "price": purchase.price,
        }
        for purchase in receipt.purchases
    ]
    bought = ", then ".join(
        f"{item['feature']} for {money(item['price'])} "
        + ("(missing)" if item["value"] is None else f"(value {format_number(item['value'])})")
        for item in purchases
    )
    sure = "" if probability is None else f" (probability {probability:.2f})"
    if receipt.interval is not None:
        digits = ".4g" if probability is None else ".2f"
        low, high = (f"{bound:{digits}}" for bound in receipt.interval)
        sure += f", 95% interval {low} to {high}"
    end = "" if receipt.stopped == "complete" else f" It stopped early ({receipt.reason})."
    reasons = {id(each.reason): each.reason for each in receipt.purchases if each.reason}
    return {
        "row": int(rows.positions[i]),
        "target": target,
        "prediction": walk.answer,
        "probability": probability,
        "purchases": purchases,
        "total": receipt.total,
        "story": f"Bought {bought or 'nothing'}. Predicted {format_number(walk.answer)}{sure}; "
        f"the target is {format_number(target)}. Bill: {money(receipt.total, receipt.unit)}.{end}",
        "reasons": [
            f"{', '.join(map(str, reason.features))}: {reason.text}" for reason in reasons.values()
        ],
        "receipt": receipt.to_dict(),
    }


def walk_row(predictor: Predictor, values: dict[str | int, Any]) -> NamedWalk:
    """Walk one row to its end, buying one feature at a time, always the first that is requested.

    The reasons of the walk are read, so that its receipt has them.

    Parameters
    ----------
    predictor : Predictor
    values : dict
        The value of every feature.
    """
    walk = predictor.walk()
    explained: tuple[str | int, ...] = ()
    while walk.asks:
        if walk.asks[0] not in explained and (why := walk.why) is not None:
            explained = why.features  # once for what is bought together
        walk.tell({walk.asks[0]: values[walk.asks[0]]})
    return walk


def _without_nan(value: Any) -> Any:
    """Return None for NaN, which JSON cannot hold, and any other value as it is."""
    return None if isinstance(value, float) and math.isnan(value) else value
