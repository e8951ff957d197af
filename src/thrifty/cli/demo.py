"""`thrifty demo`: a short tour of the commands on a table that comes with the package."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from thrifty.cli.console import show_text
from thrifty.files import make_folder, write_whole

__all__ = ["demo"]

BUDGET = 30
# Patients that are kept out of the table, to be predicted at the end.
NEW_PATIENTS = 10
# The tour walks through the first of them of whom the model asks at least so much.
LEAST_QUESTIONS = 4


@click.command(short_help="Run a short tour on a built-in data set.")
@click.option("-o", "--output", default="thrifty-demo", show_default=True, metavar="FOLDER",
              type=click.Path(file_okay=False, path_type=Path),
              help="Folder for all files of the tour.")  # fmt: skip
def demo(output: Path) -> None:
    """Run a short tour on a built-in data set.

    Heart disease, 920 patients, with published prices: all tests cost 324 Canadian dollars, and a
    clinic has 30 per patient. Runs the commands that you would run: check, fit, curve, predict and
    ask. All files are written to a folder, so you can continue from there.
    """
    make_folder(output)
    click.echo(
        "Does a patient have heart disease? Questions cost CAD 1, a blood test 5 to 10,\n"
        "a scan about 100; all 13 features together CAD 323.97. A clinic can spend\n"
        "CAD 30 per patient on average. Data: Heart Disease, UCI Machine Learning\n"
        "Repository (CC BY 4.0), 920 patients. Prices: Ontario fees, as published by\n"
        "Turney (1995).\n"
    )
    new = _write_tables(output)
    table, model = output / "heart.csv", output / "model.thrifty"
    given = [table, "--target", "disease", "--prices", output / "prices.csv", "--unit", "CAD"]
    report, new_table, predictions = (
        output / name for name in ("report.html", "new.csv", "predictions.csv")
    )
    _run("Check the files first, and see how long a fit would take:", "check", *given,
         "--budget", BUDGET)  # fmt: skip
    _run("Train the best model whose bills are within the budget on average:", "fit", *given,
         "--budget", BUDGET, "-o", model, "--report", report)  # fmt: skip
    _run("Draw what other budgets would buy:", "curve", *given, "-o", output / "curve.svg")
    _run(f"Predict {NEW_PATIENTS} patients who were left out of the table:", "predict", model,
         new_table, "--bill", "-o", predictions)  # fmt: skip
    typed, patient = _answers(model, new)
    _run(f"One of them, line {patient + 2} of {new_table}, one question at a time. The model "
         "stops as soon as another test is not worth its price. (cp is the type of chest pain, "
         "1 to 4, trestbps the resting blood pressure, chol the cholesterol.)", "ask", model,
         typed=typed)  # fmt: skip
    click.echo(
        f"The patient's record says: disease {new['disease'].iloc[patient]}.\n\n"
        f"Open {report} in a browser. Then it is your turn: thrifty ask {model}"
    )


def _write_tables(folder: Path) -> Any:
    """Write the table, the prices and the new patients; return the latter with their diagnosis."""
    import numpy as np
    import pandas as pd

    from thrifty.data import heart_files

    files = heart_files()
    whole = pd.read_csv(io.StringIO(files["heart.csv"]), dtype=object)  # cells stay as they are
    kept_out = np.sort(np.random.default_rng(0).permutation(len(whole))[:NEW_PATIENTS])
    new = whole.iloc[kept_out].reset_index(drop=True)
    tables = {"heart.csv": whole.drop(index=kept_out), "new.csv": new.drop(columns="disease")}
    for name, table in tables.items():
        write_whole(folder / name, table.to_csv(index=False, lineterminator="\n").encode())
    write_whole(folder / "prices.csv", files["heart-prices.csv"].encode())
    return new


def _run(why: str, *arguments: object, typed: str = "") -> None:
    """Print a command and run it, with some lines of input."""
    from thrifty.cli.group import main

    words = [str(argument) for argument in arguments]
    show_text(why, bold=True)
    click.secho(f"$ thrifty {shlex.join(words)}", bold=True)
    stdin, sys.stdin = sys.stdin, io.StringIO(typed)
    try:
        code = main.main(words, prog_name="thrifty", standalone_mode=False)
    finally:
        sys.stdin = stdin
    if code:
        click.get_current_context().exit(code)
    click.echo()


def _answers(model: Path, new: Any) -> tuple[str, int]:
    """Return what to type for a new patient, as lines, and the row of that patient."""
    from thrifty.bundle import load
    from thrifty.serve import Interview

    predictor, most = load(model), ("", 0)
    for row in range(len(new)):
        interview, lines = Interview(predictor), ""
        while question := interview.question:
            cell = new[question.feature].iloc[row]
            text = cell if isinstance(cell, str) else "?"
            interview.tell(text)
            lines += f"{text}\n"
        if lines.count("\n") > most[0].count("\n"):
            most = lines, row
        if lines.count("\n") >= LEAST_QUESTIONS:
            break
    return most
