"""`thrifty demo`: a tour on data that comes with scikit-learn, with made-up prices."""

from __future__ import annotations

from pathlib import Path

import click

from thrifty.cli.console import progress, show_fit

__all__ = ["demo"]

BUDGET_MINUTES = 10.0
CLASSES = ("malignant", "benign")


@click.command(short_help="Run a short tour on a built-in data set.")
@click.option("-o", "--output", default="thrifty-demo", show_default=True, metavar="FOLDER",
              type=click.Path(file_okay=False, path_type=Path),
              help="Folder for the model, the report and the curve.")  # fmt: skip
def demo(output: Path) -> None:
    """Run a short tour on a built-in data set.

    Trains a model that tells benign from malignant cells with 10 minutes of measuring time per
    sample on average, shows the savings and the curve, saves the model and a report, and walks
    through one example.
    """
    output.mkdir(parents=True, exist_ok=True)
    click.echo(
        "Breast cancer Wisconsin data: 569 samples, 30 measurements on an image of cells.\n"
        "The prices, in minutes of measuring time, are made up for this tour.\n"
    )
    with progress("training"):
        import numpy as np

        from thrifty.cli.ask import format_prediction, format_question
        from thrifty.cli.curve import draw_curve
        from thrifty.costs.money import money
        from thrifty.data import breast_cancer
        from thrifty.files import write_whole
        from thrifty.frontier import fit_budget
        from thrifty.report import fit_facts, render_page, write_page
        from thrifty.serve import Interview

        data = breast_cancer()
        y = np.array(CLASSES)[data.y]
        found = fit_budget(data.X, y, budget=BUDGET_MINUTES, prices=data.prices, random_state=0)
        facts = fit_facts(found, title="Breast cancer under a budget", target="diagnosis",
                          source="the breast cancer data of scikit-learn",
                          note=data.note)  # fmt: skip
        html, plot = render_page(facts), draw_curve(found.curve, "svg")
    show_fit(facts)
    model, report, curve = output / "model.thrifty", output / "report.html", output / "curve.svg"
    found.predictor.save(model)
    write_page(html, report)
    write_whole(curve, plot)
    click.echo(f"model: {model}\nreport: {report}\ncurve: {curve}\n")

    predictor, values = found.predictor, found.test.row(0)
    unit = predictor.prices.unit
    click.echo(f"A walk through one test sample, row {found.test.positions[0]}:")
    interview = Interview(predictor)
    while question := interview.question:
        spent = money(interview.receipt.total, unit)
        click.echo(f"  best so far: {format_prediction(interview)}; spent {spent}")
        click.echo(f"{format_question(question, unit)}\n> {values[question.feature]}")
        interview.tell(repr(values[question.feature]))
    click.echo(f"prediction: {format_prediction(interview)}\n{interview.receipt}")
    click.echo(f"true class: {found.test.labels[0]}\n\nYour turn: thrifty ask {model}")
