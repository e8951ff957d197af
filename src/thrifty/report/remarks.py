"""What a user must know first about a fit: the comparison with baselines, and what went wrong."""

from __future__ import annotations

from functools import partial

from thrifty.bundle import Predictor
from thrifty.costs.money import money
from thrifty.frontier import Alternative, BudgetFit
from thrifty.frontier.baselines import Baseline
from thrifty.frontier.fit_budget import table_digest
from thrifty.frontier.several_budgets import amount, read_amounts, spent
from thrifty.learn.dataset import ValidationSet
from thrifty.report.words import (
    count_queries,
    format_difference,
    format_interval,
    format_mean,
    format_quality,
    per_example,
)

__all__ = ["comparison", "remarks", "seen_rows_remark"]

# Features of a baseline that are named one by one.
MAX_NAMED = 8
# What to say about a baseline that is not behind, most important first.
VERDICTS = {
    "better": "A baseline is better{where}: {name} has",
    "cheaper": "A baseline is as good for less: {name} has",
    "ahead": "A baseline is ahead{where}, though within noise: {name} has",
}


def comparison(found: BudgetFit) -> str:
    """Compare the chosen model with the better baseline on all features, both on the test set.

    A difference whose interval, paired over the rows, includes 0 is called noise. Where errors have
    costs, totals are compared.
    """
    if found.by_total:
        rival = min(found.baselines[:2], key=lambda each: -each.total_saving)
        theirs, ours, difference = _totals(found, rival)
        return f"{ours} vs. {theirs} with {rival.name} (difference {difference})."
    chosen, metric = found.test_result, found.curve.scoring
    baseline = max(found.baselines[:2], key=lambda each: (each.quality, -each.bill))
    cost = per_example(chosen.bill, found.predictor.prices.unit)
    if baseline.bill > 0 and format_mean(baseline.bill) != format_mean(chosen.bill):
        saving = 1 - chosen.bill / baseline.bill
        change = "cheaper" if saving >= 0 else "more expensive"
        cost += f" instead of {format_mean(baseline.bill)} ({100 * abs(saving):.0f}% {change})"
    ours, theirs = (format_quality(metric, each.quality) for each in (chosen, baseline))
    interval = format_interval(metric, chosen.quality_interval)
    if ours == theirs:
        return f"{cost}, {metric} {ours} {interval}, the same as {baseline.name}."
    low, high = baseline.difference_interval
    note = f"difference {format_difference(metric, baseline.difference, (low, high))}"
    if low <= 0 <= high:
        note += f", within noise: {_test_size(found)}"
    return f"{cost}, {metric} {ours} {interval} vs. {theirs} for {baseline.name} ({note})."


def remarks(found: BudgetFit) -> list[str]:
    """List what a user must know before anything else, most important first.

    That is: a model whose answer is always the same, a baseline that is not behind, a quality that
    the test set does not confirm, a mean bill above the budget, and a cheaper model that a smaller
    budget would have chosen.
    """
    chosen, metric = found.test_result, found.curve.scoring
    unit, budget = found.predictor.prices.unit, found.estimator.main_budget
    items = [_constant_remark(found)] if found.same_answer is not None else []
    verdicts: dict[str, list[Baseline]] = {}
    rivals = (*found.baselines, *(() if items else (found.constant,)))  # it is mentioned already
    if found.estimator.has_several_budgets:  # baselines keep only that of the main currency
        rivals = ()
    for baseline in rivals:
        verdicts.setdefault(found.verdict(baseline), []).append(baseline)
    worst = next((verdict for verdict in VERDICTS if verdict in verdicts), None)
    if worst is not None:
        best = max(verdicts[worst], key=partial(_rank, found))
        items.append(_baseline_remark(found, best, worst))
    if found.target_quality is not None and chosen.quality < found.target_quality:
        items.append(
            f"On the test set, {metric} is {format_quality(metric, chosen.quality)} "
            f"{format_interval(metric, chosen.quality_interval)}, below the "
            f"{format_quality(metric, found.target_quality)} that was asked for."
        )
    if budget is not None and chosen.bill > budget:
        low, high = (format_mean(each) for each in chosen.bill_interval)
        items.append(
            f"On the test set, the mean bill is {format_mean(chosen.bill, unit)} [{low}, {high}], "
            f"above the budget of {money(budget, unit)}."
        )
    prices = found.predictor.prices
    for name, limit in read_amounts(found.estimator.budget, prices).items():
        mean = float(spent(found.predictor, name, found.test.X).mean())
        if name != next(iter(prices.currencies)) and mean > limit:
            items.append(
                f"On the test set, the mean is {amount(mean, name, prices)}, above the budget of "
                f"{amount(limit, name, prices)}."
            )
    alternative = found.alternative
    if alternative is not None:
        items.append(_alternative_remark(found, alternative))
    return items


