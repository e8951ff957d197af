"""`thrifty predict`: the rows of a table in, predictions and bills out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.console import progress, show_json
from thrifty.cli.outputs import OutputFile, refuse_overwriting
from thrifty.files import write_whole

if TYPE_CHECKING:
    from pandas import DataFrame

    from thrifty.bundle import Predictor

__all__ = ["predict"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(short_help="Predict the rows of a table.")
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("-o", "--output", type=OutputFile(), help="CSV file to write; without it, stdout.")
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option("--bill", is_flag=True, help="Add what each row pays.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def predict(
    model: Path, table: Path, output: Path | None, proba: bool, bill: bool, as_json: bool
) -> None:
    """Predict the rows of a table.

    MODEL is a file that `thrifty fit` wrote, TABLE a CSV or Parquet file with the same columns.
    """
    refuse_overwriting([output], [model, table])
    from thrifty.bundle import load
    from thrifty.cli.tables import read_table_for

    predictor = load(model)
    if proba and predictor.classes is None:
        raise click.UsageError("--proba: this model predicts values, it has no classes.")
    X = read_table_for(predictor.schema, table)
    with progress("predicting"):
        bills = predictor.bill(X)
        out = _frame(predictor, X, proba)
    if bill:
        out["bill"] = bills
    mean = float(bills.mean())
    summary = {"rows": len(out), "mean_bill": mean, "unit": predictor.prices.unit}
    if output is not None:
        write_whole(output, out.to_csv(index=False).encode("utf-8"))
        summary["output"] = str(output)
    _show(out, summary, as_json)


def _frame(predictor: Predictor, X: DataFrame, proba: bool) -> DataFrame:
    import pandas as pd

    if not proba:
        return pd.DataFrame({"prediction": predictor.predict(X)})
    scores, classes = predictor.predict_proba(X), predictor.classes
    assert classes is not None
    labels = classes[scores.argmax(axis=1)]
    columns = {f"proba_{label}": scores[:, k] for k, label in enumerate(classes.tolist())}
    return pd.DataFrame({"prediction": labels, **columns})


def _show(out: DataFrame, summary: dict[str, Any], as_json: bool) -> None:
    from thrifty.costs.money import money

    written = summary.get("output")
    if as_json:
        show_json(summary if written else {**summary, **out.to_dict(orient="list")})
    elif written:
        mean = money(round(summary["mean_bill"], 4), summary["unit"])
        click.echo(f"{summary['rows']} predictions, mean bill {mean}: {written}")
    else:
        click.echo(out.to_csv(index=False), nl=False)
