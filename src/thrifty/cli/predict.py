"""`thrifty predict`: predict the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thrifty.cli.console import progress, show_json
from thrifty.cli.options import FILE, JSON, OutputFile, check_outputs
from thrifty.files import write_whole

__all__ = ["predict"]


@click.command(short_help="Predict the rows of a table.")
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("-o", "--output", type=OutputFile(), help="CSV file to write; by default stdout.")
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option("--bill", is_flag=True, help="Add the bill of each row.")
@JSON
def predict(
    model: Path, table: Path, output: Path | None, proba: bool, bill: bool, as_json: bool
) -> None:
    """Predict the rows of a table.

    MODEL is a model file, TABLE a CSV or Parquet file with the columns that it was trained on.
    """
    check_outputs([output], [model, table])
    import pandas as pd

    from thrifty.bundle import load
    from thrifty.cli.tables import read_feature_table
    from thrifty.costs.money import money

    predictor = load(model)
    classes, unit = predictor.classes, predictor.prices.unit
    if proba and classes is None:
        raise click.UsageError("--proba: this model is not a classifier; it has no classes.")
    X = read_feature_table(predictor.schema, table)
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
    result, mean = pd.DataFrame(columns), float(bills.mean())
    summary = {"rows": len(result), "mean_bill": mean, "unit": unit}
    if output is not None:
        write_whole(output, result.to_csv(index=False).encode("utf-8"))
        summary["output"] = str(output)
    if as_json:
        show_json(summary if output else {**summary, **result.to_dict(orient="list")})
    elif output:
        mean_bill = money(round(mean, 4), unit)
        click.echo(f"{len(result)} predictions, mean bill {mean_bill}: {output}")
    else:
        click.echo(result.to_csv(index=False), nl=False)
