"""`thrifty fit`: train the best model within a budget and write it to a file."""

from __future__ import annotations

from pathlib import Path

import click

from thrifty.cli.card import BY, CARD, add_card_facts, read_groups, render_card, show_groups
from thrifty.cli.console import progress, show_fit, show_json
from thrifty.cli.options import (
    JSON,
    OUTPUT_MODEL,
    OutputFile,
    TrainingOptions,
    check_outputs,
    finite,
    read_training_data,
    training_options,
)

__all__ = ["fit"]

DEFAULT_CONFIDENCE = 0.95
PROBABILITY = click.FloatRange(min=0, max=1, min_open=True, max_open=True)


@click.command(short_help="Train the best model within a budget.")
@training_options
@click.option("--budget", type=click.FloatRange(min=0), callback=finite, metavar="B",
              help="Largest mean cost per example; give this or --quality.")  # fmt: skip
@click.option("--quality", type=float, callback=finite, metavar="Q",
              help="Pick the cheapest model whose quality is at least Q.")  # fmt: skip
@click.option("--cap", type=click.FloatRange(min=0), callback=finite, metavar="C",
              help="Largest cost of any single example.")  # fmt: skip
@click.option("--confidence", type=PROBABILITY, callback=finite, metavar="P",
              help="Confidence that the budget, or the quality, holds on new data; by default "
              "0.95.")  # fmt: skip
@click.option("--no-confidence", is_flag=True,
              help="Meet the budget, or the quality, on the validation set only, without a safety "
              "margin for new data.")  # fmt: skip
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), callback=finite,
              metavar="SECONDS", help="Seconds to train in; of several learners, none starts "
              "after it.")  # fmt: skip
@OUTPUT_MODEL
@click.option("--report", type=OutputFile(), help="HTML report to write.")
@CARD
@BY
@JSON
def fit(
    options: TrainingOptions,
    budget: float | None,
    quality: float | None,
    cap: float | None,
    confidence: float | None,
    no_confidence: bool,
    time_limit: float | None,
    output: Path,
    report: Path | None,
    card: Path | None,
    by: tuple[str, ...],
    as_json: bool,
) -> None:
    """Train the best model within a budget.

    TABLE is a CSV or Parquet file. Trains on 80% of the rows, picks the model by how it predicts
    rows that it has not seen in training, and reports its quality and cost on the other 20%. For
    learners other than ladders, 20 of the 80% are held out to pick the model on.
    """
    if (budget is None) == (quality is None):
        raise click.UsageError("Give either --budget or --quality.")
    if confidence is not None and no_confidence:
        raise click.UsageError("Give either --confidence or --no-confidence.")
    check_outputs([output, report, card], [options.table, options.prices])
    data = read_training_data(options)
    groups = read_groups(options.table, by)
    with progress("training"):
        from thrifty.frontier import fit_budget
        from thrifty.report import fit_facts, render_page, write_page

        safety = None if no_confidence else confidence or DEFAULT_CONFIDENCE
        found = fit_budget(
            data.table, None, task=options.task, groups=data.groups,
            target_quality=quality, random_state=options.seed, prices=data.prices, budget=budget,
            cap=cap, scoring=options.scoring, learners=data.learners, confidence=safety,
            time_limit=time_limit,
        )  # fmt: skip
        prices = options.prices
        facts = fit_facts(
            found,
            title=f"{options.target} {'under a budget' if quality is None else 'at a quality'}",
            target=options.target,
            source=options.table.name,
            note=f"Prices are those of {prices.name}." if prices else "Every feature costs 1.",
        )
        if card or by:
            sets = dict(zip(("training", "validation", "test"), found.sets.all, strict=True))
            if found.sets.cross_fitted:
                del sets["validation"]  # these are training rows
            add_card_facts(facts, found.predictor, sets, groups)
        html = render_page(facts) if report else ""  # before anything is written
        text = render_card(facts, card)
    found.predictor.save(output)
    if report:
        write_page(html, report)
    if card:
        write_page(text, card)
    if as_json:
        files = {"model": output, "report": report, "card": card}
        show_json({**facts, **{what: path and str(path) for what, path in files.items()}})
        return
    show_fit(facts)
    show_groups(facts)
    for what, path in {"model": output, "report": report, "card": card}.items():
        if path:
            click.echo(f"{what}: {path}")
