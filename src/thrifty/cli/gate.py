"""`thrifty gate`: a table and an expensive model in, a model file that calls it rarely out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.console import progress, show_json
from thrifty.cli.options import FILE, finite
from thrifty.cli.outputs import OutputFile, refuse_overwriting
from thrifty.cli.pricelist import read_prices

if TYPE_CHECKING:
    from thrifty.frontier.fit_gate import GateFit

__all__ = ["gate"]

PART = click.FloatRange(min=0, max=1)
MONEY = click.FloatRange(min=0)
SECONDS = click.FloatRange(min=0, min_open=True)


@click.command(short_help="Put a cheap model before an expensive one.")
@click.argument("table", type=FILE)
@click.option("--target", required=True, metavar="COL", help="The column to predict.")
@click.option("--expensive", required=True, metavar="MODEL|URL",
              help="A .thrifty, LightGBM or XGBoost file, or the address of a server.")  # fmt: skip
@click.option("--prices", type=FILE, help="Price list, CSV or TOML; without one each feature is 1.")
@click.option("--unit", help="What the prices count, such as CAD or ms.")
@click.option("--name", default="expensive", show_default=True, help="What the call is named.")
@click.option("--price", type=MONEY, default=0.0, callback=finite, help="What one call costs.")
@click.option("--need", "needs", multiple=True, metavar="COL",
              help="A column that the call needs; repeatable; without it all.")  # fmt: skip
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, metavar="SECONDS",
              help="How long a server may take for a batch of rows.")  # fmt: skip
@click.option("--share", type=PART, callback=finite, metavar="S",
              help="Largest share of the rows that may be sent; 0.3 without any aim.")  # fmt: skip
@click.option("--budget", type=MONEY, callback=finite, metavar="B",
              help="Largest mean bill.")  # fmt: skip
@click.option("--quality", type=PART, callback=finite, metavar="Q",
              help="Accuracy to reach with the fewest rows sent.")  # fmt: skip
@click.option("--penalty", type=MONEY, default=0.0, callback=finite, metavar="P",
              help="Mean loss that one unit of price must save.")  # fmt: skip
@click.option("--family", type=click.Choice(["boosted", "linear", "leaves"]), default="boosted",
              show_default=True, help="What gate and local model are.")  # fmt: skip
@click.option("--drop", multiple=True, metavar="COL", help="A column to leave out; repeatable.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("-o", "--output", required=True, type=OutputFile(), help="Model file to write.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def gate(table: Path, target: str, output: Path, as_json: bool, **given: Any) -> None:
    """Put a cheap model before an expensive one.

    TABLE is a CSV or Parquet file whose rows the expensive model has not been trained on. The new
    model answers most rows itself and sends the others.
    """
    aim = _aim(given)
    expensive = given["expensive"]
    remote = expensive.startswith(("http://", "https://"))
    files = [table, given["prices"], *([] if remote else [Path(expensive)])]
    refuse_overwriting([output], files)
    if target in given["drop"]:
        raise click.UsageError(f"'{target}' is named by --target and by --drop.")
    with progress("learning"):
        from thrifty.cli.tables import read_training
        from thrifty.frontier.fit_gate import fit_gate
        from thrifty.learn import Call, GatedClassifier

        X, y, _, _ = read_training(table, target, None, None, given["drop"])
        prices = read_prices(given["prices"], given["unit"])
        call = Call(given["name"], given["price"], given["needs"] or None,
                    expensive if remote else _model(Path(expensive)),
                    timeout=given["timeout"])  # fmt: skip
        model = GatedClassifier(
            call, share=aim.get("share", 0.3), penalty=given["penalty"], family=given["family"],
            target=aim or None, prices=prices, random_state=given["seed"],
        )  # fmt: skip
        found = fit_gate(X, y, model=model, random_state=given["seed"])
    found.predictor.save(output)
    _show(_told(found, output), as_json)


def _aim(given: dict[str, Any]) -> dict[str, float]:
    words = {"share": "share", "budget": "bill", "quality": "quality"}
    aims = {word: given[option] for option, word in words.items() if given[option] is not None}
    if len(aims) > 1:
        raise click.UsageError("Give one of --share, --budget and --quality.")
    return aims


def _model(path: Path) -> Any:
    """The predictor in a file of ours, LightGBM's or XGBoost's."""
    if not path.is_file():
        raise click.UsageError(f"--expensive: there is no file '{path}' (URLs start with http).")
    from thrifty.bundle import load
    from thrifty.learn.adopt import adopt

    with open(path, "rb") as file:
        zipped = file.read(2) == b"PK"
    return load(path) if zipped else adopt(path)


def _told(found: GateFit, output: Path) -> dict[str, Any]:
    return {
        "model": str(output),
        "rows": found.rows,
        "sent": found.sent,
        "mean_bill": found.bill,
        "accuracy": found.accuracy,
        "expensive_bill": found.expensive_bill,
        "expensive_accuracy": found.expensive_accuracy,
        "unit": found.predictor.prices.unit,
    }


def _show(told: dict[str, Any], as_json: bool) -> None:
    from thrifty.costs.money import money

    if as_json:
        show_json(told)
        return
    ours, theirs = (
        money(round(told[bill], 4), told["unit"]) for bill in ("mean_bill", "expensive_bill")
    )
    click.echo(f"on {told['rows']['test']} rows: {told['sent']:.1%} sent, accuracy "
               f"{told['accuracy']:.4f}, mean bill {ours}")  # fmt: skip
    click.echo(f"all sent: accuracy {told['expensive_accuracy']:.4f}, mean bill {theirs}")
    click.echo(f"model: {told['model']}")
