"""`thrifty predict`: predict the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thrifty.cli.calls import CALL, complete_table
from thrifty.cli.console import echo, progress, show_json
from thrifty.cli.options import FILE, JSON, OutputFile, check_outputs, finite
from thrifty.files import write_whole

__all__ = ["predict"]


@click.command(short_help="Predict the rows of a table.")
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("-o", "--output", type=OutputFile(), help="CSV file to write; by default stdout.")
@click.option("--id", "id_column", metavar="COL",
              help="Column to copy to the output, such as a customer number.")  # fmt: skip
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option("--budget", type=click.FloatRange(min=0), callback=finite, metavar="B",
              help="Use the best operating point of the file with a mean bill of at most B; by "
              "default the one that it was saved with.")  # fmt: skip
@click.option("--bill", is_flag=True, help="Add the bill of each row.")
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
    call: str | None,
    as_json: bool,
) -> None:
    """Predict the rows of a table.

    MODEL is a model file, TABLE a CSV or Parquet file with the columns that the model reads. In the
    CSV output, text that a spreadsheet would run as a formula starts with a single quote.
    """
    check_outputs([output], [model, table])
    import pandas as pd

    from thrifty.bundle import load, load_points
    from thrifty.cli.csv_output import safe_csv_parts
    from thrifty.cli.tables import read_feature_table, read_ids
    from thrifty.costs.money import format_mean

    predictor = load(model) if budget is None else load_points(model).at_budget(budget).predictor
    classes, unit = predictor.classes, predictor.prices.unit
    if proba and classes is None:
        raise click.UsageError("--proba: this model is not a classifier; it has no classes.")
    # An identifier such as 007 stays as it is, unless it is also a number that the model reads.
    is_text = id_column is not None and id_column not in predictor.schema.names
    X = read_feature_table(predictor.schema, table, [str(id_column)] if is_text else [])
    ids = {} if id_column is None else {id_column: read_ids(X, id_column, table)}
    X = complete_table(predictor, call, X)
    with progress("predicting"):
        bills = predictor.bill(X)
        if proba and classes is not None:
            scores = predictor.predict_proba(X)
            columns: dict[str, Any] = {"prediction": classes[predictor.decide(scores)]}
            for k, label in enumerate(classes.tolist()):
                columns[f"proba_{label}"] = scores[:, k]
        else:
            columns = {"prediction": predictor.predict(X)}
    if bill:
        columns["bill"] = bills
    mean = float(bills.mean())
    summary = {"rows": len(bills), "mean_bill": mean, "unit": unit}
    if id_column in columns or id_column in summary:
        raise click.UsageError(f"--id: the output has a column '{id_column}' already; rename it.")
    result = pd.DataFrame({**ids, **columns})
    if output is not None:
        write_whole(output, (part.encode("utf-8") for part in safe_csv_parts(result)))
        summary["output"] = str(output)
    if as_json:
        lists = {name: values.tolist() for name, values in columns.items()}
        show_json(summary if output else {**summary, **ids, **lists})
    elif output:
        echo(f"{len(result)} predictions, mean bill {format_mean(mean, unit)}: {output}")
    else:
        for part in safe_csv_parts(result):
            click.echo(part, nl=False)
