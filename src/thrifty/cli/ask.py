"""`thrifty ask`: one example, question by question."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from thrifty.cli.console import show_json
from thrifty.errors import DataError, SourceError

if TYPE_CHECKING:
    from thrifty.serve import Interview

__all__ = ["ask"]

HELP = """\
  VALUE          the value of the feature in question ('VALUE' if it reads like a command)
  ?              it was paid for and came back empty
  skip           go on without it
  known VALUE    its value was known before, free of charge
  NAME=VALUE     the value of another feature
  others         what else could be told now
  stop           end here with the best answer so far"""


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"'{value}' is not of the form NAME=VALUE.")
    return values


@click.command(short_help="Predict one example, question by question.")
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--known", multiple=True, callback=_pairs, metavar="NAME=VALUE",
              help="A value that is at hand, free of charge; repeatable.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, the rest aside.")
def ask(model: Path, known: tuple[str, ...], as_json: bool) -> None:
    """Predict one example, question by question.

    Each question comes with its price and the best answer so far. Type a value, or 'help'. Values
    are read from standard input, a line each.
    """
    from thrifty.bundle import load
    from thrifty.cli.story import show_best, show_end, show_question
    from thrifty.serve import Interview

    predictor = load(model)
    unit = predictor.prices.unit
    interview = Interview(predictor, known)
    click.echo("type a value, ? for one that came back empty, or help", err=as_json)
    while question := interview.question:
        show_best(interview, unit, err=as_json)
        show_question(question, unit, err=as_json)
        _take(interview, _line(question.feature, as_json), unit, as_json)
    if as_json:
        show_json(_result(interview))
    else:
        show_end(interview)


def _line(feature: str | int, err: bool) -> str:
    click.echo("> ", nl=False, err=err)
    line = sys.stdin.readline()
    if not line:
        click.echo(err=err)
        raise SourceError(
            f"feature {feature!r}: the input ended before the questions did; "
            "'stop' ends them with the best answer so far"
        )
    if not sys.stdin.isatty():
        click.echo(line.rstrip("\n"), err=err)  # so that a transcript reads like a session
    return line.strip()


def _take(interview: Interview, line: str, unit: str, err: bool) -> None:
    """Do what one line says; what cannot be done is told, and the question stays."""
    from thrifty.cli.story import show_question

    word, _, rest = line.partition(" ")
    try:
        if line in ("", "help"):
            click.echo(HELP, err=err)
        elif line == "others":
            for other in interview.others:
                show_question(other, unit, err=err)
        elif line == "skip":
            interview.skip()
        elif line == "stop":
            interview.stop()
        elif word == "known" and rest:
            interview.know(*interview.pair(rest))
        else:
            interview.tell(*interview.pair(line))
    except DataError as error:
        click.echo(f"  {error}", err=True)


def _result(interview: Interview) -> dict[str, object]:
    return {
        "answer": interview.best,
        "probability": interview.probability,
        "receipt": asdict(interview.receipt),
    }
