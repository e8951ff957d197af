"""`thrifty predict`: predict the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from thrifty.cli.calls import CALL, connect_for
from thrifty.cli.console import echo, progress, show_json
from thrifty.cli.options import FILE, JSON, OutputFile, check_outputs, finite
from thrifty.errors import DataError
from thrifty.files import write_whole

__all__ = ["predict"]


@click.command(short_help="Predict the rows of a table.")
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    help="CSV or Parquet file to write, by its suffix; by default CSV to stdout.",
)
@click.option(
    "--id",
    "id_column",
    metavar="COL",
    help="Column to copy to the output, such as a customer number.",
)
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

    from thrifty.bundle import load, load_points, score_batches
    from thrifty.cli.batches import TableFile, csv_or_parquet, is_parquet, plain_values
    from thrifty.costs.money import format_mean

    predictor = load(model) if budget is None else load_points(model).at_budget(budget).predictor
    unit = predictor.prices.unit
    if proba and predictor.classes is None:
        raise click.UsageError("--proba: this model is not a classifier; it has no classes.")
    asked = {"bill": bill, "used": used} | {
        f"proba_{label}": proba for label in predictor.labels or ()
    }
    if id_column in {"prediction", "rows", "mean_bill", "unit", *asked}:
        raise click.UsageError(f"--id: the output has a column '{id_column}' already; rename it.")
    file = TableFile(table, id_column)
    predictor = connect_for(predictor, call, file.columns)
    n_rows, total = 0, 0.0

    def results() -> Iterator[pd.DataFrame]:
        nonlocal n_rows, total
        batches = file.batches(predictor)
        for scored in score_batches(predictor, batches, id_column=id_column):
            n_rows, total = n_rows + len(scored), total + float(scored["bill"].sum())
            if id_column is not None and not is_parquet(output):
                scored[id_column] = plain_values(scored[id_column])
            yield scored[[name for name in scored.columns if asked.get(name, True)]]

    if output is not None:
        with progress("predicting"), naming_table(table):
            write_whole(output, csv_or_parquet(output, results()))
        mean = total / n_rows
        if as_json:
            show_json({"rows": n_rows, "mean_bill": mean, "unit": unit, "output": str(output)})
        else:
            echo(f"{n_rows} predictions, mean bill {format_mean(mean, unit)}: {output}")
        return
    with naming_table(table):
        if as_json:
            columns = pd.concat(results(), ignore_index=True).to_dict("list")
            show_json({"rows": n_rows, "mean_bill": total / n_rows, "unit": unit, **columns})
        else:
            for part in csv_or_parquet(None, results()):
                click.echo(part, nl=False)


@contextmanager
def naming_table(path: Path) -> Iterator[None]:
    """Let errors of a table that was read from a file name the file."""
    try:
        yield
    except DataError as error:
        if str(error).startswith("table: "):
            raise DataError(f"{path}{str(error).removeprefix('table')}") from error
        raise
