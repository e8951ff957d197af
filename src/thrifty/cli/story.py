"""The facts of a fit and the steps of a walk, printed for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.console import show_table
from thrifty.costs.money import money

if TYPE_CHECKING:
    from thrifty.serve import Interview, Question

__all__ = ["show_best", "show_end", "show_fit", "show_question"]


def show_fit(told: dict[str, Any]) -> None:
    """Print the frontier, the figures on the test rows and what they say."""
    asked, rows = told["asked"], told["asked"]["rows"]
    guessed = " (guessed)" if asked["guessed"] else ""
    click.echo(
        f"{asked['task']}{guessed}: {asked['features']} features, "
        f"{money(asked['full'], asked['unit'])} for all; {rows['train']} rows to learn from, "
        f"{rows['validation']} to choose on, {rows['test']} to report on"
    )
    columns = ["point", "mean bill", asked["metric"], "features"]
    show_table(columns, [_row(point, asked["unit"]) for point in told["frontier"]])
    click.echo(f"on the test rows: {told['headline']}")
    if not told["bought"]:
        click.echo("nothing is bought: no feature that helps fits the budget")


def show_question(question: Question, unit: str, err: bool = False) -> None:
    """Print what is asked and at what price."""
    labels = f" ({', '.join(map(str, question.labels))})" if question.labels else ""
    click.echo(f"{question.feature}{labels}, {money(question.price, unit)}", err=err)


def show_best(interview: Interview, unit: str, err: bool = False) -> None:
    """Print the best answer so far and what was spent on it."""
    spent = money(interview.receipt.total, unit)
    click.echo(f"  best so far: {_answer(interview)}; spent {spent}", err=err)


def show_end(interview: Interview) -> None:
    """Print the answer and the receipt."""
    click.echo(f"answer: {_answer(interview)}")
    click.echo(str(interview.receipt))


def _row(point: dict[str, Any], unit: str) -> list[str]:
    from thrifty.report.words import average

    knob = ", ".join(f"{key} {value:.3g}" for key, value in point["knob"].items())
    mark = " *" if point["chosen"] else ""
    return [
        f"{knob}{mark}",
        average(point["bill"], unit),
        f"{point['quality']:.4f}",
        str(point["features"]),
    ]


def _answer(interview: Interview) -> str:
    if interview.probability is None:
        return f"{interview.best:.6g}"
    return f"{interview.best} (probability {interview.probability:.2f})"
