"""`thrifty demo`: a tour that leaves a model and a report behind."""

from __future__ import annotations

import re

from thrifty import load


def test_the_tour_tells_saves_and_walks(run, folder) -> None:
    result = run("demo", "-o", "tour/here")
    assert result.exit_code == 0, result.stderr
    told = result.stdout
    assert "made up" in told
    savings, rest = told.split("the points that no other beats")
    names = ("chosen: ", "all features fetched", "plain boosting", "plain boosting on the cheapest")
    for name in names:
        assert re.search(rf"{name}.* minutes +[\d.]+ +[\d.]+ +-?[\d.]+ %", savings)
    assert "penalty" in rest and " * " in rest
    assert re.search(
        r"% of the price \(minutes [\d.]+ an example instead of minutes [\d.]+\)", told
    )
    assert "best so far" in told and "total" in told and "complete" in told
    predictor = load("tour/here/model.thrifty")
    assert predictor.provenance["budget"] == 10.0
    assert "<svg" in (folder / "tour" / "here" / "curve.svg").read_text()
    html = (folder / "tour" / "here" / "report.html").read_text()
    assert "prices are illustrative" in html
    answer, truth = (
        re.search(rf"^{word}: (\w+)", told, re.MULTILINE) for word in ("answer", "truth")
    )
    assert {answer[1], truth[1]} <= {"benign", "malignant"}


def test_a_folder_that_is_a_file_is_2(run, folder) -> None:
    result = run("demo", "-o", "table.csv")
    assert result.exit_code == 2
    assert "table.csv" in result.stderr
