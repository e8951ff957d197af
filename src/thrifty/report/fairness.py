"""Error and spend by group: whether a model serves some people worse, or charges them more.

The groups are those of a column that the user names, a feature or not. Each group is measured like
the whole test set. A difference between two groups is reported if its confidence interval excludes
0; groups of few rows are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from operator import itemgetter
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray
from scipy.special import ndtri

from thrifty.bundle import Predictor
from thrifty.errors import DataError, raise_all
from thrifty.frontier.evaluate import mean_interval
from thrifty.frontier.scoring import find_metric
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.point import ValidationOutputs
from thrifty.report.words import format_mean, format_quality

__all__ = ["GroupResult", "find_differences", "group_facts", "group_results", "group_rows"]

# Numbers of more distinct values are cut into so many groups of about equal size.
MAX_DISTINCT_NUMBERS, N_INTERVALS = 8, 4
# More groups make a table that nobody reads.
MAX_GROUPS = 20
# Fewer rows say little about a group.
FEW_ROWS = 25
# The predictions of more classes are not listed.
MAX_CLASSES = 6
# Means of equal bills may differ in their last bits: by less than this, relative to them.
ROUNDING = 1e-9
# One minus the level of the intervals.
ALPHA = 0.05


@dataclass(frozen=True)
class GroupResult:
    """Bill, quality and predictions of a model on the rows of one group.

    Parameters
    ----------
    group : str
        Value of the column, or range of values.
    rows : int
    few : bool
        Whether these are too few rows to compare the group with others.
    bill, bill_low, bill_high : float
        Mean bill and its 95% confidence interval.
    quality, quality_low, quality_high : float or None
        None where the metric is not defined, as for the ROC AUC of rows of one class.
    predicted, actual : dict of str to float
        Share of each class among the predictions and the targets; their means for values; empty
        for rankings and for many classes.
    """

    group: str
    rows: int
    few: bool
    bill: float
    bill_low: float
    bill_high: float
    quality: float | None
    quality_low: float | None
    quality_high: float | None
    predicted: dict[str, float]
    actual: dict[str, float]


def group_rows(values: Any, column: str = "by") -> dict[str, NDArray[np.intp]]:
    """Divide rows into groups by the values of a column.

    Each value is a group. Numbers of many distinct values are cut at their quartiles. Missing
    values are a group of their own.

    Parameters
    ----------
    values : sequence of shape (n,)
    column : str
        Its name, for messages.

    Returns
    -------
    dict of str to int array
        The positions of the rows of each group, by its name.

    Raises
    ------
    DataError
        If there are too many groups.

    Examples
    --------
    >>> from thrifty.report.fairness import group_rows
    >>> group_rows(["f", "m", None, "f"])
    {'f': array([0, 3]), 'm': array([1]), 'missing': array([2])}
    >>> list(group_rows(range(30, 70)))
    ['30 to 39', '40 to 49', '50 to 59', '60 to 69']
    """
    cells = pandas.Series(np.asarray(values)).convert_dtypes()
    known = cells.dropna()
    numeric = pandas.api.types.is_numeric_dtype(known) and known.dtype != "boolean"
    groups: dict[str, NDArray[np.intp]] = {}
    if numeric and known.nunique() > MAX_DISTINCT_NUMBERS:
        numbers = known.astype(np.float64)
        interval = pandas.qcut(numbers, N_INTERVALS, labels=False, duplicates="drop")
        for _, here in numbers.groupby(interval):
            name = f"{here.min():.6g} to {here.max():.6g}"
            if name in groups:  # so many digits do not tell them apart
                name = f"{here.min()} to {here.max()}"
            groups[name] = here.index.to_numpy(dtype=np.intp)
    else:
        if known.nunique() > MAX_GROUPS:
            raise DataError(
                f"{column}: {known.nunique()} different values are too many groups; name a column "
                f"with at most {MAX_GROUPS}, or join some of its values"
            )
        names, values = known.map(str), known.unique().tolist()
        for name in map(str, sorted(values, key=None if numeric else str)):
            groups[name] = known.index[names == name].to_numpy(dtype=np.intp)
    if cells.isna().any():
        gone = np.flatnonzero(cells.isna().to_numpy())
        groups["missing"] = np.union1d(groups.get("missing", gone), gone)
    return groups


def group_results(
    predictor: Predictor, rows: ValidationSet, values: Any, metric: str, column: str = "by"
) -> tuple[GroupResult, ...]:
    """Measure a predictor on each group of labeled rows.

    Parameters
    ----------
    predictor : Predictor
    rows : ValidationSet
        Rows that it was not trained on.
    values : sequence of shape (n,)
        Column to group by; see `group_rows`.
    metric : str
        Name of the quality metric.
    column : str
        Name of the column, for messages.

    Raises
    ------
    DataError
        If there is not one value for each row, the groups are too many, or they divide a query.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.learn.dataset import ValidationSet
    >>> from thrifty.report.fairness import group_results
    >>> rng = np.random.default_rng(0)
    >>> X, old = rng.normal(size=(300, 1)), rng.normal(size=300) > 1
    >>> y = np.where(old, X[:, 0] < 0, X[:, 0] > 0)  # for the old, the opposite holds
    >>> model = GreedyMiserClassifier(n_estimators=10).fit(X, y).predictor_
    >>> rows = ValidationSet.for_predictor(model, "classification", X, y)
    >>> for found in group_results(model, rows, np.where(old, "old", "young"), "accuracy"):
    ...     print(f"{found.group}: {found.rows} rows, {found.quality:.2f}")
    old: 50 rows, 0.00
    young: 250 rows, 1.00
    """
    if len(values) != len(rows):
        raise DataError(f"{column}: {len(values)} values for {len(rows)} rows; give one per row")
    groups = group_rows(values, column)
    if rows.query is not None:
        owners = [rows.query[here] for here in groups.values()]
        if sum(len(np.unique(queries)) for queries in owners) > len(np.unique(rows.query)):
            raise DataError(f"{column}: it differs within a query; name a column of the query")
    outputs = ValidationOutputs.of(predictor, rows.X)
    predictions, scoring = predictor.predict(rows.table), find_metric(metric, rows.task)
    results = []
    for group, here in groups.items():
        part, bills = rows.take(here), outputs.bills[here]
        bill_low, bill_high = mean_interval(bills, 0.95, predictor.ceiling, part.clusters)
        try:
            found = scoring.measure(outputs.scores[here], part, decision=predictor.decision)[:3]
        except DataError:  # not defined for these rows, such as R2 of one row
            found = (math.nan,) * 3
        value, low, high = (number if math.isfinite(number) else None for number in found)
        results.append(
            GroupResult(
                group,
                rows=len(here),
                few=len(here) < FEW_ROWS,
                bill=float(bills.mean()),
                bill_low=bill_low,
                bill_high=bill_high,
                quality=value,
                quality_low=low,
                quality_high=high,
                predicted=_shares(rows.task, predictor.labels, predictions[here]),
                actual=_shares(rows.task, predictor.labels, part.labels),
            )
        )
    return tuple(results)


def find_differences(
    results: Sequence[GroupResult], column: str, metric: str, unit: str
) -> tuple[str, ...]:
    """Report where groups differ by more than noise, one sentence for quality and one for the bill.

    Each names the two groups whose difference is most certain, if its 95% confidence interval is
    above 0. Of many pairs, some differ by chance: intervals are widened for their number
    (Bonferroni). Groups of few rows are left out.

    Examples
    --------
    >>> from thrifty.report.fairness import GroupResult, find_differences
    >>> young = GroupResult("young", 90, False, 3.0, 2.5, 3.5, 0.9, 0.82, 0.95, {}, {})
    >>> old = GroupResult("old", 80, False, 6.2, 5.0, 7.5, 0.85, 0.75, 0.91, {}, {})
    >>> find_differences([young, old], "age", "accuracy", "CAD")
    ('The mean bill for age old, CAD 6.20, is above that for age young, CAD 3.00: the 95% confidence
    interval of the difference is above 0.',)
    """
    sentences = []
    for key, what in (("quality", metric.replace("_", " ")), ("bill", "mean bill")):
        # Group, value and interval of those that can be compared.
        known = [
            (each.group, *(getattr(each, key + end) for end in ("", "_low", "_high")))
            for each in results
            if not each.few
        ]
        known = [figures for figures in known if None not in figures]
        n_pairs = max(1, len(known) * (len(known) - 1) // 2)
        widen = float(ndtri(1 - ALPHA / 2 / n_pairs) / ndtri(1 - ALPHA / 2))
        pairs = [(_least_difference(a, b, widen), a, b) for a, b in permutations(known, 2)]
        least, *pair = max(pairs, key=itemgetter(0), default=(0.0,))
        if least > ROUNDING * max((abs(figures[1]) for figures in pair), default=0.0):
            high, low = (
                f"{column} {group}, "
                + (format_quality(metric, value) if key == "quality" else format_mean(value, unit))
                for group, value, *_ in pair
            )
            sentences.append(
                f"The {what} for {high}, is above that for {low}: the 95% confidence interval of "
                "the difference is above 0."
            )
    return tuple(sentences)


def _least_difference(high: Sequence[Any], low: Sequence[Any], widen: float) -> float:
    """Return the lower end of the interval of the difference of two groups, widened by a factor.

    Each is given as group, value, lower end and upper end. The groups are independent, so the
    distances of the ends from the values combine as the sides of a right triangle (Zou and Donner
    2008).
    """
    width = math.hypot(high[1] - high[2], low[3] - low[1])
    return float(high[1] - low[1] - widen * width)


def group_facts(
    predictor: Predictor, rows: ValidationSet, by: Mapping[str, Any], metric: str
) -> list[dict[str, Any]]:
    """Collect the results by each of some columns as plain values.

    Parameters
    ----------
    predictor : Predictor
    rows : ValidationSet
    by : mapping of str to sequence of shape (n,)
        The columns to group by, by name.
    metric : str

    Returns
    -------
    list of dict
        ``column``, ``metric``, ``groups`` (as `GroupResult`) and ``differences``, one entry for
        each column.

    Raises
    ------
    DataError
        With the problems of all columns.
    """
    found, problems = [], []
    for column, values in by.items():
        try:
            results = group_results(predictor, rows, values, metric, column)
        except DataError as error:
            problems.append(str(error))
            continue
        differences = find_differences(results, column, metric, predictor.prices.unit)
        found.append(
            {
                "column": column,
                "metric": metric,
                "groups": [asdict(result) for result in results],
                "differences": list(differences),
            }
        )
    raise_all(DataError, "groups", problems)
    return found


def _shares(task: str, classes: list[Any] | None, values: NDArray[Any]) -> dict[str, float]:
    """Return the share of each class among some labels, or the mean of some values."""
    if task == "ranking" or (classes is not None and len(classes) > MAX_CLASSES):
        return {}
    if classes is None:
        return {"mean": float(values.mean())}
    return {str(label): float(np.mean(values == label)) for label in classes}
