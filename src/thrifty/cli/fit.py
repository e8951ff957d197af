"""`thrifty fit`: a table, prices and a budget in, a model file out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from thrifty.cli.console import progress, show_json
from thrifty.cli.outputs import OutputFile, refuse_overwriting
from thrifty.cli.pricelist import read_prices

__all__ = ["fit"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
TASKS = click.Choice(["classification", "regression", "ranking"])


def _finite(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.")
    return value


@click.command(short_help="Learn the best predictor inside a budget.")
@click.argument("table", type=FILE)
@click.option("--target", required=True, metavar="COL", help="The column to predict.")
@click.option(
    "--budget", required=True, type=click.FloatRange(min=0), callback=_finite, metavar="B",
    help="What an example may cost on average.",
)  # fmt: skip
@click.option("-o", "--output", required=True, type=OutputFile(), help="Model file to write.")
@click.option("--prices", type=FILE, help="Price list, CSV or TOML; without one each feature is 1.")
@click.option("--unit", help="What the prices count, such as CAD or ms.")
@click.option("--task", type=TASKS, help="What to predict; guessed from the target without it.")
@click.option("--qid", metavar="COL", help="The column that names the query, for ranking.")
@click.option("--drop", multiple=True, metavar="COL", help="A column to leave out; repeatable.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--report", type=OutputFile(), help="Page with the whole story to write, HTML.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def fit(
    table: Path,
    target: str,
    budget: float,
    output: Path,
    prices: Path | None,
    unit: str | None,
    task: str | None,
    qid: str | None,
    drop: tuple[str, ...],
    seed: int,
    report: Path | None,
    as_json: bool,
) -> None:
    """Learn the best predictor inside a budget.

    TABLE is a CSV or Parquet file. The rows are divided into those to learn from, to choose on and
    to report on; the model goes to the file named by -o.
    """
    refuse_overwriting([output, report], [table, prices])
    from thrifty.cli.tables import read_training

    X, y, queries = read_training(table, target, qid, drop)
    with progress("learning"):
        from thrifty.frontier import fit_budget
        from thrifty.report import facts, page, write

        found = fit_budget(
            X, y, budget=budget, prices=read_prices(prices, unit), task=task, qid=queries,
            random_state=seed,
        )  # fmt: skip
        told = facts(found, title=f"{target} under a budget", target=target, source=table.name,
                     note=_note(prices))  # fmt: skip
        html = page(told) if report else ""  # before anything is written
    found.chosen.model.save(output)
    if report:
        write(html, report)
    _show({**told, "model": str(output), "report": report and str(report)}, as_json)


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
