"""The command `thrifty`: its verbs, and what becomes of errors.

A verb is imported when it is called, and what a verb needs is imported when it runs, so that help
comes at once.
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

VERBS = {
    "fit": "Learn the best predictor inside a budget.",
    "curve": "Trace what more or less money would buy.",
    "gate": "Put a cheap model before an expensive one.",
    "check": "Tell what a fit would do, without doing it.",
    "predict": "Predict the rows of a table.",
    "ask": "Predict one example, question by question.",
    "report": "Write a page about a model on labelled rows.",
    "inspect": "Tell what a model file holds.",
    "import": "Make a model file of a LightGBM or XGBoost model.",
    "demo": "Show a short tour on data that comes along.",
}
# Verbs whose modules cannot have their names.
MODULES = {"import": "import_model"}
# The first class that fits counts; whatever else goes wrong is 1.
CODES: dict[type[Exception], int] = {SourceError: 5, BudgetError: 4, DataError: 3}
FAILURE, INTERRUPTED = 1, 130


class LazyGroup(click.Group):
    """A group that knows its verbs by name and imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb."""
        if cmd_name not in VERBS:
            return None
        name = MODULES.get(cmd_name, cmd_name)
        verb: click.Command = getattr(import_module(f"thrifty.cli.{name}"), name)
        return verb

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; an error becomes one message and an exit code."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _Warner()
            try:
                return super().invoke(ctx)
            except (click.ClickException, click.exceptions.Exit, click.Abort):
                raise  # click tells these itself
            except KeyboardInterrupt:
                click.echo("\ninterrupted", err=True)
                ctx.exit(INTERRUPTED)
            except Exception as error:
                if isinstance(error, OSError) and error.errno == errno.EPIPE:
                    raise  # whoever read the output has read enough
                if ctx.params.get("debug"):
                    traceback.print_exc()
                click.echo(f"Error: {_message(error)}", err=True)
                ctx.exit(_code(error))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
@click.version_option(__version__, prog_name="thrifty")
def main(debug: bool) -> None:
    """Predictors that pay for what they look at.

    Exit codes: 0 ok, 1 failure, 2 usage, 3 bad data or prices, 4 no model meets the budget, 5 a
    source failed, 130 interrupted.
    """


def _code(error: Exception) -> int:
    return next((code for kind, code in CODES.items() if isinstance(error, kind)), FAILURE)


def _message(error: Exception) -> str:
    if isinstance(error, ThriftyError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error} (thrifty --debug ... shows where)"


class _Warner:
    """Tells a warning on stderr, once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in self._told:
            self._told.add(str(message))
            click.echo(f"Warning: {message}", err=True)
