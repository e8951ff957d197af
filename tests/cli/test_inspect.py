"""`thrifty inspect`: what a model file contains, without building the model."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile

import numpy as np
import pytest

import thrifty
from thrifty import (
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    LadderClassifier,
    Prices,
    load,
    load_points,
    short_circuit,
)
from thrifty.bundle.archive import pack_members


def test_the_contents_are_printed(run, model) -> None:
    result = run("inspect", model)
    assert result.exit_code == 0
    for words in ("forest", "predicts: no, yes", "CAD 11.50 for all 4 features", "budget: 20\n",
                  "blood (2.00 shared)", "2 categories", "penalty"):  # fmt: skip
        assert words in result.stdout


def test_json_has_the_same_contents(run, model) -> None:
    contents = json.loads(run("inspect", model, "--json").stdout)
    assert contents["kind"] == "forest" and contents["classes"] == ["no", "yes"]
    assert contents["groups"] == {"blood": 2.0} and contents["unit"] == "CAD"
    sex = next(feature for feature in contents["features"] if feature["name"] == "sex")
    assert sex == {"name": "sex", "categories": ["female", "male"], "price": 0.5, "group": None}
    assert contents["knob"].keys() == {"penalty", "trees"}
    assert contents["provenance"]["budget"] == 20.0
    assert contents["bytes"] == model.stat().st_size


def test_no_model_is_built(run, model, monkeypatch) -> None:
    from thrifty.model import Forest

    def build(cls, plain, arrays):
        raise AssertionError("built")

    monkeypatch.setattr(Forest, "build", classmethod(build))
    assert run("inspect", model).exit_code == 0


def test_a_model_without_names_and_classes_is_shown(run, folder) -> None:
    X = np.linspace(0, 1, 100).reshape(-1, 2)
    prices = Prices(evaluation=0.25)
    GreedyMiserRegressor(prices, n_estimators=2).fit(X, X[:, 0]).save("m.thrifty")
    result = run("inspect", "m.thrifty")
    assert result.exit_code == 0
    assert "predicts: values" in result.stdout
    assert "price of an evaluation: 0.25" in result.stdout
    assert json.loads(run("inspect", "m.thrifty", "--json").stdout)["classes"] is None


def test_brackets_in_names_are_not_markup(run, folder, frame) -> None:
    X = frame[["age", "chol"]].rename(columns={"age": "[red]age[/red]"})
    GreedyMiserRegressor(n_estimators=2).fit(X, frame["fbs"]).save("m.thrifty")
    assert "[red]age[/red]" in run("inspect", "m.thrifty").stdout


def test_precedence_panels_delays_and_currencies_are_shown(run, folder) -> None:
    prices = Prices(
        [1, 2, 3, 4], groups={"lab": [2, 3]}, panels=["lab"], requires={1: [0]},
        delays={1: 45, "lab": 5}, delay_unit="min", also={"ms": Prices([7, 0, 0, 0])},
    )  # fmt: skip
    X = np.random.default_rng(0).normal(size=(50, 4))
    GreedyMiserRegressor(prices, n_estimators=2).fit(X, X.sum(axis=1)).save("s.thrifty")
    printed = run("inspect", "s.thrifty").stdout
    for words in ("1 requires 0", "only sold together: 2, 3", "delays: 1 45 min, 2 5 min, 3 5 min",
                  "also: 7.00 ms for all features"):  # fmt: skip
        assert words in printed
    contents = json.loads(run("inspect", "s.thrifty", "--json").stdout)
    assert contents["requires"] == {"1": [0]}
    assert contents["currencies"] == {"ms": {"full": 7.0}}


def test_a_summary_is_short_and_json_has_the_arrays(run, folder, frame) -> None:
    model = LadderClassifier(effort="fast", random_state=0)
    model.fit(frame.drop(columns="ill"), frame["ill"]).save("m.thrifty")
    printed = run("inspect", "m.thrifty").stdout
    assert max(map(len, printed.splitlines())) < 120
    assert re.search(
        r"m.thrifty: \w+, [\d.]+ [kM]B \(format 1, \d+ arrays with [\d,]+ entries\)", printed
    )
    arrays = json.loads(run("inspect", "m.thrifty", "--json").stdout)["arrays"]
    assert len(arrays) > 5 and not any(name in printed for name in arrays)


def test_the_origin_of_a_model_is_described_in_words(run, folder, frame) -> None:
    model = GreedyMiserClassifier(n_estimators=2).fit(frame[["age"]], frame["ill"])
    short_circuit(model.predictor_).save("m.thrifty")
    lines = run("inspect", "m.thrifty").stdout.splitlines()
    assert {"short circuit: yes", f"Thrifty version: {thrifty.__version__}"} <= set(lines)


def test_operating_points_are_listed(run, model) -> None:
    found = json.loads(run("inspect", model, "--json").stdout)
    points = load_points(model)
    assert (found["format"], found["metric"]) == (2, "accuracy")
    assert [point["bill"] for point in found["points"]] == list(points.bills)
    assert [point["default"] for point in found["points"]].index(True) == points.default
    printed = run("inspect", model).stdout
    assert f"operating points: {len(points)}, on validation rows" in printed
    assert re.search(r"mean bill +accuracy +kind", printed)
    assert sum(line.rstrip().endswith(" default") for line in printed.splitlines()) == 1


def test_a_call_is_marked_and_long_lists_are_cut(run, model, folder, frame) -> None:
    gate = ("gate", "table.csv", "--target", "ill", "--family", "leaves", "--price", "9")
    assert run(*gate, "--expensive", model, "--name", "doctor", "-o", "g.thrifty").exit_code == 0
    printed = run("inspect", "g.thrifty").stdout
    assert re.search(r"doctor +call +9.00", printed) and "call: name doctor" in printed
    X = frame[["age"]].assign(age=range(240))
    GreedyMiserClassifier(n_estimators=1).fit(X, np.arange(240) // 8).save("many.thrifty")
    assert "18, 19 and 10 more" in run("inspect", "many.thrifty").stdout


@pytest.fixture
def rewrite(model):
    """Rewrite the header of the model file, with hashes and seal that fit."""

    def rewrite(change) -> None:
        load(model).save(model)  # its default point alone
        with zipfile.ZipFile(io.BytesIO(model.read_bytes())) as zipped:
            members = {name: zipped.read(name) for name in zipped.namelist()}
        header = json.loads(members["header.json"])
        change(header)
        members["header.json"] = json.dumps(header).encode()
        model.write_bytes(pack_members(members))

    return rewrite


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(classes={}),
        lambda header: header.update(classes={"type": None}),
        lambda header: header["classes"].update(labels=5),
        lambda header: header["arrays"]["values"].update(shape=None),
        lambda header: header["prices"].update(unit="\x1b]0;owned\x07"),
        lambda header: header["prices"].update(unit="\ud800"),
        lambda header: header["prices"].update(own=[1.0], group=[-1], names=["age"]),
        lambda header: header["provenance"].update(note="\udc00"),
        lambda header: header.update(decision={"costs": 5}),
    ],
)
def test_a_header_that_load_refuses_is_not_shown(run, model, rewrite, change) -> None:
    rewrite(change)
    for options in ((), ("--json",)):
        result = run("inspect", model, *options)
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ") and "--debug" not in result.stderr
        assert result.stdout == ""


def test_nothing_in_a_file_reaches_the_terminal_as_a_command(run, model, rewrite) -> None:
    nasty = "x\x1b[2J\u202e\r\nError: \x9b1A"

    def change(header):
        header["schema"]["columns"][0]["name"] = header["prices"]["names"][0] = nasty
        header["classes"]["labels"][0] = nasty
        header["provenance"] = {nasty: nasty}
        header["knob"] = {nasty: [nasty]}

    rewrite(change)
    printed = run("inspect", model).stdout
    assert "predicts: x\\x1b[2J\\u202e\\r\\nError: \\x9b1A, yes" in printed
    assert all(c.isprintable() or c == "\n" for c in printed)
    assert json.loads(run("inspect", model, "--json").stdout)["classes"][0] == nasty


def test_a_pipe_is_refused(run, tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    result = run("inspect", tmp_path / "pipe")
    assert result.exit_code == 1 and "not a regular file" in result.stderr


def test_costs_of_errors_are_shown(run, model, rewrite) -> None:
    rewrite(lambda header: header.update(decision={"costs": [[0, 1], [5, 0]]}))
    printed = run("inspect", model).stdout
    assert "predicted class: [[0, 1], [5, 0]]" in printed
    assert "decision: yes from a probability of 16.7% on" in printed


def test_a_threshold_is_not_taken_for_costs(run, model, rewrite) -> None:
    rewrite(lambda header: header.update(decision={"costs": [[0, 0.25], [0.75, 0]]}))
    printed = run("inspect", model).stdout
    assert "decision: yes from a probability of 25.0% on" in printed
    assert "costs of errors" not in printed
