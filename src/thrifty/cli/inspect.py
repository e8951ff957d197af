"""`thrifty inspect`: show what a model file contains, without building the model."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.console import show_json, show_table
from thrifty.cli.options import FILE, JSON
from thrifty.untrusted import escaped

if TYPE_CHECKING:
    from thrifty.costs import BoundPrices

__all__ = ["inspect"]

# Entries of a list that are shown before "and 12 more".
MAX_LISTED = 20
# Names of entries in a file that do not speak for themselves.
LABELS = {"thrifty": "Thrifty version", "data": "hash of the data"}
DIGEST = re.compile("[0-9a-f]{64}")


@click.command(short_help="Show what a model file contains.")
@click.argument("model", type=FILE)
@JSON
def inspect(model: Path, as_json: bool) -> None:
    """Show what a model file contains.

    Reads the header and checks it as loading would, without building the model. If the file has
    several operating points, all of them are listed, and the rest describes the default one. --json
    shows every detail.
    """
    from thrifty.bundle import Schema, describe
    from thrifty.costs import BoundPrices

    header = describe(model)
    prices, classes = BoundPrices.build(header["prices"]), header["classes"]
    features = []
    schema = Schema.build(header["schema"])
    for j in schema.table_order.tolist():
        column, group = schema.columns[j], int(prices.group[j])
        features.append(
            {
                "name": column.name,
                "categories": None if column.categories is None else list(column.categories),
                "price": float(prices.own[j]),
                "group": None if group < 0 else prices.group_names[group],
                **({"call": True} if column.is_call else {}),
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
    contents |= _structure(prices)
    if "decision" in header:
        contents["decision"] = header["decision"]
    if "points" in header:
        contents["metric"] = header["metric"]
        contents["points"] = [
            {**point, "default": k == header["default"]} for k, point in enumerate(header["points"])
        ]
    if as_json:
        show_json(contents)
    else:
        _show(contents)


def _structure(prices: BoundPrices) -> dict[str, Any]:
    """Return precedence, panels, delays and other currencies, where the prices have them."""
    names = list(prices.names or range(len(prices.own)))
    found: dict[str, Any] = {}
    if prices.structure is not None:
        requires = prices.structure.requires.items()
        found["requires"] = {names[j]: [names[k] for k in needed] for j, needed in requires}
        found["panels"] = [[names[j] for j in panel] for panel in prices.structure.panels]
    if prices.delays is not None:
        delays = zip(names, prices.delays.tolist(), strict=True)
        found["delays"] = {name: delay for name, delay in delays if delay}
        found["delay_unit"] = prices.delay_unit
    if prices.also:
        found["currencies"] = {name: {"full": each.full} for name, each in prices.also.items()}
    return found


def _show_decision(costs: list[list[float]], classes: list[Any]) -> None:
    """Print the costs of errors, and the threshold that follows from them or stands for itself."""
    import numpy as np

    from thrifty.bundle import Decision

    threshold = Decision(np.array(costs, dtype=np.float64)).threshold
    is_bare = threshold is not None and math.isclose(costs[0][1] + costs[1][0], 1.0)
    if not is_bare:
        _echo(f"costs of errors, by true and predicted class: {costs}")
    if threshold is not None:
        _echo(f"decision: {classes[1]} from a probability of {100 * threshold:.1f}% on")


def _show(contents: dict[str, Any]) -> None:
    """Print a summary of the contents of a model file for people."""
    from thrifty.costs.money import duration, money

    features, classes, unit = contents["features"], contents["classes"], contents["unit"]
    numbers = sum(math.prod(entry["shape"]) for entry in contents["arrays"].values())
    _echo(
        f"{contents['file']}: {contents['kind']}, {_size(contents['bytes'])} (format "
        f"{contents['format']}, {len(contents['arrays'])} arrays with {numbers:,} entries)"
    )
    _echo(f"predicts: {'values' if classes is None else _short(classes)}")
    if "decision" in contents:
        _show_decision(contents["decision"]["costs"], classes)
    for name, value in {"knob": contents["knob"], **(contents["provenance"] or {})}.items():
        if value is not None and name != "ranges":  # these would be a wall of numbers
            _echo(f"{LABELS.get(name, name.replace('_', ' '))}: {_short(value)}")
    _echo(f"prices: {money(contents['full'], unit)} for all {len(features)} features")
    if contents["evaluation"]:
        _echo(f"price of an evaluation: {money(contents['evaluation'], unit)}")
    for name, needed in contents.get("requires", {}).items():
        _echo(f"{name} requires {', '.join(map(str, needed))}")
    for panel in contents.get("panels", ()):
        _echo(f"only sold together: {', '.join(map(str, panel))}")
    if contents.get("delays"):
        delays = {
            name: duration(d, contents["delay_unit"]) for name, d in contents["delays"].items()
        }
        _echo(f"delays: {_short(delays)}")
    for name, amounts in contents.get("currencies", {}).items():
        _echo(f"also: {money(amounts['full'], name)} for all features")
    if "points" in contents:
        _show_points(contents)
    rows = []
    for feature in features:
        labels, group = feature["categories"], feature["group"]
        kind = "number" if labels is None else f"{len(labels)} categories"
        kind = "call" if feature.get("call") else kind
        shared = "" if group is None else f"{group} ({money(contents['groups'][group])} shared)"
        rows.append([str(feature["name"]), kind, shared, money(feature["price"])])
    show_table(["feature", "type", "group", "price"], rows, left=3)


def _show_points(contents: dict[str, Any]) -> None:
    """Print the operating points, with their mean bills and qualities on validation rows."""
    from thrifty.costs.money import format_mean

    points, metric = contents["points"], escaped(contents["metric"])
    _echo(f"operating points: {len(points)}, on validation rows")
    rows = [
        (
            format_mean(point["bill"], contents["unit"]), f"{point['quality']:.4f}", point["kind"],
            "default" if point["default"] else "",
        )
        for point in points
    ]  # fmt: skip
    show_table(["mean bill", metric, "kind", ""], rows, left=0)


def _echo(line: str) -> None:
    """Print one line, whatever names and units hold."""
    click.echo(escaped(line))


def _short(value: Any) -> str:
    """Format a plain value on one line, without digits and entries that nobody reads."""
    if isinstance(value, dict):
        text = ", ".join(f"{key} {_short(each)}" for key, each in value.items())
    elif isinstance(value, list):
        text = ", ".join(_short(each) for each in value[:MAX_LISTED])
        text += f" and {len(value) - MAX_LISTED} more" if len(value) > MAX_LISTED else ""
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, float):
        text = f"{value:.6g}"
    else:
        text = str(value)
        if DIGEST.fullmatch(text):
            text = f"{text[:12]}..."
    return text or "-"


def _size(n_bytes: int) -> str:
    """Format a number of bytes.

    Examples
    --------
    >>> from thrifty.cli.inspect import _size
    >>> _size(950), _size(14_500), _size(2_344_240)
    ('950 bytes', '14.5 kB', '2.3 MB')
    """
    for unit, size in (("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"
