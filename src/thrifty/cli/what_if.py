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
              help="What a case may cost at most with the other model.")  # fmt: skip
@KEY_FILE
@JSON
def what_if(
    ledger: str, model: Path, cap: float | None, key_file: Path | None, as_json: bool
) -> None:
    """Replay past cases on another model.

    Compares answers and bills of the cases of LEDGER with those that MODEL would give. LEDGER is a
    file, or the URL of a PostgreSQL database. Nothing is bought: a case is compared if it bought
    all that the other model asks for.
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
        click.echo(f"other answers: {found.changed} ({share:.1%})")
        before, after = (money(bill, unit) for bill in (found.bill_before, found.bill_after))
        click.echo(f"mean bill: {after} instead of {before}")
    if found.incomplete:
        most = max(found.lacking, key=lambda feature: found.lacking[feature])
        click.echo(
            f"not comparable: {found.incomplete}, as values were never bought, most often {most!r}"
        )
    if found.without_values:
        click.echo(f"without values: {found.without_values}, not ended or erased")
