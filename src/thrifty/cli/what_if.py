"""`thrifty what-if`: replay the cases of a ledger on another model."""

from __future__ import annotations

from pathlib import Path

import click

from thrifty.cli.console import show_json
from thrifty.cli.ledger import KEY_FILE
from thrifty.cli.options import FILE, JSON, finite

__all__ = ["what_if"]


@click.command(short_help="Replay past cases on another model.")
@click.argument("ledger")
@click.argument("model", type=FILE)
@click.option("--cap", type=click.FloatRange(min=0), callback=finite, metavar="C",
              help="Most that a case may cost with MODEL.")  # fmt: skip
@KEY_FILE
@JSON
def what_if(
    ledger: str, model: Path, cap: float | None, key_file: Path | None, as_json: bool
) -> None:
    """Replay past cases on another model.

    Compares the answers and bills of the cases in LEDGER with those that MODEL would give. LEDGER
    is an SQLite file, or the URL of a PostgreSQL database. Nothing is bought: only cases that have
    all values that MODEL asks for are compared.
    """
    from thrifty.bundle import load
    from thrifty.costs.money import money
    from thrifty.serve import Ledger
    from thrifty.serve import what_if as replay

    predictor = load(model)
    with Ledger.open(ledger, key_file, create=False) as opened:
        found = replay(opened.cases(), predictor, cap)
    facts = {
        "replayed": len(found.replayed),
        "changed": found.changed,
        "bill_before": found.bill_before,
        "bill_after": found.bill_after,
        "spent_before": sum(case.spent_before for case in found.replayed),
        "incomplete": found.incomplete,
        "lacking": {str(feature): n for feature, n in found.lacking.items()},
        "without_values": found.without_values,
        "unit": predictor.prices.unit,
    }
    if as_json:
        show_json(facts)
        return
    unit = predictor.prices.unit
    click.echo(f"cases replayed: {facts['replayed']}")
    if found.replayed:
        share = found.changed / len(found.replayed)
        click.echo(f"different answers: {found.changed} ({share:.1%})")
        before, after = (money(bill, unit) for bill in (found.bill_before, found.bill_after))
        click.echo(f"mean bill: {after} instead of {before}")
    if found.incomplete:
        most = max(found.lacking, key=lambda feature: found.lacking[feature])
        click.echo(f"not comparable: {found.incomplete}, for lack of values, most often {most!r}")
    if found.without_values:
        click.echo(f"without values: {found.without_values}, still open or erased")