def seen_rows_remark(predictor: Predictor, rows: ValidationSet) -> str | None:
    """Say that the rows of a report are those that the model was fitted on; None if they are not.

    Only the table of `fit_budget` is recognized, as a whole.
    """
    if (predictor.provenance or {}).get("data") != table_digest(rows):
        return None
    return (
        "This is the table that the model was trained on, apart from a test set. Over all of its "
        f"{len(rows)} rows, figures are too optimistic: use other rows, or those of the test set "
        "in the report of the fit."
    )


def _constant_remark(found: BudgetFit) -> str:
    """Say that the chosen model answers the same for all rows."""
    chosen, metric, unit = found.test_result, found.curve.scoring, found.predictor.prices.unit
    verb = "answers" if found.task == "classification" else "predicts"
    quality = f"{metric} {format_quality(metric, chosen.quality)}"
    if found.chosen.ceiling == 0:
        why = "No feature within the budget pays off on these rows: raise the budget, give more "
        why += "rows, or use another metric."
        if found.by_total:
            why = "No feature saves more in errors than it costs: check the costs of errors, or "
            why += "give more rows."
        elif found.target_quality is not None:
            why = "It is as good as was asked for: ask for more, or use another metric."
        return (
            f"The model is a constant: it buys nothing and {verb} {found.same_answer} for every "
            f"example ({quality} on the test set). {why}"
        )
    return (
        f"The model {verb} {found.same_answer} for all {found.sets.sizes['test']} test rows and "
        f"costs {per_example(chosen.bill, unit)}; the constant costs nothing ({quality}; constant "
        f"{format_quality(metric, found.constant.quality)}). Use the constant, or another metric."
    )


def _alternative_remark(found: BudgetFit, alternative: Alternative) -> str:
    """Say that a cheaper model is not clearly worse, and which budget to give for it."""
    metric, unit = found.curve.scoring, found.predictor.prices.unit
    cheaper, chosen = (
        f"{metric} {format_quality(metric, point.quality)} at {per_example(point.bill, unit)}"
        for point in (alternative.point, found.chosen)
    )
    return (
        "The budget excludes nothing, so the strongest model is chosen. On the validation set a "
        f"cheaper one is not clearly worse: {cheaper} instead of {chosen}. To get it, use a budget "
        f"of {money(alternative.budget, unit)}."
    )


def _baseline_remark(found: BudgetFit, baseline: Baseline, verdict: str) -> str:
    """Say that a baseline is not behind the chosen model, with the figures and what to do."""
    where = " within this budget"
    if found.estimator.main_budget is None:
        where = "" if found.by_total else " at no higher cost"
    compare = _totals if found.by_total else _qualities
    theirs, ours, difference = compare(found, baseline)
    name = baseline.name if baseline.features else "the constant"
    words = VERDICTS[verdict].format(where=where, name=name)
    text = (
        f"{words} {theirs}, the chosen model {ours} (difference {difference}, "
        f"{_test_size(found, 'test ')})."
    )
    if not baseline.features:
        return f"{text} Use the constant, or another metric."
    named = ", ".join(baseline.columns[:MAX_NAMED])
    more = len(baseline.columns) - MAX_NAMED
    named += f" and {more} more" if more > 0 else ""
    return (
        f"{text} To use it, train a model of that kind on its {baseline.features} features "
        f'({named}); or train with effort="best" in Python, or on more rows.'
    )


def _test_size(found: BudgetFit, which: str = "") -> str:
    """Return the number of observations: rows, or queries of a ranking."""
    queries = count_queries(found.test)
    return f"{found.sets.sizes['test']} {which}rows" if queries is None else f"{queries} queries"


def _rank(found: BudgetFit, baseline: Baseline) -> tuple[float, float]:
    """Return a key that is largest for the best baseline: by total, or by quality."""
    return -baseline.total_saving if found.by_total else baseline.quality, -baseline.bill


def _qualities(found: BudgetFit, baseline: Baseline) -> tuple[str, str, str]:
    """Return quality and bill of a baseline and of the chosen model, and how far it is ahead."""
    chosen, metric, unit = found.test_result, found.curve.scoring, found.predictor.prices.unit
    theirs, ours = (
        f"{metric} {format_quality(metric, each.quality)} "
        f"{format_interval(metric, each.quality_interval)} at {per_example(each.bill, unit)}"
        for each in (baseline, chosen)
    )
    low, high = baseline.difference_interval
    return theirs, ours, format_difference(metric, -baseline.difference, (-high, -low))


def _totals(found: BudgetFit, baseline: Baseline) -> tuple[str, str, str]:
    """Return the totals of a baseline and of the chosen model, and their difference."""
    assert baseline.total is not None and found.total is not None
    unit = found.predictor.prices.unit
    theirs, ours = (
        f"a total of {per_example(cost.total, unit)} = {format_mean(cost.features)} for features "
        f"+ {format_mean(cost.errors)} for errors"
        for cost in (baseline.total, found.total)
    )
    low, high = baseline.total_saving_interval
    return theirs, ours, f"{baseline.total_saving:+.3g} [{low:.3g}, {high:.3g}]"
