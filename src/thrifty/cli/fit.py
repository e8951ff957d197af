"""`thrifty fit`: a table, prices and a budget in, a model file out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thrifty.cli.console import progress, show_json
from thrifty.cli.options import Asked, finite, read, training_options
from thrifty.cli.outputs import OutputFile, refuse_overwriting

__all__ = ["fit"]

CONFIDENCE = 0.95
SHARE = click.FloatRange(min=0, max=1, min_open=True, max_open=True)
SECONDS = click.FloatRange(min=0, min_open=True)


@click.command(short_help="Learn the best predictor inside a budget.")
@training_options
@click.option("--budget", type=click.FloatRange(min=0), callback=finite, metavar="B",
              help="What an example may cost on average; give this or --quality.")  # fmt: skip
@click.option("--quality", type=float, callback=finite, metavar="Q",
              help="Take the cheapest predictor that is at least so good.")  # fmt: skip
@click.option("--cap", type=click.FloatRange(min=0), callback=finite, metavar="C",
              help="What no example may ever cost more than.")  # fmt: skip
@click.option("--confidence", type=SHARE, callback=finite, metavar="P",
              help="How sure the budget is kept on rows to come; 0.95 without it.")  # fmt: skip
@click.option("--no-promise", is_flag=True,
              help="Keep the budget on the rows to choose on, and promise nothing.")  # fmt: skip
@click.option("--time-limit", type=SECONDS, callback=finite, metavar="SECONDS",
              help="No further learner starts after so long.")  # fmt: skip
@click.option("-o", "--output", required=True, type=OutputFile(), help="Model file to write.")
@click.option("--report", type=OutputFile(), help="Page with the whole story to write, HTML.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def fit(
    asked: Asked,
    budget: float | None,
    quality: float | None,
    cap: float | None,
    confidence: float | None,
    no_promise: bool,
    time_limit: float | None,
    output: Path,
    report: Path | None,
    as_json: bool,
) -> None:
    """Learn the best predictor inside a budget.

    TABLE is a CSV or Parquet file. The rows are divided into those to learn from, to choose on and
    to report on; the model goes to the file named by -o.
    """
    _refuse_mixtures(budget, quality, confidence, no_promise)
    refuse_overwriting([output, report], asked.files)
    material = read(asked)
    # A quality is no budget, so there is none to promise.
    unsure = no_promise or quality is not None
    with progress("learning"):
        from thrifty.frontier import fit_budget
        from thrifty.report import facts, page, write

        found = fit_budget(
            material.X,
            material.y,
            task=asked.task,
            qid=material.qid,
            groups=material.groups,
            target_quality=quality,
            random_state=asked.seed,
            prices=material.prices,
            budget=budget,
            cap=cap,
            scoring=asked.scoring,
            learners=material.learners,
            confidence=None if unsure else confidence or CONFIDENCE,
            time_limit=time_limit,
        )
        told = facts(found, title=_title(asked.target, budget), target=asked.target,
                     source=asked.table.name, note=_note(asked.prices))  # fmt: skip
        html = page(told) if report else ""  # before anything is written
    found.predictor.save(output)
    if report:
        write(html, report)
    _show({**told, "model": str(output), "report": report and str(report)}, as_json)


def _refuse_mixtures(
    budget: float | None, quality: float | None, confidence: float | None, no_promise: bool
) -> None:
    if (budget is None) == (quality is None):
        raise click.UsageError("Give either --budget or --quality.")
    if confidence is not None and no_promise:
        raise click.UsageError("Give either --confidence or --no-promise.")
    if quality is not None and (confidence is not None or no_promise):
        raise click.UsageError("--confidence and --no-promise go with --budget.")


def _title(target: str, budget: float | None) -> str:
    return f"{target} under a budget" if budget is not None else f"{target} at a quality"


def _note(prices: Path | None) -> str:
    return f"Prices are those of {prices.name}." if prices else "Every feature was priced at 1."


def _show(told: dict[str, Any], as_json: bool) -> None:
    if as_json:
        show_json(told)
        return
    from thrifty.cli.story import show_fit

    show_fit(told)
    for what in ("model", "report"):
        if told[what]:
            click.echo(f"{what}: {told[what]}")
