"""Printing: progress, tables and fit results for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click

__all__ = ["progress", "show_fit", "show_frontier", "show_json", "show_settings", "show_table"]


def progress(message: str) -> AbstractContextManager[Any]:
    """Show a message on stderr while the block runs, if stderr is a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(message)


def show_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """Print a table; the first `left` columns are text, the others numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    # Names of features are the user's: brackets in them are not markup.
    Console(markup=False, emoji=False, highlight=False).print(table)


def show_settings(settings: dict[str, Any]) -> None:
    """Print the task, the features with their price, and the sizes of the three sets."""
    from thrifty.costs.money import money

    rows, inferred = settings["rows"], " (inferred)" if settings["inferred"] else ""
    # In a cross-fit, validation rows are training rows.
    validation = "" if settings["cross_fitted"] else f"{rows['validation']} validation rows, "
    click.echo(
        f"{settings['task']}{inferred}: {settings['features']} features, "
        f"{money(settings['full'], settings['unit'])} for all; {rows['train']} training rows, "
        f"{validation}{rows['test']} test rows"
    )


def show_frontier(points: Sequence[dict[str, Any]], metric: str, unit: str) -> None:
    """Print the points of a frontier as a table; a star marks the chosen one."""
    from thrifty.report.words import format_mean, format_number

    show_table(
        ["learner", "knob", f"mean bill\n({unit})" if unit else "mean bill", metric, "features"],
        [
            [
                point["learner"] + (" *" if point.get("chosen") else ""),
                ", ".join(f"{key} {format_number(value)}" for key, value in point["knob"].items()),
                format_mean(point["bill"]),
                f"{point['quality']:.4f}",
                str(point["features"]),
            ]
            for point in points
        ],
        left=2,
    )


def show_fit(facts: dict[str, Any]) -> None:
    """Print the results of a fit: savings on the test set, the frontier, and the headline.

    Parameters
    ----------
    facts : dict
        What `thrifty.report.fit_facts` returned.
    """
    from thrifty.costs.money import money
    from thrifty.report.words import format_mean

    settings, chosen = facts["settings"], facts["chosen"]
    metric, unit, full = settings["metric"], settings["unit"], facts["baselines"][0]["bill"]
    show_settings(settings)
    click.echo("Test set, compared with models trained without prices:")
    show_table(
        ["", f"mean bill\n({unit})" if unit else "mean bill", metric, "saving"],
        [
            [
                name,
                format_mean(result["bill"]),
                f"{result['quality']:.4f}",
                f"{100 * (1 - result['bill'] / full):.1f}%" if full > 0 else "-",
            ]
            for name, result in [
                (f"chosen: {chosen['learner']}", chosen["test"]),
                *((baseline["name"], baseline) for baseline in facts["baselines"]),
            ]
        ],
    )
    click.echo("Pareto frontier on the validation set (* chosen):")
    show_frontier(facts["frontier"], metric, unit)
    for result in facts["learners"]:
        if result["outcome"] != "ran":
            click.echo(f"{result['learner']} did not run: {result['outcome']}")
    if not facts["bought"]:
        click.echo("The model buys nothing: no feature that helps fits the budget.")
    click.echo(f"On the test set: {facts['headline']}")
    if facts.get("total"):
        total = {name: money(amount, unit) for name, amount in facts["total"].items()}
        click.echo(
            f"Total per example: {total['features']} for features + {total['errors']} for errors "
            f"= {total['total']}"
        )
