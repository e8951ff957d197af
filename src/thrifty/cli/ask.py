"""`thrifty ask`: predict one example interactively, one question at a time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from thrifty.cli.calls import CALL, connect_model
from thrifty.cli.console import echo, show_json, show_text
from thrifty.cli.options import FILE
from thrifty.errors import DataError, SourceError
from thrifty.untrusted import escaped

if TYPE_CHECKING:
    from thrifty.bundle import Reason
    from thrifty.serve import Interview, Question

__all__ = ["ask", "format_prediction", "format_question", "format_reason"]

HELP = """\
  VALUE          value of the requested feature ('VALUE' if it looks like a command)
  ?              the feature was paid for, but its value is missing
  skip           continue without this feature
  known VALUE    the value was known before, free of charge
  NAME=VALUE     value of another feature
  others         list the other features that can be given now
  stop           stop here with the best prediction so far"""


@click.command(short_help="Predict one example interactively.")
@click.argument("model", type=FILE)
@click.option("--known", multiple=True, metavar="NAME=VALUE",
              help="A value that is known already, free of charge; repeatable.")  # fmt: skip
@CALL
@click.option("--json", "as_json", is_flag=True,
              help="Print the result as JSON and the questions on stderr.")  # fmt: skip
def ask(model: Path, known: tuple[str, ...], call: str | None, as_json: bool) -> None:
    """Predict one example interactively.

    Requests one feature at a time, with its price, why it is requested, and the best prediction so
    far. Answers are read from standard input, one per line; 'help' lists what can be typed.
    """
    for pair in known:
        if "=" not in pair:
            raise click.BadParameter(f"'{pair}' is not NAME=VALUE.", param_hint="--known")
    from thrifty.bundle import load
    from thrifty.costs.money import money
    from thrifty.serve import Interview

    predictor = connect_model(load(model), call)
    unit = predictor.prices.unit
    interview = Interview(predictor, known)
    echo("Type a value, ? if it is missing, or help.", err=as_json)
    explained: tuple[str | int, ...] = ()
    _show_remarks(interview, 0, as_json)
    while question := interview.question:
        spent = money(interview.receipt.total, unit)
        best = f"best so far: {format_prediction(interview)}; spent {spent}"
        show_text(best, "  ", err=as_json)
        why = interview.why
        if why is not None and question.feature not in explained:
            explained = why.features
            show_text(f"why: {format_reason(why, unit)}", "  ", err=as_json)
        echo(f"{format_question(question, unit)}\n> ", nl=False, err=as_json)
        line = sys.stdin.readline()
        if not line:
            echo(err=as_json)
            raise SourceError(
                f"feature {question.feature!r}: the input ended too early; "
                "'stop' stops with the best prediction so far"
            )
        if not sys.stdin.isatty():
            echo(line.rstrip("\n"), err=as_json)  # a transcript reads like a session
        count = len(interview.remarks)
        try:
            _execute(interview, line.strip(), unit, as_json)
        except DataError as error:
            echo(f"  {error}", err=True)  # and the question is repeated
        _show_remarks(interview, count, as_json)
    if as_json:
        show_json(
            {
                "prediction": interview.best,
                "probability": interview.probability,
                "interval": interview.interval,
                "receipt": interview.receipt.to_dict(),
                "remarks": list(interview.remarks),
            }
        )
    else:
        echo(f"prediction: {format_prediction(interview)}\n{interview.receipt}")


def _show_remarks(interview: Interview, count: int, err: bool) -> None:
    """Print the remarks after the first `count`."""
    for remark in interview.remarks[count:]:
        show_text(f"note: {remark}", "  ", err=err)


def _execute(interview: Interview, line: str, unit: str, err: bool) -> None:
    """Execute one line of input: a command, or a value that the interview takes."""
    word, _, rest = line.partition(" ")
    if line in ("", "help"):
        echo(HELP, err=err)
    elif line == "others":
        for question in interview.others:
            echo(format_question(question, unit), err=err)
        if not interview.others:
            echo("  no other feature is requested now", err=err)
    elif line == "skip":
        interview.skip()
    elif line == "stop":
        interview.stop()
    elif word == "known" and rest:
        interview.know(*interview.pair(rest))
    else:
        interview.tell(*interview.pair(line))


def format_question(question: Question, unit: str) -> str:
    """Format a requested feature: its name, its labels if it has any, and its price."""
    from thrifty.costs.money import money

    labels = f" ({', '.join(map(str, question.labels))})" if question.labels else ""
    return escaped(f"{question.feature}{labels}, {money(question.price, unit)}")


def format_reason(why: Reason, unit: str) -> str:
    """Format why a question is asked; features that are bought together come first."""
    from thrifty.costs.money import money

    if len(why.features) == 1:
        return escaped(why.text)
    together = ", ".join(map(str, why.features))
    return escaped(f"{together} together ({money(why.price, unit)}): {why.text}")


def format_prediction(interview: Interview) -> str:
    """Format the best prediction so far, with its probability and interval if there are any."""
    best, digits, details = escaped(f"{interview.best}"), ".2f", []
    if interview.probability is None:
        best, digits = f"{interview.best:.6g}", ".6g"
    else:
        details.append(f"probability {interview.probability:.2f}")
    if interview.interval is not None:
        low, high = interview.interval
        details.append(f"95% interval {low:{digits}} to {high:{digits}}")
    return f"{best} ({', '.join(details)})" if details else best
