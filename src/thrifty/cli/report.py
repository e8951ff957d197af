"""`thrifty report`: a model and rows with their truth in, a page about it out."""

from __future__ import annotations

from pathlib import Path

import click

from thrifty.cli.console import progress, show_json
from thrifty.cli.options import FILE
from thrifty.cli.outputs import OutputFile, refuse_overwriting

__all__ = ["report"]


@click.command(short_help="Write a page about a model on labelled rows.")
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("--target", required=True, metavar="COL", help="The column with the truth.")
@click.option("--qid", metavar="COL", help="The column that names the query, for ranking.")
@click.option("-o", "--output", required=True, type=OutputFile(), help="Page to write, HTML.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def report(
    model: Path, table: Path, target: str, qid: str | None, output: Path, as_json: bool
) -> None:
    """Write a page about a model on labelled rows.

    MODEL is a file that `thrifty fit` wrote, TABLE a CSV or Parquet file with the same columns and
    the truth. What the page tells is honest if no row of TABLE was learnt from.
    """
    refuse_overwriting([output], [model, table])
    from thrifty.bundle import load
    from thrifty.cli.tables import read_labelled

    predictor = load(model)
    rows = read_labelled(predictor, table, target, qid)
    with progress("measuring"):
        from thrifty.report import facts_of, page, write

        told = facts_of(
            predictor,
            rows,
            title=f"{target}, told by {model.name}",
            target=target,
            source=table.name,
        )
        html = page(told)
    write(html, output)
    if as_json:
        show_json({**told, "report": str(output)})
    else:
        click.echo(f"on {len(rows)} rows: {told['headline']}\nreport: {output}")
