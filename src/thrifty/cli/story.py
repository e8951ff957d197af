"""The facts of a fit and the steps of a walk, printed for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.console import show_table
from thrifty.costs.money import money

if TYPE_CHECKING:
    from thrifty.serve import Interview, Question

__all__ = ["show_best", "show_end", "show_fit", "show_frontier", "show_question", "show_task"]


def show_fit(told: dict[str, Any]) -> None:
    """Print the savings, the frontier, and what the figures on the test rows say."""
    asked = told["asked"]
    show_task(asked)
    _show_savings(told)
    click.echo("On the rows to choose on, the points that no other beats:")
    show_frontier(told["frontier"], asked["metric"], asked["unit"])
    for lap in told["laps"]:
        if lap["outcome"] != "ran":
            click.echo(f"{lap['learner']} did not run: {lap['outcome']}")
    click.echo(f"on the test rows: {told['headline']}")
    if not told["bought"]:
        click.echo("nothing is bought: no feature that helps fits the budget")


def show_task(asked: dict[str, Any]) -> None:
    """Print what there is to predict, and from what."""
    rows, guessed = asked["rows"], " (guessed)" if asked["guessed"] else ""
    click.echo(
        f"{asked['task']}{guessed}: {asked['features']} features, "
        f"{money(asked['full'], asked['unit'])} for all; {rows['train']} rows to learn from, "
        f"{rows['validation']} to choose on, {rows['test']} to report on"
    )


def show_frontier(points: Sequence[dict[str, Any]], metric: str, unit: str) -> None:
    """Print points of a frontier; a star marks the chosen one."""
    show_table(
        ["learner", "knob", "mean bill", metric, "features"],
        [_row(point, unit) for point in points],
        left=2,
    )


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


def _show_savings(told: dict[str, Any]) -> None:
    """Print what the choice saves on the test rows, against doing without prices."""
    from thrifty.report.words import average

    chosen, others = told["chosen"]["test"], told["baselines"]
    full = others[0]["bill"]
    named = [("chosen: " + told["chosen"]["learner"], chosen), *((o["name"], o) for o in others)]
    click.echo("On the test rows, against doing without prices:")
    show_table(
        ["", "mean bill", told["asked"]["metric"], "saving"],
        [
            [name, average(figures["bill"], told["asked"]["unit"]), f"{figures['quality']:.4f}",
             _saving(figures["bill"], full)]
            for name, figures in named
        ],
    )  # fmt: skip


def _saving(bill: float, full: float) -> str:
    return f"{100 * (1 - bill / full):.1f} %" if full > 0 else "-"


def _row(point: dict[str, Any], unit: str) -> list[str]:
    from thrifty.report.words import average

    knob = ", ".join(f"{key} {_short(value)}" for key, value in point["knob"].items())
    mark = " *" if point.get("chosen") else ""
    return [
        f"{point['learner']}{mark}",
        knob,
        average(point["bill"], unit),
        f"{point['quality']:.4f}",
        str(point["features"]),
    ]


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _answer(interview: Interview) -> str:
    if interview.probability is None:
        return f"{interview.best:.6g}"
    return f"{interview.best} (probability {interview.probability:.2f})"
