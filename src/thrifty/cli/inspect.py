"""`thrifty inspect`: show what a model file contains, without building the model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from thrifty.cli.console import show_json, show_table
from thrifty.cli.options import FILE, JSON

__all__ = ["inspect"]


@click.command(short_help="Show what a model file contains.")
@click.argument("model", type=FILE)
@JSON
def inspect(model: Path, as_json: bool) -> None:
    """Show what a model file contains.

    Reads and checks the header; the model itself is not built.
    """
    from thrifty.bundle import Schema, describe
    from thrifty.costs import BoundPrices

    header = describe(model)
    prices, classes = BoundPrices.build(header["prices"]), header["classes"]
    features = []
    for j, column in enumerate(Schema.build(header["schema"]).columns):
        group = int(prices.group[j])
        features.append(
            {
                "name": column.name,
                "categories": None if column.categories is None else list(column.categories),
                "price": float(prices.own[j]),
                "group": None if group < 0 else prices.group_names[group],
            }
        )
    contents = {
        "file": str(model),
        "bytes": model.stat().st_size,
        "format": header["thrifty"],
        "kind": header["kind"],
        "classes": None if classes is None else classes["labels"],
        "unit": prices.unit,
        "evaluation": prices.evaluation,
        "calls": prices.calls,
        "full": prices.full,
        "groups": dict(zip(prices.group_names, prices.shared.tolist(), strict=True)),
        "features": features,
        "knob": header["knob"],
        "provenance": header["provenance"],
        "arrays": {
            name: {"dtype": entry["dtype"], "shape": entry["shape"]}
            for name, entry in header["arrays"].items()
        },
    }
    if "decision" in header:
        contents["decision"] = header["decision"]
    if as_json:
        show_json(contents)
    else:
        _show(contents)


def _show(contents: dict[str, Any]) -> None:
    """Print the contents of a model file for people."""
    from thrifty.costs.money import money

    def pairs(values: dict[str, Any]) -> str:
        return ", ".join(f"{key} {value}" for key, value in values.items()) or "-"

    features, classes = contents["features"], contents["classes"]
    click.echo(
        f"{contents['file']}: {contents['kind']}, {contents['bytes']} bytes, "
        f"format {contents['format']}"
    )
    click.echo(f"predicts: {'values' if classes is None else ', '.join(map(str, classes))}")
    if "decision" in contents:
        click.echo(f"costs of errors, by true and predicted class: {contents['decision']['costs']}")
    click.echo(f"knob: {pairs(contents['knob'] or {})}")
    for name, value in (contents["provenance"] or {}).items():
        click.echo(f"{name}: {pairs(value) if isinstance(value, dict) else value}")
    sizes = {name: math.prod(entry["shape"]) for name, entry in contents["arrays"].items()}
    click.echo(f"arrays: {pairs(sizes)}")
    full = money(contents["full"], contents["unit"])
    click.echo(f"prices: {full} for all {len(features)} features")
    rows = []
    for feature in features:
        labels, group = feature["categories"], feature["group"]
        kind = "number" if labels is None else f"{len(labels)} categories"
        shared = "" if group is None else f"{group} ({money(contents['groups'][group])} shared)"
        rows.append([str(feature["name"]), kind, shared, money(feature["price"])])
    show_table(["feature", "type", "group", "price"], rows, left=3)
