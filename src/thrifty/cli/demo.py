"""`thrifty demo`: a tour on data that comes with scikit-learn, with prices made up for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from thrifty.cli.console import progress

if TYPE_CHECKING:
    from thrifty.frontier import BudgetFit

__all__ = ["demo"]

MINUTES = 10.0
CLASSES = ("malignant", "benign")
FILES = ("model.thrifty", "report.html", "curve.svg")


@click.command(short_help="Show a short tour on data that comes along.")
@click.option("-o", "--output", default="thrifty-demo", show_default=True, metavar="FOLDER",
              type=click.Path(file_okay=False, path_type=Path),
              help="Folder for the model, the report and the curve.")  # fmt: skip
def demo(output: Path) -> None:
    """Show a short tour on data that comes along.

    Learns to tell benign from malignant cells with 10 minutes of measuring on average, shows what
    that saves and the curve, saves the model and a report, and walks through one example.
    """
    output.mkdir(parents=True, exist_ok=True)
    click.echo(
        "Breast cancer Wisconsin: 569 samples, 30 measurements on an image of cells.\n"
        "The prices, in minutes of measuring, are made up for this tour.\n"
    )
    from thrifty.cli.curve import picture
    from thrifty.cli.story import show_fit
    from thrifty.files import write_whole

    with progress("learning; the first time compiles the engine"):
        from thrifty.report import facts, page, write

        found, note = _learn()
        told = facts(found, title="Breast cancer under a budget", target="diagnosis", note=note,
                     source="the breast cancer table of scikit-learn")  # fmt: skip
        html, drawn = page(told), picture(found.curve, "svg")
    show_fit(told)
    model, report, curve = (output / name for name in FILES)
    found.predictor.save(model)
    write(html, report)
    write_whole(curve, drawn)
    click.echo(f"model: {model}\nreport: {report}\ncurve: {curve}\n")
    _walk(found)
    click.echo(f"\nYour turn: thrifty ask {model}")


def _learn() -> tuple[BudgetFit, str]:
    import numpy as np

    from thrifty.data import breast_cancer
    from thrifty.frontier import fit_budget

    table = breast_cancer()
    y = np.array(CLASSES)[table.y]
    found = fit_budget(table.X, y, budget=MINUTES, prices=table.prices, random_state=0)
    return found, table.note


def _walk(found: BudgetFit) -> None:
    """Ask one test row, question by question."""
    from thrifty.cli.story import show_best, show_end, show_question
    from thrifty.serve import Interview

    model, values = found.predictor, found.test.row(0)
    click.echo(f"One sample of the test rows, number {found.test.index[0]}:")
    interview = Interview(model)
    while question := interview.question:
        show_best(interview, model.prices.unit)
        show_question(question, model.prices.unit)
        click.echo(f"> {values[question.feature]}")
        interview.tell(repr(values[question.feature]))
    show_end(interview)
    click.echo(f"truth: {found.test.y[0]}")
