"""The command `thrifty`: its subcommands, and how errors become messages and exit codes.

A subcommand is imported when it is called, and what it needs is imported when it runs, so that
help is fast.
"""

from __future__ import annotations

import errno
import traceback
import warnings
from importlib import import_module
from typing import Any

import click

from thrifty import __version__
from thrifty.errors import BudgetError, DataError, SourceError, ThriftyError

__all__ = ["main"]

COMMANDS = {
    "fit": "Train the best model within a budget.",
    "curve": "Trace the cost/quality curve.",
    "gate": "Train a cheap model in front of an expensive one.",
    "check": "Check the inputs of a fit and estimate its duration.",
    "predict": "Predict the rows of a table.",
    "ask": "Predict one example interactively.",
    "report": "Write a report about a model on labeled rows.",
    "inspect": "Show what a model file contains.",
    "import": "Convert a LightGBM or XGBoost model to a model file.",
    "ledger": "Look after the record of purchases.",
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

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn an error into one message on stderr and an exit code."""
        seen: set[str] = set()

        def show_once(message: Warning | str, *_: Any, **__: Any) -> None:
            if str(message) not in seen:
                seen.add(str(message))
                click.echo(f"Warning: {message}", err=True)

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show_once
            try:
                return super().invoke(ctx)
            except (click.ClickException, click.exceptions.Exit, click.Abort):
                raise  # click reports these itself
            except KeyboardInterrupt:
                click.echo("\ninterrupted", err=True)
                ctx.exit(INTERRUPTED)
            except Exception as error:
                if isinstance(error, OSError) and error.errno == errno.EPIPE:
                    raise  # the reader of our output has closed the pipe
                if ctx.params.get("debug"):
                    traceback.print_exc()
                message = f"{type(error).__name__}: {error} (thrifty --debug ... shows where)"
                if isinstance(error, ThriftyError):
                    message = str(error)
                elif isinstance(error, OSError) and error.strerror:
                    where = f": {error.filename}" if error.filename else ""
                    message = f"{error.strerror}{where}"
                click.echo(f"Error: {message}", err=True)
                codes = [code for kind, code in EXIT_CODES.items() if isinstance(error, kind)]
                ctx.exit(codes[0] if codes else FAILURE)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, prog_name="thrifty")
def main(debug: bool) -> None:
    """Prediction under a feature-cost budget.

    Exit codes: 0 success, 1 failure, 2 usage error, 3 bad data or prices, 4 no model meets the
    budget or the quality, 5 a source failed, 130 interrupted.
    """
