"""The options for model cards, which `fit` and `report` share, and what they write and print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thrifty.cli.console import show_text
from thrifty.cli.options import OutputFile

__all__ = ["BY", "CARD", "add_card_facts", "render_card", "show_groups"]

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


def add_card_facts(
    facts: dict[str, Any], predictor: Any, sets: dict[str, Any], groups: dict[str, Any]
) -> None:
    """Add to the facts what a card needs; the values of `groups` are those of all rows."""
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
            show_text(sentence)
