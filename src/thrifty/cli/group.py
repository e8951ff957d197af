"""The command `thrifty`: its subcommands, and how errors become messages and exit codes.

A subcommand is imported when it is called, and what it needs is imported when it runs, so that
help is fast.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

import click

from thrifty import __version__
from thrifty.cli.console import echo
from thrifty.errors import BudgetError, DataError, SourceError, ThriftyError

__all__ = ["main"]

COMMANDS = {
    "fit": "Train the best model within a budget.",
    "curve": "Trace the cost/quality curve.",
    "gate": "Train a cheap model in front of an expensive one.",
    "check": "Check the inputs of a fit and estimate its duration.",
    "predict": "Predict the rows of a table.",
    "ask": "Predict one example interactively.",
    "serve": "Answer requests over HTTP.",
    "report": "Write a report about a model on labeled rows.",
    "inspect": "Show what a model file contains.",
    "import": "Convert a LightGBM or XGBoost model to a model file.",
    "ledger": "Maintain the record of purchases.",
    "what-if": "Replay past cases on another model.",
    "demo": "Run a short tour on a built-in data set.",
}
# Commands whose name cannot be the name of a module.
MODULES = {"import": "import_model", "what-if": "what_if"}
# The first class that matches counts.
EXIT_CODES: dict[type[Exception], int] = {SourceError: 5, BudgetError: 4, DataError: 3}
FAILURE, INTERRUPTED = 1, 130


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        name = MODULES.get(cmd_name, cmd_name)
        command: click.Command = getattr(import_module(f"thrifty.cli.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run as a program of its own; Ctrl-C while it is ending ends it at once, silently."""
        try:
            return super().__call__(*args, **kwargs)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_DFL)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program; an error in printing its own help is reported like those of commands."""
        try:
            return super().main(*args, **extra)
        except OSError as error:
            _show_error(_describe(error))
            sys.exit(FAILURE)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn an error into one message on stderr and an exit code."""
        seen: set[str] = set()

        def show_once(message: Warning | str, *_: Any, **__: Any) -> None:
            if str(message) not in seen:
                seen.add(str(message))
                echo(f"Warning: {message}", err=True)

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show_once
            try:
                return super().invoke(ctx)
            except (click.ClickException, click.exceptions.Exit, click.Abort):
                raise  # click reports these itself
            except (KeyboardInterrupt, Exception) as error:
                if _is_interrupt(error):
                    echo("\ninterrupted", err=True)
                    ctx.exit(INTERRUPTED)
                if isinstance(error, OSError) and error.errno == errno.EPIPE:
                    raise  # the reader of our output has closed the pipe
                if ctx.params.get("debug"):
                    traceback.print_exc()
                message = f"{type(error).__name__}: {error} (thrifty --debug ... shows where)"
                if isinstance(error, ThriftyError):
                    message = str(error)
                elif isinstance(error, OSError) and error.strerror:
                    message = _describe(error)
                _show_error(message)
                codes = [code for kind, code in EXIT_CODES.items() if isinstance(error, kind)]
                ctx.exit(codes[0] if codes else FAILURE)


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is Ctrl-C, or came up while that ended something, such as a zip."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _describe(error: OSError) -> str:
    """Return what went wrong with which file, or with standard output."""
    if _is_broken(sys.stdout):
        return f"cannot write to standard output: {error.strerror}"
    return f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)


def _show_error(message: str) -> None:
    """Print an error on stderr, unless that is broken, too."""
    with suppress(OSError):
        echo(f"Error: {message}", err=True)
    _is_broken(sys.stderr)


def _is_broken(stream: IO[str] | None) -> bool:
    """Return whether a stream cannot take what was printed, as its disk is full; end it if so.

    Otherwise Python tries once more at exit, and ends with a message and an exit code of its own.
    """
    if stream is None:  # it was closed before the start
        return False
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return True
    return False


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, prog_name="thrifty")
def main(debug: bool) -> None:
    """Prediction under a feature-cost budget.

    Exit codes: 0 success, 1 failure, 2 usage error, 3 bad data or prices, 4 no model meets the
    budget or the quality, 5 a source failed, 130 interrupted.
    """
