"""`thrifty predict`: predict the rows of a table."""

from __future__ import annotations

from pathlib import Path

import click

from thrifty.cli.calls import CALL, connect_for
from thrifty.cli.console import echo, progress, show_json
from thrifty.cli.options import FILE, JSON, OutputFile, check_outputs, finite
from thrifty.files import write_whole

__all__ = ["predict"]


@click.command(short_help="Predict the rows of a table.")
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("-o", "--output", type=OutputFile(),
              help="CSV or Parquet file to write, by its suffix; by default CSV to stdout.",
              )  # fmt: skip
@click.option("--id", "id_column", metavar="COL",
              help="Column to copy to the output, such as a customer number.")  # fmt: skip
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option("--budget", type=click.FloatRange(min=0), callback=finite, metavar="B",
              help="Use the best operating point of the file with a mean bill of at most B; by "
              "default the one that it was saved with.")  # fmt: skip
@click.option("--bill", is_flag=True, help="Add the bill of each row.")
@click.option(
    "--used", is_flag=True, help="Add which features each row used, as hexadecimal digits."
)
@CALL
@JSON
def predict(
    model: Path,
    table: Path,
    output: Path | None,
    id_column: str | None,
    proba: bool,
    budget: float | None,
    bill: bool,
    used: bool,
    call: str | None,
    as_json: bool,
) -> None:
    """Predict the rows of a table.

    MODEL is a model file, TABLE a CSV or Parquet file of any length with the columns that the model
    reads. In CSV output, text that a spreadsheet would run as a formula starts with a single quote.
    """
    check_outputs([output], [model, table])
    import pandas as pd

    from thrifty.bundle import load, load_points
    from thrifty.cli.batches import Results, TableFile, csv_or_parquet, is_parquet
    from thrifty.costs.money import format_mean

    predictor = load(model) if budget is None else load_points(model).at_budget(budget).predictor
    if proba and predictor.classes is None:
        raise click.UsageError("--proba: this model is not a classifier; it has no classes.")
    asked = {"bill": bill, "used": used} | {
        f"proba_{label}": proba for label in predictor.labels or ()
    }
    if id_column in {"prediction", "rows", "mean_bill", "unit", *asked}:
        raise click.UsageError(f"--id: the output has a column '{id_column}' already; rename it.")
    file = TableFile(table, id_column)
    predictor = connect_for(predictor, call, file.columns)
    results = Results(file, predictor, asked, plain_ids=not is_parquet(output))
    if output is not None:
        with progress("predicting"):
            write_whole(output, csv_or_parquet(output, results))
        summary = {**results.summary(), "output": str(output)}
        if as_json:
            show_json(summary)
        else:
            mean = format_mean(summary["mean_bill"], predictor.prices.unit)
            echo(f"{summary['rows']} predictions, mean bill {mean}: {output}")
    elif as_json:
        columns = pd.concat(results, ignore_index=True).to_dict("list")
        show_json({**results.summary(), **columns})
    else:
        for part in csv_or_parquet(None, results):
            click.echo(part, nl=False)
