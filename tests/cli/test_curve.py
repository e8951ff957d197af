"""`thrifty curve`: the frontier printed, and the points or a plot in a file."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

CURVE = ("curve", "table.csv", "--target", "ill", "--prices", "prices.csv", "--unit", "CAD")
MISER = (*CURVE, "--learner", "greedy-miser")


def test_the_frontier_is_printed_and_the_points_are_written(run, folder) -> None:
    result = run(*CURVE, "-o", "c.csv")
    assert result.exit_code == 0, result.stderr
    assert all(line.startswith("training ") for line in result.stderr.splitlines())
    assert "classification: 4 features, CAD 11.50 for all" in result.stdout
    assert "48 validation rows" in result.stdout
    assert "points: c.csv" in result.stdout
    frame = pd.read_csv("c.csv")
    assert set(frame["learner"]) == {"ladder"}
    assert frame["bill"].is_monotonic_increasing and frame["bill"][0] == 0
    best = frame.loc[frame["frontier"], "accuracy"].max()
    assert "constant, buys" in result.stdout and f"{100 * best:.1f}%" in result.stdout


def test_json_has_all_points(run, folder) -> None:
    result = run(*MISER, "-o", "c.csv", "--json")
    found = json.loads(result.stdout)
    assert all(line.startswith("training ") for line in result.stderr.splitlines())
    assert (found["task"], found["metric"], found["unit"]) == ("classification", "accuracy", "CAD")
    assert (found["full"], found["output"]) == (11.5, "c.csv")
    frame = pd.read_csv("c.csv")
    assert [point["bill"] for point in found["points"]] == frame["bill"].tolist()
    assert [point["frontier"] for point in found["points"]] == frame["frontier"].tolist()


@pytest.mark.parametrize(
    ("name", "start"), [("c.svg", b"<?xml"), ("c.png", b"\x89PNG"), ("C.SVG", b"<?xml")]
)
def test_the_suffix_says_what_plot_is_written(run, folder, name, start) -> None:
    result = run(*MISER, "-o", name)
    assert result.exit_code == 0, result.stderr
    assert f"plot: {name}" in result.stdout
    assert (folder / name).read_bytes().startswith(start)


def test_the_same_call_writes_the_same_plot(run, folder) -> None:
    for name in ("a.svg", "b.svg"):
        run(*MISER, "-o", name)
    assert (folder / "a.svg").read_bytes() == (folder / "b.svg").read_bytes()


def test_options_reach_the_learners(run, table) -> None:
    table(ill=np.linspace(0, 1, 240), family=np.arange(240) // 10)
    options = ("--scoring", "neg_mean_squared_error", "--groups", "family", "--drop", "sex")
    result = run("curve", "table.csv", "--target", "ill", *options, "-o", "c.csv", "--json")
    found = json.loads(result.stdout)
    assert (found["task"], found["metric"]) == ("regression", "neg_mean_squared_error")
    assert (found["full"], found["rows"] % 10) == (3.0, 0)


def test_queries_are_ranked(run, table) -> None:
    table(ill=np.arange(240) % 3, q=np.repeat(np.arange(24), 10))
    result = run("curve", "table.csv", "--target", "ill", "--qid", "q", "-o", "c.csv", "--json")
    assert json.loads(result.stdout)["metric"] == "ndcg@5"


# --- resuming ----------------------------------------------------------------


def test_a_finished_curve_is_not_traced_again(run, folder, monkeypatch) -> None:
    from thrifty import GreedyMiserClassifier

    assert run(*MISER, "--resume", "curves", "-o", "a.csv").exit_code == 0

    def path(*args, **kwargs):
        raise AssertionError("trained again")

    monkeypatch.setattr(GreedyMiserClassifier, "path", path)
    result = run(*MISER, "--resume", "curves", "-o", "b.csv")
    assert result.exit_code == 0, result.stderr
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


def test_a_ladder_that_is_kept_is_written_alike(run, folder) -> None:
    for output in ("a.csv", "b.csv"):
        assert run(*CURVE, "--resume", "curves", "-o", output).exit_code == 0
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    assert "start=" in (folder / "a.csv").read_text()


def test_a_folder_of_other_settings_is_rejected_and_unchanged(run, folder) -> None:
    run(*MISER, "--resume", "curves", "-o", "a.csv")
    before = {path.name: path.read_bytes() for path in (folder / "curves").iterdir()}
    result = run(*MISER, "--resume", "curves", "-o", "b.csv", "--seed", "1")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "its jobs have seed 0, this run has 1" in result.stderr
    assert not (folder / "b.csv").exists()
    assert {path.name: path.read_bytes() for path in (folder / "curves").iterdir()} == before


def test_a_folder_of_other_files_is_rejected(run, folder, files) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "diary.txt").write_text("dear")
    before = files()
    result = run(*MISER, "--resume", "mine", "-o", "a.csv")
    assert result.exit_code == 3 and "diary.txt" in result.stderr
    assert files() == before


# --- errors ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing option '-o'"),
        (("-o", "c.pdf"), "'c.pdf' must end in .csv, .svg, .png"),
        (("-o", "absent/c.csv"), "There is no folder 'absent'"),
        (("-o", "table.csv"), "'table.csv' is named twice"),
        (("-o", "c.csv", "--jobs", "0"), "not in the range"),
        (("-o", "c.csv", "--resume", "table.csv"), "is a file"),
        (("-o", "c.csv", "--budget", "3"), "No such option"),
    ],
)
def test_a_wrong_option_is_reported_before_any_work(run, folder, refused, arguments, words) -> None:
    refused(run(*CURVE, *arguments), words, code=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--target", "il"), "did you mean 'ill'?"),
        (("--learner", "oracle"), "['oracle'] are not for classification"),
        (("--scoring", "r2"), "r2"),
    ],
)
def test_wrong_inputs_are_reported(run, folder, refused, arguments, words) -> None:
    refused(run(*CURVE, "-o", "c.csv", "--resume", "curves", *arguments), words)


def test_a_failed_write_keeps_the_old_file(run, folder, monkeypatch) -> None:
    (folder / "c.csv").write_bytes(b"old")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("thrifty.files.os.replace", full)
    result = run(*MISER, "-o", "c.csv")
    assert result.exit_code == 1 and "No space left on device" in result.stderr
    assert (folder / "c.csv").read_bytes() == b"old"
