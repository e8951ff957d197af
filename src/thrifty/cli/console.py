"""Printing: progress, tables and fit results for people, JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click

from thrifty.untrusted import escaped

__all__ = [
    "echo",
    "in_lines",
    "progress",
    "show_fit",
    "show_frontier",
    "show_json",
    "show_results",
    "show_settings",
    "show_table",
    "show_text",
]

# Points of a frontier that fit on a screen.
MAX_POINTS = 12


def progress(message: str) -> AbstractContextManager[Any]:
    """Show a message on stderr while the block runs, if stderr is a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(message)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text for people: what a terminal would act on instead of showing it is escaped.

    Names, labels and units come from files, which may come from anyone. Line breaks are kept.
    """
    click.echo(escaped(text, keep="\n"), err=err, nl=nl)


def show_text(text: str, indent: str = "", err: bool = False, bold: bool = False) -> None:
    """Print a sentence; on a terminal, lines are broken between words, and continued indented."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent,
                             break_long_words=False, break_on_hyphens=False)  # fmt: skip
    else:
        text = indent + text
    text = escaped(text, keep="\n")
    click.echo(click.style(text, bold=True) if bold else text, err=err)


def show_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """Print a table; the first `left` columns are text, the others numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for i, column in enumerate(columns):
        title = escaped(column, keep="\n")
        if i < left:
            table.add_column(title, overflow="fold")
        else:
            table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(escaped, row))
    # Names of features are the user's: brackets in them are not markup.
    Console(markup=False, emoji=False, highlight=False).print(table)


def in_lines(metric: str) -> str:
    """Break the name of a metric into short lines, so that columns of numbers stay narrow.

    Examples
    --------
    >>> from thrifty.cli.console import in_lines
    >>> in_lines("neg_error_cost")
    'neg_\\nerror_\\ncost'
    """
    return "\n".join(textwrap.wrap(metric.replace("_", "_ "), 9)).replace("_ ", "_")


def show_settings(settings: dict[str, Any]) -> None:
    """Print the task, the features with their price, and the sizes of the three sets."""
    from thrifty.costs.money import money

    rows, inferred = settings["rows"], " (inferred)" if settings["inferred"] else ""
    # In a cross-fit, validation rows are training rows.
    validation = "" if settings["cross_fitted"] else f"{rows['validation']} validation rows, "
    show_text(
        f"{settings['task']}{inferred}: {settings['features']} features, "
        f"{money(settings['full'], settings['unit'])} for all; {rows['train']} training rows, "
        f"{validation}{rows['test']} test rows"
    )
    if settings.get("drawn"):
        show_text(settings["drawn"])


def show_frontier(points: Sequence[dict[str, Any]], metric: str, unit: str) -> None:
    """Print the points that none of the others beats, as printed; a star marks the chosen one.

    Of many points, some are printed: the ends, the chosen one, and others in between.
    """
    from thrifty.report.words import (
        format_interval,
        format_mean,
        format_number,
        format_quality,
        shown_frontier,
    )

    shown = shown_frontier(points, metric)
    last, steps = len(shown) - 1, MAX_POINTS - 1
    places = (
        {round(i * last / steps) for i in range(MAX_POINTS)}
        if last > steps
        else set(range(last + 1))
    )
    places |= {i for i, point in enumerate(shown) if point.get("chosen")}
    show_table(
        ["learner", "knob", f"mean bill\n({unit})" if unit else "mean bill", in_lines(metric),
         "95% interval", "features"],
        [
            [
                point["learner"] + (" *" if point.get("chosen") else ""),
                ", ".join(f"{key} {format_number(value)}" for key, value in point["knob"].items())
                if point["features"]
                else "constant, buys nothing",
                format_mean(point["bill"]),
                format_quality(metric, point["quality"]),
                format_interval(metric, point["quality_interval"]),
                str(point["features"]),
            ]
            for point in (shown[i] for i in sorted(places))
        ],
        left=2,
    )  # fmt: skip
    if len(places) < len(shown):
        show_text(f"{len(shown) - len(places)} models in between are not shown; --json lists all.")


def show_fit(facts: dict[str, Any]) -> None:
    """Print the results of a fit: what to know first, test results, frontier, comparison.

    Parameters
    ----------
    facts : dict
        What `thrifty.report.fit_facts` returned.
    """
    from thrifty.report.spending import spending_sentences
    from thrifty.report.words import format_mean, format_quality, total_words

    settings, chosen = facts["settings"], facts["chosen"]
    metric, unit = settings["metric"], settings["unit"]
    for remark in facts["remarks"]:
        show_text(remark)
    show_settings(settings)
    echo("Test set, with 95% intervals; baselines are trained without prices:")
    show_results(facts)
    echo("Pareto frontier on the validation set (* chosen):")
    show_frontier([point for point in facts["frontier"] if not point["dominated"]], metric, unit)
    hidden = [point for point in facts["frontier"] if point["dominated"]]
    if hidden:
        point = chosen["validation"]
        why = "better than all cheaper ones, judged by labels and probabilities together"
        if settings["quality"] is not None:
            why = "the cheapest of those shown to be good enough"
        elif facts["total"] is not None:
            why = "the one with the lowest total cost of features and errors"
        elif facts["alternative"] is not None:
            why = "the strongest, as the budget excludes nothing"
        elif hidden[0]["tied"]:
            why = "ahead of all cheaper ones by less than the digits show"
        show_text(
            f"The chosen model is not on this frontier, but {why}: {chosen['learner']}, mean bill "
            f"{format_mean(point['bill'], unit)}, {metric} "
            f"{format_quality(metric, point['quality'])}"
        )
    for result in facts["learners"]:
        if result["outcome"] != "ran":
            echo(f"{result['learner']} did not run: {result['outcome']}")
    show_text(f"On the test set: {facts['comparison']}")
    if facts["total"] is not None:
        show_text(total_words(facts["total"], unit))
    for sentence in spending_sentences(facts):
        show_text(sentence)


def show_results(facts: dict[str, Any]) -> None:
    """Print bill and quality of the chosen model, the baselines and the constant on the test set.

    The last column is the saving relative to the price of all features; where errors have costs,
    the total of features and errors.
    """
    from thrifty.report.words import format_interval, format_mean, format_quality

    settings = facts["settings"]
    metric, unit, full = settings["metric"], settings["unit"], settings["full"]
    has_totals = facts["total"] is not None
    results = [
        (f"chosen: {facts['chosen']['learner']}", {**facts["test"], "total": facts["total"]}),
        *((baseline["name"], baseline) for baseline in facts["baselines"]),
        ("constant, buys nothing", facts["constant"]),
    ]

    def last(result: dict[str, Any]) -> str:
        if has_totals:
            return format_mean(result["total"]["total"])
        saving = round(100 * (1 - result["bill"] / full), 1) + 0.0 if full > 0 else None  # no -0.0
        return "-" if saving is None else f"{saving:.1f}%"

    bill = f"mean bill\n({unit})" if unit else "mean bill"
    show_table(
        ["", bill, "", in_lines(metric), "", "total" if has_totals else "saving"],
        [
            [
                name,
                format_mean(result["bill"]),
                f"[{format_mean(result['bill_low'])}, {format_mean(result['bill_high'])}]",
                format_quality(metric, result["quality"]),
                format_interval(metric, (result["quality_low"], result["quality_high"])),
                last(result),
            ]
            for name, result in results
        ],
    )
