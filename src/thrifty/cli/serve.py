"""`thrifty serve`: answer requests over HTTP."""

from __future__ import annotations

import os
from pathlib import Path

import click

from thrifty.cli.console import echo
from thrifty.cli.options import FILE, finite
from thrifty.errors import DataError

__all__ = ["serve"]

TOKEN_VARIABLE = "THRIFTY_TOKEN"
MAX_TOKEN_FILE = 4096
AMOUNT = click.FloatRange(min=0)


@click.command(short_help="Answer requests over HTTP.")
@click.argument("model", type=FILE)
@click.option("--sources", type=FILE,
              help="TOML file that declares where features come from; what no source delivers, the "
              "client is asked for.")  # fmt: skip
@click.option("--ledger", metavar="URL",
              help="Record of all cases and purchases, so that nothing is bought twice: an SQLite "
              "file, or postgresql://...; by default a temporary one.")  # fmt: skip
@click.option("--budget", type=AMOUNT, callback=finite, metavar="B",
              help="Hold the mean spend at B, with the operating points of MODEL.")  # fmt: skip
@click.option("--per-minute", type=AMOUNT, callback=finite, metavar="X",
              help="With --budget: most that the cases of one minute may spend.")  # fmt: skip
@click.option("--per-day", type=AMOUNT, callback=finite, metavar="Y",
              help="With --budget: most that the cases of one day (UTC) may spend.")  # fmt: skip
@click.option("--shadow", type=FILE, metavar="MODEL2",
              help="Replay each case on another model, without buying anything; /metrics "
              "compares.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True,
              help="Address to listen on; one that others reach needs a token.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65_535), default=8000, show_default=True)
@click.option("--token-file", type=FILE,
              help=f"File with the token of clients; by default ${TOKEN_VARIABLE}.")  # fmt: skip
@click.option("--rate", type=click.FloatRange(0, min_open=True), default=500, show_default=True,
              help="Requests per second that one client may send.")  # fmt: skip
def serve(
    model: Path,
    sources: Path | None,
    ledger: str | None,
    budget: float | None,
    per_minute: float | None,
    per_day: float | None,
    shadow: Path | None,
    host: str,
    port: int,
    token_file: Path | None,
    rate: float,
) -> None:
    """Answer requests over HTTP.

    MODEL is a model file. The server listens on this machine only, unless a token is set. It
    describes its requests at /openapi.json.
    """
    if budget is None and (per_minute is not None or per_day is not None):
        raise click.UsageError("--per-minute and --per-day need --budget.")
    try:
        import uvicorn

        from thrifty.web import Settings, create_app
    except ModuleNotFoundError as error:
        raise DataError(
            f"{error.name} is not installed: a server needs pip install 'thrifty[serve]'"
        ) from None
    from thrifty.bundle import load, load_points
    from thrifty.serve import Ledger, Pacing, Runtime, Shadow, read_sources

    settings = Settings(host=host, port=port, token=_read_token(token_file), rate=rate)
    pacing = None
    if budget is not None:
        pacing = Pacing(load_points(model), budget, per_minute, per_day)
    predictor = load(model) if pacing is None else pacing.points.predictor
    replayed = None if shadow is None else Shadow(load(shadow))
    declared = [] if sources is None else read_sources(sources)
    delivered = {feature for source in declared for feature in source.terms.features}
    schema = predictor.schema
    asked = [
        name
        for j, name in enumerate(schema.names)
        if name not in delivered and j not in schema.calls
    ]
    book = Ledger.temporary() if ledger is None else Ledger.open(ledger)
    runtime = Runtime(predictor, declared, book, asked=asked, pacing=pacing, shadow=replayed)
    app = create_app(predictor, model.stem, settings, runtime)
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, server_header=False
    )
    with config.bind_socket() as socket:
        socket.listen()  # from here on, whoever connects is answered
        where = f"[{host}]" if ":" in host else host
        echo(f"serving {model} on http://{where}:{socket.getsockname()[1]} (stop with Ctrl+C)")
        if ledger is None:
            echo("cases are kept until the server stops; --ledger FILE keeps them")
        uvicorn.Server(config).run([socket])
    book.close()


def _read_token(path: Path | None) -> str | None:
    """Return the token from a file, or from the environment; None if there is none."""
    if path is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    from thrifty.untrusted import read_file

    return read_file(path, MAX_TOKEN_FILE, DataError).decode("utf-8", "replace").strip()
