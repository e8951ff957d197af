"""`thrifty inspect`: what a model file holds, without building the model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.console import show_json, show_table

if TYPE_CHECKING:
    from thrifty.bundle import Schema
    from thrifty.costs import BoundPrices

__all__ = ["inspect"]


@click.command(short_help="Tell what a model file holds.")
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect(model: Path, as_json: bool) -> None:
    """Tell what a model file holds.

    The header is read and checked; the model itself is not built.
    """
    from thrifty.bundle import Schema, describe
    from thrifty.costs import BoundPrices

    header = describe(model)
    told = _told(header, Schema.build(header["schema"]), BoundPrices.build(header["prices"]))
    told = {"file": str(model), "bytes": model.stat().st_size, **told}
    if as_json:
        show_json(told)
    else:
        _show(told)


def _told(header: dict[str, Any], schema: Schema, prices: BoundPrices) -> dict[str, Any]:
    classes = header["classes"]
    return {
        "format": header["thrifty"],
        "kind": header["kind"],
        "classes": None if classes is None else classes["labels"],
        "unit": prices.unit,
        "evaluation": prices.evaluation,
        "calls": prices.calls,
        "full": prices.full,
        "groups": dict(zip(prices.group_names, prices.shared.tolist(), strict=True)),
        "features": [_feature(schema, prices, j) for j in range(len(schema))],
        "knob": header["knob"],
        "provenance": header["provenance"],
        "arrays": {
            name: {"dtype": entry["dtype"], "shape": entry["shape"]}
            for name, entry in header["arrays"].items()
        },
    }


def _feature(schema: Schema, prices: BoundPrices, j: int) -> dict[str, Any]:
    column, group = schema.columns[j], int(prices.group[j])
    return {
        "name": column.name,
        "categories": None if column.categories is None else list(column.categories),
        "price": float(prices.own[j]),
        "group": None if group < 0 else prices.group_names[group],
    }


def _show(told: dict[str, Any]) -> None:
    from thrifty.costs.money import money

    answers = "values" if told["classes"] is None else ", ".join(map(str, told["classes"]))
    click.echo(f"{told['file']}: {told['kind']}, {told['bytes']} bytes, format {told['format']}")
    click.echo(f"predicts: {answers}")
    click.echo(f"knob: {_words(told['knob'] or {})}")
    for what, value in (told["provenance"] or {}).items():
        click.echo(f"{what}: {_words(value) if isinstance(value, dict) else value}")
    sizes = {name: math.prod(entry["shape"]) for name, entry in told["arrays"].items()}
    click.echo(f"arrays: {_words(sizes)}")
    click.echo(
        f"prices: {money(told['full'], told['unit'])} for all {len(told['features'])} features"
    )
    show_table(
        ["feature", "kind", "group", "price"],
        [_row(feature, told["groups"]) for feature in told["features"]],
        left=3,
    )


def _row(feature: dict[str, Any], groups: dict[str, float]) -> list[str]:
    from thrifty.costs.money import money

    labels, group = feature["categories"], feature["group"]
    kind = "number" if labels is None else f"{len(labels)} categories"
    shared = "" if group is None else f"{group} ({money(groups[group])} shared)"
    return [str(feature["name"]), kind, shared, money(feature["price"])]


def _words(plain: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in plain.items()) or "-"
