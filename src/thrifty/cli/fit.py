"""`thrifty fit`: train the best model within a budget and write it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thrifty.cli.card import BY, CARD, add_card_facts, render_card, show_groups
from thrifty.cli.clusters import SCHEDULER, on_cluster
from thrifty.cli.console import echo, show_fit, show_json
from thrifty.cli.fit_progress import learner_progress
from thrifty.cli.inputs.training import read_training_data
from thrifty.cli.options import (
    BUDGET,
    CAP,
    COSTS,
    JSON,
    OUTPUT_MODEL,
    RESUME,
    WEIGHT_COLUMN,
    OutputFile,
    TrainingOptions,
    check_outputs,
    finite,
    name_main,
    training_options,
)

__all__ = ["fit"]

DEFAULT_CONFIDENCE = 0.95
PROBABILITY = click.FloatRange(min=0, max=1, min_open=True, max_open=True)


@click.command(short_help="Train the best model within a budget.")
@training_options
@BUDGET
@click.option("--quality", type=float, callback=finite, metavar="Q",
              help="Pick the cheapest model whose quality is at least Q.")  # fmt: skip
@CAP
@click.option("--confidence", type=PROBABILITY, callback=finite, metavar="P",
              help="Confidence that the budget, or the quality, holds on new data; by default "
              "0.95.")  # fmt: skip
@click.option("--no-confidence", is_flag=True,
              help="Meet the budget, or the quality, on the validation set only, without a safety "
              "margin for new data.")  # fmt: skip
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), callback=finite,
              metavar="SECONDS", help="Time limit for training; no further learner "
              "starts once it is up.")  # fmt: skip
@WEIGHT_COLUMN
@COSTS
@RESUME
@SCHEDULER
@OUTPUT_MODEL
@click.option("--report", type=OutputFile(), help="HTML report to write.")
@CARD
@BY
@JSON
def fit(
    options: TrainingOptions,
    budget: float | dict[str, float] | None,
    quality: float | None,
    cap: float | dict[str, float] | None,
    confidence: float | None,
    no_confidence: bool,
    time_limit: float | None,
    weight_column: str | None,
    costs: Path | None,
    resume: Path | None,
    scheduler: str | None,
    output: Path,
    report: Path | None,
    card: Path | None,
    by: tuple[str, ...],
    as_json: bool,
) -> None:
    """Train the best model within a budget.

    TABLE is a CSV or Parquet file, or a folder or a pattern of them. Trains on 80% of the rows,
    picks the model by how it predicts rows that it has not seen in training, and reports its
    quality and cost on the other 20%. Learners other than ladders train on 60% and leave 20% for
    picking the model.

    For a folder, a pattern, or a file of more than 50 million values, all of this is done on a
    sample of 100,000 rows; the boosted trees of the model are then trained on all other rows.
    """
    safety = _read_confidence(budget, quality, costs, confidence, no_confidence)
    check_outputs([output, report, card], [options.table, options.prices, costs])
    data = read_training_data(options, weight_column, costs, by)
    unit = data.table.prices.unit
    budget, cap = name_main(budget, unit), name_main(cap, unit)
    for learner in data.learners.values():
        if len(data.learners) == 1 and "time_limit" in learner.get_params(deep=False):
            learner.set_params(time_limit=time_limit)  # it plans its work by it
    with on_cluster(scheduler), learner_progress():
        from thrifty.frontier import fit_budget
        from thrifty.report import fit_facts, render_page, write_page

        found = fit_budget(
            data.table, None, task=options.task, groups=data.groups,
            target_quality=quality, random_state=options.seed, prices=data.prices, budget=budget,
            cap=cap, scoring=options.scoring, learners=data.learners, confidence=safety,
            time_limit=time_limit, resume=resume,
        )  # fmt: skip
        prices = options.prices
        goal = "at a target quality" if quality is not None else "at the lowest total cost"
        goal = goal if budget is None else "under a budget"
        facts = fit_facts(
            found,
            title=f"Predicting {options.target} {goal}",
            target=options.target,
            source=options.table.name,
            note=f"Prices are those of {prices.name}." if prices else "Every feature costs 1.",
        )
        if card or by:
            sets = dict(zip(("training", "validation", "test"), found.sets.all, strict=True))
            if found.sets.cross_fitted:
                del sets["validation"]  # these are training rows
            add_card_facts(facts, found.predictor, sets, data.by)
        html = render_page(facts) if report else ""  # before anything is written
        text = render_card(facts, card)
    found.save(output)
    if report:
        write_page(html, report)
    if card:
        write_page(text, card)
    _show({"model": output, "report": report, "card": card}, facts, as_json)


def _show(files: dict[str, Path | None], facts: dict[str, Any], as_json: bool) -> None:
    """Print what was found, and the files that were written."""
    if as_json:
        show_json({**facts, **{what: path and str(path) for what, path in files.items()}})
        return
    show_fit(facts)
    show_groups(facts)
    for what, path in files.items():
        if path:
            echo(f"{what}: {path}")


def _read_confidence(
    budget: float | dict[str, float] | None,
    quality: float | None,
    costs: Path | None,
    confidence: float | None,
    no_confidence: bool,
) -> float | None:
    """Check that the options say what to choose by; return the confidence of budget or quality."""
    limited = budget is not None or quality is not None
    if budget is not None and quality is not None:
        raise click.UsageError("Give either --budget or --quality.")
    if not limited and costs is None:
        raise click.UsageError("Give --budget, --quality or --costs.")
    if confidence is not None and no_confidence:
        raise click.UsageError("Give either --confidence or --no-confidence.")
    if not limited and (confidence is not None or no_confidence):
        raise click.UsageError("--confidence and --no-confidence need --budget or --quality.")
    return None if no_confidence or not limited else confidence or DEFAULT_CONFIDENCE
