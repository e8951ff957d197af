"""`thrifty import`: a model file of another library in, a Thrifty model file out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.console import progress, show_json
from thrifty.cli.outputs import OutputFile, refuse_overwriting
from thrifty.cli.pricelist import read_prices

if TYPE_CHECKING:
    from thrifty.bundle import Predictor

__all__ = ["import_model"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("import", short_help="Make a model file of a LightGBM or XGBoost model.")
@click.argument("model", type=FILE)
@click.option("-o", "--output", required=True, type=OutputFile(), help="Model file to write.")
@click.option("--prices", type=FILE, help="Price list, CSV or TOML; without one each feature is 1.")
@click.option("--unit", help="What the prices count, such as CAD or ms.")
@click.option("--class", "classes", multiple=True, metavar="LABEL",
              help="Label of a class, in the model's order; repeatable.")  # fmt: skip
@click.option("--short-circuit", is_flag=True, help="Stop asking once the answer is settled.")
@click.option("--tolerance", type=click.FloatRange(min=0), default=0.0,
              help="With --short-circuit, how far a predicted value may be off.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def import_model(
    model: Path,
    output: Path,
    prices: Path | None,
    unit: str | None,
    classes: tuple[str, ...],
    short_circuit: bool,
    tolerance: float,
    as_json: bool,
) -> None:
    """Make a model file of a LightGBM or XGBoost model.

    MODEL is a text file that LightGBM saved or a JSON file that XGBoost saved. The new model
    predicts the same, and tells what each prediction costs.
    """
    refuse_overwriting([output], [model, prices])
    if tolerance and not short_circuit:
        raise click.UsageError("--tolerance goes with --short-circuit.")
    with progress("importing"):
        from thrifty.learn.adopt.adopting import adopt
        from thrifty.learn.short_circuit import short_circuit as shorten

        predictor = adopt(model, prices=read_prices(prices, unit), classes=classes or None)
        if short_circuit:
            predictor = shorten(predictor, tolerance=tolerance)
    predictor.save(output)
    _show(_told(predictor, output), as_json)


def _told(predictor: Predictor, output: Path) -> dict[str, Any]:
    return {
        "model": str(output),
        "kind": predictor.model.kind,
        "source": (predictor.provenance or {})["source"],
        "trees": len(predictor.model.state()[1]["roots"]),
        "features": len(predictor.schema),
        "classes": predictor.labels,
        "full": predictor.prices.full,
        "unit": predictor.prices.unit,
    }


def _show(told: dict[str, Any], as_json: bool) -> None:
    from thrifty.costs.money import money

    if as_json:
        show_json(told)
        return
    answers = "values" if told["classes"] is None else ", ".join(map(str, told["classes"]))
    click.echo(f"{told['source']}: {told['trees']} trees, predicts {answers}")
    click.echo(f"prices: {money(told['full'], told['unit'])} for all {told['features']} features")
    click.echo(f"model: {told['model']}")
