"""`thrifty import`: convert a model of another library to a Thrifty model file."""

from __future__ import annotations

from pathlib import Path

import click

from thrifty.cli.console import echo, progress, show_json
from thrifty.cli.options import (
    FILE,
    JSON,
    OUTPUT_MODEL,
    PRICES,
    UNIT,
    check_outputs,
    read_prices,
)

__all__ = ["import_model"]


@click.command("import", short_help="Convert a LightGBM or XGBoost model to a model file.")
@click.argument("model", type=FILE)
@OUTPUT_MODEL
@PRICES
@UNIT
@click.option("--class", "classes", multiple=True, metavar="LABEL",
              help="Label of a class, in the order of the model; repeatable.")  # fmt: skip
@click.option("--short-circuit", is_flag=True,
              help="Stop requesting features once the prediction cannot change.")  # fmt: skip
@click.option("--tolerance", type=click.FloatRange(min=0), default=0.0,
              help="With --short-circuit: how far a predicted value may be off.")  # fmt: skip
@JSON
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
    """Convert a LightGBM or XGBoost model to a model file.

    MODEL is a text file saved by LightGBM or a JSON file saved by XGBoost. The new model makes the
    same predictions and knows what each of them costs.
    """
    check_outputs([output], [model, prices])
    if tolerance and not short_circuit:
        raise click.UsageError("--tolerance needs --short-circuit.")
    with progress("importing"):
        from thrifty.costs.money import money
        from thrifty.learn.adopt.adopting import adopt
        from thrifty.learn.short_circuit import short_circuit as shorten

        predictor = adopt(model, prices=read_prices(prices, unit), classes=classes or None)
        if short_circuit:
            predictor = shorten(predictor, tolerance=tolerance)
    predictor.save(output)
    source, bound = (predictor.provenance or {})["source"], predictor.prices
    n_trees, n_features = len(predictor.model.state()[1]["roots"]), len(predictor.schema)
    if as_json:
        show_json(
            {
                "model": str(output),
                "kind": predictor.model.kind,
                "source": source,
                "trees": n_trees,
                "features": n_features,
                "classes": predictor.labels,
                "full": bound.full,
                "unit": bound.unit,
            }
        )
        return
    labels = predictor.labels
    predicts = "values" if labels is None else ", ".join(map(str, labels))
    echo(f"{source}: {n_trees} trees, predicts {predicts}")
    echo(f"prices: {money(bound.full, bound.unit)} for all {n_features} features")
    echo(f"model: {output}")
