"""`thrifty demo`: a tour that leaves a model and a report behind."""

from __future__ import annotations

import re

from thrifty import load


def test_the_tour_prints_saves_and_walks(run, folder, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    result = run("demo", "-o", "tour/here")
    assert result.exit_code == 0, result.stderr
    printed = result.stdout
    assert "made up" in printed
    savings, rest = printed.split("Pareto frontier")
    names = ("chosen: ", "plain boosting on all features", "plain forest on the cheapest features",
             "constant, buys nothing")  # fmt: skip
    for name in names:
        assert re.search(rf"{name}.* +[\d.]+ +\[[\d., ]+\] +[\d.]+% ", savings)
    assert "penalty" in rest
    assert " * " in rest or "The chosen model is not on it" in rest
    assert "(minutes)" in savings and "(minutes)" in rest
    assert re.search(r"[\d.]+ minutes per example instead of [\d.]+ \(\d+% cheaper\)", printed)
    assert "best so far" in printed and "total" in printed and "complete" in printed
    predictor = load("tour/here/model.thrifty")
    assert predictor.provenance["budget"] == 10.0
    assert "<svg" in (folder / "tour" / "here" / "curve.svg").read_text()
    html = (folder / "tour" / "here" / "report.html").read_text()
    assert "prices are illustrative" in html
    predicted, target = (
        re.search(rf"^{word}: (\w+)", printed, re.MULTILINE)
        for word in ("prediction", "true class")
    )
    assert {predicted[1], target[1]} <= {"benign", "malignant"}


def test_a_folder_that_is_a_file_exits_with_2(run, folder) -> None:
    result = run("demo", "-o", "table.csv")
    assert result.exit_code == 2
    assert "table.csv" in result.stderr
