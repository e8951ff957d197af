"""`thrifty serve`: answer requests over HTTP."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from thrifty.cli.console import echo
from thrifty.cli.options import FILE, finite
from thrifty.errors import DataError

if TYPE_CHECKING:
    from thrifty.bundle import Predictor
    from thrifty.serve import AsyncSource
    from thrifty.web.demo import Demo

__all__ = ["serve"]

TOKEN_VARIABLE = "THRIFTY_TOKEN"
MAX_TOKEN_FILE = 4096
AMOUNT = click.FloatRange(min=0)


@click.command(short_help="Answer requests over HTTP.")
@click.argument("model", type=FILE, required=False)
@click.option("--sources", type=FILE,
              help="TOML file that says where features come from; the client is asked for the "
              "rest.")  # fmt: skip
@click.option("--ledger", metavar="URL",
              help="Where to record all cases and purchases, so that nothing is bought twice: an "
              "SQLite file, or postgresql://...; by default a temporary file.")  # fmt: skip
@click.option("--budget", type=AMOUNT, callback=finite, metavar="B",
              help="Keep mean spending per case at B, by choosing among the operating points of "
              "MODEL.")  # fmt: skip
@click.option("--per-minute", type=AMOUNT, callback=finite, metavar="X",
              help="With --budget: most that all cases of one minute may spend "
              "together.")  # fmt: skip
@click.option("--per-day", type=AMOUNT, callback=finite, metavar="Y",
              help="With --budget: most that all cases of one day (UTC) may spend "
              "together.")  # fmt: skip
@click.option("--shadow", type=FILE, metavar="MODEL2",
              help="Replay each case on another model, without buying anything; /metrics compares "
              "the two.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True,
              help="Address to listen on; one that other machines can reach needs a "
              "token.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65_535), default=8000, show_default=True,
              help="Port to listen on; 0 picks a free one.")  # fmt: skip
@click.option("--token-file", type=FILE,
              help="File with the token that clients must send; by default "
              f"${TOKEN_VARIABLE}.")  # fmt: skip
@click.option("--demo", is_flag=True,
              help="Serve a built-in model, with simulated vendors on this machine: a slow one, a "
              "flaky one, and one that sometimes does not answer.")  # fmt: skip
@click.option("--expire-days", type=click.FloatRange(0, min_open=True), callback=finite, default=7,
              show_default=True, metavar="N",
              help="End a case with its best answer so far if its client does not answer for N "
              "days.")  # fmt: skip
@click.option("--rate", type=click.FloatRange(0, min_open=True), default=500, show_default=True,
              help="Requests per second allowed for each client.")  # fmt: skip
def serve(
    model: Path | None,
    sources: Path | None,
    ledger: str | None,
    budget: float | None,
    per_minute: float | None,
    per_day: float | None,
    shadow: Path | None,
    host: str,
    port: int,
    token_file: Path | None,
    demo: bool,
    expire_days: float,
    rate: float,
) -> None:
    """Answer requests over HTTP.

    MODEL is a model file. Only this machine can reach the server, unless --host and a token are
    set. It has a web page at /, and documents its requests at /docs and /openapi.json.
    """
    _check_usage(model, sources, demo, budget, per_minute, per_day)
    try:
        import uvicorn

        from thrifty.web import Settings, create_app
    except ModuleNotFoundError as error:
        raise DataError(
            f"{error.name} is not installed: a server needs pip install 'thrifty[serve]'"
        ) from None
    from thrifty.bundle import load, load_points
    from thrifty.serve import Ledger, Pacing, Runtime, Shadow, read_sources
    from thrifty.web.demo import demonstration

    settings = Settings(host, port, _read_token(token_file), rate=rate, expire_days=expire_days)
    # When uvicorn has stopped, it raises the signal again: what was opened here is closed then.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    with ExitStack() as stack:
        shown = stack.enter_context(demonstration()) if demo else None
        if shown is not None:
            model, sources = shown.model, shown.sources
        assert model is not None
        points = load_points(model)
        pacing = None if budget is None else Pacing(points, budget, per_minute, per_day)
        declared = [] if sources is None else read_sources(sources)
        book = stack.enter_context(Ledger.temporary() if ledger is None else Ledger.open(ledger))
        runtime = Runtime(
            points.predictor, declared, book, asked=_undelivered(points.predictor, declared),
            pacing=pacing, shadow=None if shadow is None else Shadow(load(shadow)),
        )  # fmt: skip
        app = create_app(points.predictor, model.stem, settings, runtime, points)
        config = uvicorn.Config(
            app, host=host, port=port, log_level="warning", access_log=False, server_header=False
        )
        socket = stack.enter_context(config.bind_socket())
        socket.listen()  # from here on, whoever connects is answered
        where = f"[{host}]" if ":" in host else host
        url = f"http://{where}:{socket.getsockname()[1]}"
        echo(f"serving {'a demonstration' if demo else model} on {url} (stop with Ctrl+C)")
        if ledger is None:
            echo("cases are lost when the server stops; --ledger FILE keeps them")
        if shown is not None:
            _show_demo(shown, url)
        uvicorn.Server(config).run([socket])


def _check_usage(
    model: Path | None,
    sources: Path | None,
    demo: bool,
    budget: float | None,
    per_minute: float | None,
    per_day: float | None,
) -> None:
    """Check that the options fit each other."""
    if budget is None and (per_minute is not None or per_day is not None):
        raise click.UsageError("--per-minute and --per-day need --budget.")
    if demo and (model or sources or budget is not None):
        raise click.UsageError(
            "--demo has its own model and sources; leave out MODEL, --sources and --budget."
        )
    if model is None and not demo:
        raise click.UsageError("Missing argument 'MODEL'; or try --demo.")


def _undelivered(predictor: Predictor, sources: Sequence[AsyncSource]) -> list[str | int]:
    """Return the features that no source delivers: the client is asked for them."""
    schema = predictor.schema
    elsewhere = {schema.names[j] for j in schema.calls}
    elsewhere |= {feature for source in sources for feature in source.terms.features}
    return [name for name in schema.names if name not in elsewhere]


def _show_demo(demo: Demo, url: str) -> None:
    """Print what to try."""
    echo(
        f"""
