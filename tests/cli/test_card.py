"""Model cards and groups on the command line: `--card` and `--by` of `fit` and `report`."""

from __future__ import annotations

import json

import numpy as np
import pytest

FIT = ("fit", "table.csv", "--target", "ill", "--learner", "greedy-miser", "--budget", "20", "-o",
       "m.thrifty")  # fmt: skip


def test_a_fit_writes_its_card(run, folder, table) -> None:
    ward = np.where(np.arange(240) % 3, "north", "south")
    table(ward=ward)
    result = run(*FIT, "--drop", "ward", "--card", "card.md", "--by", "ward", "--by", "sex",
                 "--report", "r.html")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "card: card.md" in result.stdout and "report: r.html" in result.stdout
    assert "ward" in result.stdout  # differences, or that there are none
    card = (folder / "card.md").read_text()
    assert card.startswith("# Model card: Predicting ill under a budget")
    assert "| ward | rows | accuracy |" in card and "| sex | rows | accuracy |" in card
    assert "table.csv" in card and "144 training, 48 validation, 48 test" in card
    assert "Results by group" in (folder / "r.html").read_text()


def test_the_groups_of_a_fit_are_those_of_its_test_rows(run, folder, table) -> None:
    table(number=np.arange(240) % 2)
    facts = json.loads(run(*FIT, "--drop", "number", "--by", "number", "--json").stdout)
    (entry,) = facts["by"]
    assert sum(group["rows"] for group in entry["groups"]) == facts["settings"]["rows"]["test"]
    right = sum(group["rows"] * group["quality"] for group in entry["groups"])
    assert right == pytest.approx(np.trace(facts["confusion"]["rows"]))
    assert facts["card"] is None


def test_rows_of_no_weight_do_not_shift_the_groups(run, folder, table) -> None:
    weight = (np.arange(240) % 3 > 0).astype(float)
    table(number=np.where(weight > 0, "kept", "left out"), w=weight)
    arguments = (*FIT, "--drop", "number", "--weight-column", "w", "--by", "number", "--json")
    (entry,) = json.loads(run(*arguments).stdout)["by"]
    assert [group["group"] for group in entry["groups"]] == ["kept"]


def test_a_report_writes_a_card_as_a_page(run, folder, model, frame) -> None:
    result = run("report", "model.thrifty", "table.csv", "--target", "ill", "-o", "p.html",
                 "--card", "card.html", "--by", "sex", "--json")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["card"] == "card.html"
    found = {group["group"]: group["rows"] for group in facts["by"][0]["groups"]}
    assert found == frame["sex"].value_counts().to_dict()
    html = (folder / "card.html").read_text()
    assert html.startswith("<!DOCTYPE html>") and "<h2>Limits</h2>" in html
    printed = run("report", "model.thrifty", "table.csv", "--target", "ill", "-o", "p.html",
                  "--card", "c.md").stdout  # fmt: skip
    assert "card: c.md" in printed


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (("--card", "card.txt"), "must end in .md or .html", 2),
        (("--card", "table.csv"), "must end in .md or .html", 2),
        (("--card", "m.md", "--report", "m.md"), "is named twice", 2),
        (("--by", "sexx"), "there is no column 'sexx'; did you mean 'sex'?", 3),
        (("--by", "name"), "--by: ", 3),
    ],
)
def test_mistakes_are_found_before_training(run, folder, table, refused, arguments, words, code):
    table(name=[f"person {i}" for i in range(240)])
    refused(run(*FIT, "--drop", "name", *arguments), words, code=code)
