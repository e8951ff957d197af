"""The option --call; tests/cli/test_gate.py has the whole way from training to predictions."""

from __future__ import annotations

import click
import pytest

import thrifty
from thrifty.cli.calls import connect_model, load_expensive


def test_a_model_that_makes_no_calls_refuses_the_option(run, model, folder) -> None:
    for command in (("predict", model, "table.csv"), ("ask", model)):
        found = run(*command, "--call", model)
        assert found.exit_code == 2 and "--call" in found.stderr
    assert connect_model(thrifty.load(model), None).caller is None


def test_a_file_of_another_library_is_adopted(folder, frame) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = frame[["age", "chol", "fbs"]], (frame["ill"] == "yes").astype(int)
    booster = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, y), 3)
    booster.save_model("model.txt")
    assert load_expensive(folder / "model.txt", "--call").schema.names == ("age", "chol", "fbs")
    with pytest.raises(click.UsageError, match="there is no file"):
        load_expensive(folder / "none.txt", "--call")
