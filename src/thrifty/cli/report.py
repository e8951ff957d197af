"""`thrifty report`: write an HTML report about a model on labeled rows."""

from __future__ import annotations

from pathlib import Path

import click

from thrifty.cli.calls import CALL
from thrifty.cli.card import BY, CARD, add_card_facts, render_card, show_groups
from thrifty.cli.console import echo, progress, show_json, show_text
from thrifty.cli.options import FILE, JSON, OutputFile, check_outputs

__all__ = ["report"]


@click.command(short_help="Write a report about a model on labeled rows.")
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("--target", required=True, metavar="COL", help="Column with the target.")
@click.option("--qid", metavar="COL", help="Column with the query ID, for ranking.")
@click.option("-o", "--output", required=True, type=OutputFile(), help="HTML page to write.")
@CALL
@CARD
@BY
@JSON
def report(
    model: Path,
    table: Path,
    target: str,
    qid: str | None,
    output: Path,
    call: str | None,
    card: Path | None,
    by: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a report about a model on labeled rows.

    MODEL is a model file, TABLE a CSV or Parquet file with the columns that it was trained on and
    the target. Use rows that the model was not trained on, or the results are too optimistic.
    """
    check_outputs([output, card], [model, table])
    from thrifty.bundle import load
    from thrifty.cli.inputs.tables import read_groups, read_labeled_rows

    predictor = load(model)
    rows = read_labeled_rows(predictor, table, target, qid, call)
    groups = read_groups(rows.table, by, table)
    with progress("evaluating"):
        from thrifty.report import predictor_facts, render_page, write_page

        title = f"{target}, predicted by {model.name}"
        facts = predictor_facts(predictor, rows, title=title, target=target, source=table.name)
        if card or by:
            add_card_facts(facts, predictor, {"test": rows}, groups)
        html, text = render_page(facts), render_card(facts, card)
    write_page(html, output)
    if card:
        write_page(text, card)
    if as_json:
        show_json({**facts, "report": str(output), "card": card and str(card)})
        return
    for remark in facts["remarks"]:
        show_text(remark)
    show_text(f"On {len(rows)} rows: {facts['comparison']}")
    show_groups(facts)
    echo(f"report: {output}" + (f"\ncard: {card}" if card else ""))
