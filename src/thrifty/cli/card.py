"""The options for model cards, which `fit` and `report` share, and what they write and print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from thrifty.cli.console import echo
from thrifty.cli.options import OutputFile
from thrifty.errors import DataError, did_you_mean, raise_all

__all__ = ["BY", "CARD", "add_card_facts", "read_groups", "render_card", "show_groups"]

SUFFIXES = {".md": False, ".html": True}


def _check_suffix(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Reject a file that is neither Markdown nor HTML."""
    if value is not None and value.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(f"'{value}' must end in .md or .html.")
    return value


CARD = click.option(
    "--card", type=OutputFile(), callback=_check_suffix, help="Model card to write, .md or .html."
)
BY = click.option(
    "--by", multiple=True, metavar="COL",
    help="Column whose groups are compared by error and cost, such as sex; repeatable.",
)  # fmt: skip


def read_groups(path: Path, by: Sequence[str], kept: Any = None) -> dict[str, Any]:
    """Read the columns to compare groups by; of some rows only if it says which are kept.

    Raises
    ------
    DataError
        If a column does not exist, or has too many values.
    """
    if not by:
        return {}
    from thrifty.cli.tables import read_table
    from thrifty.report.fairness import group_rows

    frame, problems = read_table(path), []
    for name in dict.fromkeys(by):
        if name not in frame.columns:
            problems.append(f"there is no column {name!r}{did_you_mean(name, frame.columns)}")
            continue
        try:
            group_rows(frame[name], name)
        except DataError as error:
            problems.append(str(error))
    raise_all(DataError, f"{path}, --by", problems)
    rows = slice(None) if kept is None else kept
    return {name: frame[name].to_numpy()[rows] for name in dict.fromkeys(by)}


def add_card_facts(
    facts: dict[str, Any], predictor: Any, sets: dict[str, Any], groups: dict[str, Any]
) -> None:
    """Add to the facts what a card needs; the values of `groups` are those of the whole table."""
    from thrifty.report import card_facts

    test = sets["test"]
    by = {name: values[test.positions] for name, values in groups.items()}
    facts |= card_facts(predictor, sets, by=by)


def render_card(facts: dict[str, Any], card: Path | None) -> str:
    """Render a card in the form that its file name asks for; without a file nothing."""
    if card is None:
        return ""
    from thrifty.report import model_card

    return model_card(facts, html=SUFFIXES[card.suffix.lower()])


def show_groups(facts: dict[str, Any]) -> None:
    """Print where groups differ by more than noise."""
    for entry in facts.get("by", []):
        nothing = [f"By {entry['column']}: no difference beyond noise."]
        for sentence in entry["differences"] or nothing:
            echo(sentence)
