"""The option --call: the expensive model of a gate whose file does not contain it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.errors import DataError

if TYPE_CHECKING:
    from thrifty.bundle import Predictor

__all__ = ["CALL", "complete_table", "connect_for", "connect_model", "load_expensive"]

CALL = click.option(
    "--call", metavar="URL|FILE",
    help="Expensive model of a gate that does not contain it: the URL of a server, or a model "
    "file.",
)  # fmt: skip


def load_expensive(path: Path, option: str) -> Predictor:
    """Load a predictor from a model file of Thrifty, LightGBM or XGBoost."""
    if not path.is_file():
        # It may be meant as a URL with secrets.
        shown = "***" if set("@?=") & set(str(path)) else path
        raise click.UsageError(f"{option}: there is no file '{shown}' (URLs start with http).")
    from thrifty.bundle import load

    with open(path, "rb") as file:
        is_archive = file.read(2) == b"PK"  # our own files are zip archives
    if is_archive:
        return load(path)
    from thrifty.learn.adopt import adopt

    return adopt(path)


def connect_model(predictor: Predictor, call: str | None) -> Predictor:
    """Return the predictor with its calls made by the model of --call; as it is without one."""
    if call is None:
        return predictor
    from thrifty.serve.calls import connect

    target: Any = call if "://" in call else load_expensive(Path(call), "--call")
    connected = connect(predictor, target)
    if connected is predictor:
        raise click.UsageError("--call: this model makes no calls; omit it.")
    return connected


def complete_table(predictor: Predictor, call: str | None, table: Any) -> Any:
    """Return a table with the results of all calls that its rows need.

    Raises
    ------
    DataError
        If there are neither results nor a model to call; the message says what to do.
    """
    caller = connect_for(predictor, call, table.columns).caller
    return table if caller is None else caller.complete(table)


def connect_for(predictor: Predictor, call: str | None, columns: Iterable[Any]) -> Predictor:
    """Return the predictor as a table with these columns needs it: with its calls, or without.

    Results that the table has already are used as they are, and nothing is sent. Rows go only to a
    server that the user names: a model file may come from anyone.

    Raises
    ------
    DataError
        If there are neither results nor a model to call; the message says what to do.
    """
    from thrifty.serve.calls import result_columns, stored_url

    results = result_columns(predictor)
    if set(results) <= set(columns):
        if call is not None:
            raise click.UsageError("--call: no row of this table needs a call; omit it.")
        return predictor
    connected = connect_model(predictor, call)
    if connected.caller is None:
        url = stored_url(predictor)
        raise DataError(
            "this gate sends some rows to an expensive model that is not in its file. Say which "
            f"server to call, --call {url or 'URL'}{', as in training' if url else ''}; or which "
            "model file, --call FILE; or add its class probabilities to the table, as the columns "
            f"{', '.join(map(repr, results))}"
        )
    return connected
