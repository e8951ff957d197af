"""`thrifty gate`: train a cheap model and a gate in front of an expensive model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thrifty.cli.console import progress, show_json
from thrifty.cli.options import (
    FILE,
    JSON,
    OUTPUT_MODEL,
    PRICES,
    UNIT,
    check_outputs,
    finite,
    read_prices,
)

__all__ = ["gate"]

FRACTION = click.FloatRange(min=0, max=1)
AMOUNT = click.FloatRange(min=0)
DEFAULT_SHARE = 0.3


@click.command(short_help="Train a cheap model in front of an expensive one.")
@click.argument("table", type=FILE)
@click.option("--target", required=True, metavar="COL", help="Column to predict.")
@click.option("--expensive", required=True, metavar="MODEL|URL",
              help="A .thrifty, LightGBM or XGBoost file, or the URL of a server.")  # fmt: skip
@PRICES
@UNIT
@click.option("--name", default="expensive", show_default=True,
              help="Name of the expensive model in receipts.")  # fmt: skip
@click.option("--price", type=AMOUNT, default=0.0, callback=finite,
              help="Price of one call of the expensive model.")  # fmt: skip
@click.option("--need", "needs", multiple=True, metavar="COL",
              help="Column that the expensive model needs; repeatable; by default "
              "all.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0,
              show_default=True, metavar="SECONDS",
              help="How long a server may take for a batch of rows.")  # fmt: skip
@click.option("--share", type=FRACTION, callback=finite, metavar="S",
              help="Largest share of rows sent to the expensive model; 0.3 if no goal is "
              "given.")  # fmt: skip
@click.option("--budget", type=AMOUNT, callback=finite, metavar="B",
              help="Largest mean cost per example.")  # fmt: skip
@click.option("--quality", type=FRACTION, callback=finite, metavar="Q",
              help="Accuracy to reach while sending as few rows as possible.")  # fmt: skip
@click.option("--penalty", type=AMOUNT, default=0.0, callback=finite, metavar="P",
              help="Reduction in mean loss that one unit of cost must bring.")  # fmt: skip
@click.option("--family", type=click.Choice(["boosted", "linear", "leaves"]), default="boosted",
              show_default=True, help="Type of the gate and the cheap model.")  # fmt: skip
@click.option("--drop", multiple=True, metavar="COL", help="Column to ignore; repeatable.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Random seed of the split and the training.")  # fmt: skip
@OUTPUT_MODEL
@JSON
def gate(table: Path, target: str, output: Path, as_json: bool, **given: Any) -> None:
    """Train a cheap model in front of an expensive one.

    TABLE is a CSV or Parquet file whose rows the expensive model was not trained on. The new model
    predicts most rows itself and sends the others to the expensive model. Rows are split as in
    `thrifty fit`.
    """
    goals = {"share": given["share"], "bill": given["budget"], "quality": given["quality"]}
    goals = {name: value for name, value in goals.items() if value is not None}
    if len(goals) > 1:
        raise click.UsageError("Give one of --share, --budget and --quality.")
    expensive: Any = given["expensive"]
    is_url, path = expensive.startswith(("http://", "https://")), Path(expensive)
    check_outputs([output], [table, given["prices"], None if is_url else path])
    if target in given["drop"]:
        raise click.UsageError(f"'{target}' is named by --target and by --drop.")
    if not is_url:
        expensive = _load_expensive(path)
    with progress("training"):
        from thrifty.cli.tables import read_training_table
        from thrifty.costs.money import money
        from thrifty.frontier.fit_gate import fit_gate
        from thrifty.learn import Call, GatedClassifier

        X, y, _, _ = read_training_table(table, target, None, None, given["drop"])
        prices = read_prices(given["prices"], given["unit"]).without([target, *given["drop"]])
        call = Call(given["name"], given["price"], given["needs"] or None, expensive,
                    timeout=given["timeout"])  # fmt: skip
        model = GatedClassifier(
            call, share=goals.get("share", DEFAULT_SHARE), penalty=given["penalty"],
            family=given["family"], target=goals or None, prices=prices,
            random_state=given["seed"],
        )  # fmt: skip
        found = fit_gate(X, y, model=model, random_state=given["seed"])
    found.predictor.save(output)
    result = {
        "model": str(output),
        "rows": found.rows,
        "sent": found.sent,
        "mean_bill": found.bill,
        "accuracy": found.accuracy,
        "expensive_bill": found.expensive_bill,
        "expensive_accuracy": found.expensive_accuracy,
        "unit": found.predictor.prices.unit,
    }
    if as_json:
        show_json(result)
        return
    bill, expensive_bill = (
        money(round(amount, 4), found.predictor.prices.unit)
        for amount in (found.bill, found.expensive_bill)
    )
    click.echo(f"On the test set ({found.rows['test']} rows): {found.sent:.1%} sent, accuracy "
               f"{found.accuracy:.4f}, mean bill {bill}")  # fmt: skip
    click.echo(f"All rows sent: accuracy {found.expensive_accuracy:.4f}, mean bill "
               f"{expensive_bill}")  # fmt: skip
    click.echo(f"model: {output}")


def _load_expensive(path: Path) -> Any:
    """Load a predictor from a model file of Thrifty, LightGBM or XGBoost."""
    if not path.is_file():
        raise click.UsageError(f"--expensive: there is no file '{path}' (URLs start with http).")
    from thrifty.bundle import load
    from thrifty.learn.adopt import adopt

    with open(path, "rb") as file:
        is_archive = file.read(2) == b"PK"  # our own files are zip archives
    return load(path) if is_archive else adopt(path)
