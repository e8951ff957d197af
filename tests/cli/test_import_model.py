"""`thrifty import`: models of other libraries become model files."""

from __future__ import annotations

import json

import lightgbm
import numpy as np
import pytest
from click.testing import CliRunner

import thrifty.model
from thrifty import load
from thrifty.cli.import_model import import_model
from thrifty.errors import DataError, PriceError
from thrifty.model.short_circuit.short_circuit import ShortCircuit


@pytest.fixture
def call(monkeypatch):
    """Run the command by itself."""
    monkeypatch.setitem(thrifty.model.KINDS, ShortCircuit.kind, ShortCircuit)
    return lambda *arguments: CliRunner().invoke(import_model, [str(a) for a in arguments])


def save(folder, frame, objective, target):
    columns = ["age", "chol", "fbs"]
    options = {"objective": objective, "verbose": -1, "num_threads": 1, "num_leaves": 4}
    data = lightgbm.Dataset(frame[columns], target, params={"verbose": -1})
    booster = lightgbm.train(options, data, 12)
    booster.save_model(folder / "model.txt")
    return booster, frame[columns]


@pytest.fixture
def booster(folder, frame):
    return save(folder, frame, "binary", frame["ill"] == "yes")


def test_a_lightgbm_file_becomes_a_model_file(call, booster):
    model, X = booster
    result = call("model.txt", "-o", "m.thrifty", "--class", "no", "--class", "yes", "--unit", "ms")
    assert result.exit_code == 0, result.output
    assert "12 trees, predicts no, yes" in result.stdout
    assert "3.00 ms for all 3 features" in result.stdout
    found = load("m.thrifty")
    np.testing.assert_array_equal(found.predict(X) == "yes", model.predict(X) > 0.5)


def test_prices_come_from_a_file_and_bills_never_rise(call, folder, booster):
    _, X = booster
    (folder / "three.csv").write_text("feature,price\nage,1\nchol,5\nfbs,3\n")
    call("model.txt", "-o", "whole.thrifty", "--prices", "three.csv")
    result = call(
        "model.txt", "-o", "quick.thrifty", "--prices", "three.csv", "--short-circuit", "--json"
    )
    found = json.loads(result.stdout)
    assert (found["kind"], found["full"], found["trees"]) == ("short-circuit", 9.0, 12)
    whole, quick = load("whole.thrifty"), load("quick.thrifty")
    np.testing.assert_array_equal(quick.predict(X), whole.predict(X))
    assert (quick.bill(X) <= whole.bill(X)).all()
    assert quick.bill(X).mean() < whole.bill(X).mean()


def test_short_circuiting_a_regression_needs_a_tolerance(call, folder, frame):
    model, X = save(folder, frame, "regression", frame["chol"] + frame["age"])
    refused = call("model.txt", "-o", "m.thrifty", "--short-circuit")
    assert isinstance(refused.exception, DataError) and "tolerance" in str(refused.exception)
    result = call("model.txt", "-o", "m.thrifty", "--short-circuit", "--tolerance", "0.5")
    assert result.exit_code == 0
    assert np.abs(load("m.thrifty").predict(X) - model.predict(X)).max() <= 0.5


def test_a_tolerance_alone_is_a_usage_error(call, booster):
    assert call("model.txt", "-o", "m.thrifty", "--tolerance", "1").exit_code == 2


def test_other_files_and_prices_are_rejected(call, folder, booster):
    assert isinstance(call("table.csv", "-o", "m.thrifty").exception, DataError)
    (folder / "prices.csv").write_text("feature,price\nage,1\n")
    assert isinstance(
        call("model.txt", "-o", "m.thrifty", "--prices", "prices.csv").exception, PriceError
    )
    assert not (folder / "m.thrifty").exists()
    assert call("model.txt", "-o", "model.txt").exit_code == 2