Does a patient have heart disease? Patients are p0 to p919. What a case needs is bought from three
vendors on {demo.url}: a slow laboratory, a flaky cardiology department, and an
imaging center that does not answer for every fifth patient. You are asked for age, sex, chest pain
and blood pressure. Prices are in Canadian dollars. The vendors are declared in {demo.sources}

Open {url}/ in a browser, or try:

curl {url}/v1/model
curl {url}/v1/next -d '{{"known": {{"cp": 4}}}}'"""
    )
    cases: list[dict[str, object]] = [
        {"id": "visit-1", "context": {"patient": "p7"}},
        {"id": "visit-2", "context": {"patient": "p7"}, "known": demo.told("p7")},
        {"id": "visit-3", "context": {"patient": "p0"}, "known": demo.told("p0")},
        {"id": "visit-4", "context": {"patient": "p0"}, "known": demo.told("p0"), "cap": 100},
    ]
    for case in cases:
        echo(f"curl {url}/v1/cases -d '{json.dumps(case)}'")
    echo(
        f"""curl {url}/metrics

The first case waits for you: send what it asks for to /v1/cases/CASE/values, where CASE is the
"case" of its answer. In the third, the imaging center does not answer; the fourth stops at its cap.
Sending a case again under the same id costs nothing."""
    )


def _read_token(path: Path | None) -> str | None:
    """Return the token from a file, or from the environment; None if there is none."""
    if path is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    from thrifty.untrusted import read_file

    return read_file(path, MAX_TOKEN_FILE, DataError).decode("utf-8", "replace").strip()
