"""`thrifty ledger`: look after the record of purchases."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

import click

from thrifty.cli.console import show_json, show_table
from thrifty.cli.options import JSON, OutputFile, finite

__all__ = ["KEY_FILE", "ledger"]

KEY_FILE = click.option(
    "--key-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the key of the ledger; by default the variable THRIFTY_LEDGER_KEY, or the "
    "file next to the ledger.",
)
DAYS = click.FloatRange(min=0)


@click.group(short_help="Maintain the record of purchases.")
def ledger() -> None:
    """Maintain the record of purchases.

    LEDGER is an SQLite file, or the URL of a PostgreSQL database.
    """


@ledger.command(name="open")
@click.argument("ledger")
@click.option("--assume-paid", is_flag=True, help="Record abandoned purchases as paid.")
@KEY_FILE
@JSON
def open_(ledger: str, assume_paid: bool, key_file: Path | None, as_json: bool) -> None:
    """List purchases that were started but not settled.

    A purchase whose time is up was abandoned: its process has died.
    """
    from thrifty.costs.money import money
    from thrifty.serve import Ledger

    with Ledger.open(ledger, key_file, create=False) as opened:
        resolved = opened.recover() if assume_paid else []
        entries = opened.open_purchases()
    now = time.time()
    if as_json:
        plain = [
            {"case": e.case, "item": e.item, "owner": e.owner, "quoted": e.quoted,
             "seconds": now - e.intent_at, "abandoned": e.expires_at <= now}
            for e in entries
        ]  # fmt: skip
        show_json({"open": plain, "assumed_paid": len(resolved)})
        return
    if resolved:
        total = money(sum(entry.quoted for entry in resolved))
        click.echo(f"purchases recorded as paid: {len(resolved)}, for {total}")
    rows = [
        (e.item, e.case[:12], money(e.quoted), f"{now - e.intent_at:.0f} s",
         "abandoned" if e.expires_at <= now else "under way")
        for e in entries
    ]  # fmt: skip
    if rows:
        show_table(["item", "case", "quoted", "age", ""], rows, left=2)
    else:
        click.echo("no open purchases")


@ledger.command()
@click.argument("ledger")
@click.option("-o", "--output", type=OutputFile(), required=True, help="File to write.")
@click.option("--no-values", is_flag=True, help="Leave out values and answers.")
@KEY_FILE
def export(ledger: str, output: Path, no_values: bool, key_file: Path | None) -> None:
    """Write all cases with their purchases, one JSON object per line.

    IDs are keyed hashes, as in the ledger.
    """
    from thrifty.files import write_whole
    from thrifty.serve import Ledger

    lines = []
    with Ledger.open(ledger, key_file, create=False) as opened:
        for row, entries in opened.cases():
            case = asdict(row)
            case["purchases"] = [asdict(entry) for entry in entries]
            if no_values:
                case["header"]["known"] = None
                if case["ending"] is not None:
                    case["ending"]["answer"] = None
                for purchase in case["purchases"]:
                    purchase["values"] = None
            lines.append(json.dumps(case, ensure_ascii=False) + "\n")
    write_whole(output, "".join(lines).encode())
    click.echo(f"cases written to {output}: {len(lines)}")


@ledger.command()
@click.argument("ledger")
@click.option("--values-days", type=DAYS, callback=finite, metavar="N",
              help="Erase values and answers older than N days.")  # fmt: skip
@click.option("--cases-days", type=DAYS, callback=finite, metavar="N",
              help="Delete cases older than N days, with their purchases.")  # fmt: skip
@KEY_FILE
def retain(
    ledger: str, values_days: float | None, cases_days: float | None, key_file: Path | None
) -> None:
    """Erase old values and delete old cases.

    Cases with open purchases are kept.
    """
    from thrifty.serve import Ledger

    if values_days is None and cases_days is None:
        raise click.UsageError("Give --values-days, --cases-days or both.")
    with Ledger.open(ledger, key_file, create=False) as opened:
        n_values, n_cases = opened.retain(values_days, cases_days)
    click.echo(f"purchases whose values were erased: {n_values}; cases deleted: {n_cases}")
