"""Everything in Thrifty that writes files, on a small table: the library and the command line.

Training is not what is tested, so the commands get models that are trained once.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from click.testing import CliRunner

from thrifty import (
    BudgetClassifier,
    BudgetForestClassifier,
    Call,
    CompressedSVC,
    GatedClassifier,
    GreedyMiserClassifier,
    OnlineGate,
    Predictor,
    Prices,
    trace,
)
from thrifty.bundle import Schema
from thrifty.cli import main
from thrifty.model import Forest
from thrifty.report import write_page
from thrifty.serve import ASK

ROWS = 200
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(ROWS, 3)).round(3), columns=["age", "chol", "fbs"])
TABLE["ill"] = np.where(TABLE["age"] + TABLE["chol"] > 0.3, "yes", "no")
X, Y = TABLE[["age", "chol", "fbs"]].to_numpy(), TABLE["ill"].to_numpy()
PRICES = "feature,price\nage,1\nchol,5\nfbs,3\n"
MISER = GreedyMiserClassifier(n_estimators=3, random_state=0)
TRAINING = ("table.csv", "--target", "ill", "--prices", "prices.csv")
FIT = ("fit", *TRAINING, "--budget", "4", "--learner", "greedy-miser")
OLD = b"the old file"

Write = Callable[[Path], None]


class CommandError(OSError):
    """A command said that it could not write a file, as documented: in one message, with code 1."""


def run_command(folder: Path, *arguments: str) -> None:
    """Run `thrifty` in a folder.

    Raises
    ------
    CommandError
        If it could not write a file.
    AssertionError
        If it failed in any other way.
    """
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(main, arguments)
    finally:
        os.chdir(before)
    if result.exit_code == 0:
        return
    message = result.stderr.splitlines()[-1]
    known = message.startswith(("Error: cannot ", "Error: written, but not sure to outlast"))
    assert result.exit_code == 1 and known and os.sep in message, result.output
    assert "Traceback" not in result.stderr, result.output
    raise CommandError(message)


@cache
def predictor(value: float = 4.5) -> Predictor:
    """A model that is a constant."""
    schema = Schema.of([[0.0, 0.0, 0.0]])
    return Predictor(Forest.constant([value], "sum", 3), schema, Prices([1.0, 5.0, 3.0]).bind(3))


@cache
def classifier() -> GreedyMiserClassifier:
    """A small classifier."""
    return GreedyMiserClassifier(n_estimators=3, random_state=0).fit(
        TABLE[["age", "chol", "fbs"]], Y
    )


@cache
def machine() -> CompressedSVC:
    """A small support vector machine."""
    return CompressedSVC(n_vectors=0.2, max_moves=2, random_state=0).fit(X, Y)


@cache
def lightgbm_model() -> str:
    """A model of LightGBM as text."""
    import lightgbm

    options = {"objective": "binary", "verbose": -1, "num_threads": 1, "num_leaves": 4}
    data = lightgbm.Dataset(X, Y == "yes", params={"verbose": -1})
    return str(lightgbm.train(options, data, 5).model_to_string())


def cache_outputs(folder: Path) -> None:
    """Fit a gate whose expensive model keeps its outputs in a folder.

    Where they cannot be written, it warns, and goes on; here that is told like other errors.
    """
    call = Call("forest", fn=BudgetForestClassifier(n_estimators=2, random_state=0),
                folder=folder / "cache")  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the outputs of the call are not cached")
        try:
            GatedClassifier(call, family="leaves", random_state=0).fit(X, Y)
        except UserWarning as warning:
            assert isinstance(warning.__context__, OSError)
            raise warning.__context__ from None


def fit_with_resume(folder: Path) -> None:
    """Fit a budget estimator whose learners are kept in a folder."""
    model = BudgetClassifier(budget=6, learners={"a": MISER}, random_state=0)
    model.fit(X, Y, resume=folder / "resume")


LIBRARY: dict[str, Write] = {
    "Predictor.save": lambda folder: predictor().save(folder / "out.thrifty"),
    "estimator.save": lambda folder: classifier().save(folder / "out.thrifty"),
    "OnlineGate.save": lambda folder: OnlineGate(
        [lambda x: 0, lambda x: ASK], 0.5, horizon=40, random_state=3
    ).save(folder / "out.json"),
    "CompressedSVC.export_libsvm": lambda folder: machine().export_libsvm(folder / "out.model"),
    "write_page": lambda folder: write_page("<p>page</p>" * 2000, folder / "out.html"),
    "Call(folder=)": cache_outputs,
    "trace(resume=)": lambda folder: trace(MISER, X, Y, resume=folder / "resume") and None,
    "BudgetClassifier.fit(resume=)": fit_with_resume,
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "thrifty fit": (*FIT, "-o", "out.thrifty", "--report", "out.html", "--card", "out.md"),
    "thrifty curve, points": ("curve", *TRAINING, "--learner", "greedy-miser", "-o", "out.csv"),
    "thrifty curve, plot": ("curve", *TRAINING, "--learner", "greedy-miser", "-o", "out.svg"),
    "thrifty gate": ("gate", *TRAINING, "--expensive", "model.thrifty", "--family", "leaves",
                     "-o", "out.thrifty"),
    "thrifty predict": ("predict", "model.thrifty", "table.csv", "-o", "out.csv"),
    "thrifty report": ("report", "model.thrifty", "table.csv", "--target", "ill",
                       "-o", "out.html", "--card", "out.md"),
    "thrifty import": ("import", "lightgbm.txt", "-o", "out.thrifty"),
    "thrifty demo": ("demo", "-o", "out"),
}  # fmt: skip


def prepare(folder: Path) -> None:
    """Write the inputs of the commands, and old files in the places of their outputs."""
    TABLE.to_csv(folder / "table.csv", index=False)
    (folder / "prices.csv").write_text(PRICES)
    classifier().save(folder / "model.thrifty")
    (folder / "lightgbm.txt").write_text(lightgbm_model())
    for suffix in ("thrifty", "json", "model", "model.range", "html", "csv", "svg", "md"):
        (folder / f"out.{suffix}").write_bytes(OLD)


@contextmanager
def trained_once() -> Iterator[None]:
    """Within this context, a command that is run again does not train and draw again."""
    known: dict[str, object] = {}

    def remember(home: str, name: str) -> mock._patch[object]:
        function = getattr(__import__(home, fromlist=[name]), name)

        def call(*arguments: object, **settings: object) -> object:
            if name not in known:
                known[name] = function(*arguments, **settings)
            return known[name]

        return mock.patch(f"{home}.{name}", call)

    with (
        remember("thrifty.frontier", "fit_budget"),
        remember("thrifty.frontier", "trace"),
        remember("thrifty.frontier.fit_gate", "fit_gate"),
        remember("thrifty.frontier.race", "forecast"),
        remember("thrifty.report", "fit_facts"),
        remember("thrifty.report", "predictor_facts"),
        remember("thrifty.report", "render_page"),
        remember("thrifty.report", "model_card"),
        remember("thrifty.cli.curve", "draw_curve"),
    ):
        yield
