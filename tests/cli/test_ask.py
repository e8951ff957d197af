"""`thrifty ask`: one question at a time, scripted through standard input."""

from __future__ import annotations

import json
import re

import pytest

import thrifty
from thrifty import load

EVERYTHING = {"age": "61.5", "chol": "0.3", "fbs": "0.2", "sex": "male"}


def replies(model, row=EVERYTHING) -> str:
    """What a person would type who has a whole row at hand."""
    walk, lines = load(model).walk(), []
    while walk.asks:
        name = walk.asks[0]
        lines.append(row[name])
        walk.tell({name: row[name] if name == "sex" else float(row[name])})
    return "\n".join(lines) + "\n"


def test_the_prediction_and_the_receipt_come_at_the_end(run, model) -> None:
    result = run("ask", model, input=replies(model))
    assert result.exit_code == 0, result.stderr
    assert "best so far: " in result.stdout and "probability" in result.stdout
    assert "CAD" in result.stdout
    tail = result.stdout[result.stdout.index("prediction: ") :]
    assert "total" in tail and "complete" in tail


def test_only_json_is_printed_and_it_agrees_with_the_batch(run, model) -> None:
    result = run("ask", model, "--json", input=replies(model))
    found = json.loads(result.stdout)
    row = {name: [value if name == "sex" else float(value)] for name, value in EVERYTHING.items()}
    predictor = load(model)
    assert found["prediction"] == predictor.predict(row)[0]
    assert found["receipt"]["total"] == predictor.bill(row)[0]
    assert found["receipt"]["stopped"] == "complete"
    assert "best so far" in result.stderr


def test_a_known_feature_is_not_requested(run, model) -> None:
    known = [part for name, value in EVERYTHING.items() for part in ("--known", f"{name}={value}")]
    found = json.loads(run("ask", model, "--json", *known, input="").stdout)
    assert found["receipt"]["total"] == 0
    assert {purchase["why"] for purchase in found["receipt"]["purchases"]} == {"known"}


def test_every_feature_can_be_skipped(run, model) -> None:
    found = json.loads(run("ask", model, "--json", input="skip\n" * 4).stdout)
    assert found["receipt"]["total"] == 0
    assert {purchase["why"] for purchase in found["receipt"]["purchases"]} == {"skipped"}


def test_a_missing_value_is_paid_for(run, model) -> None:
    found = json.loads(run("ask", model, "--json", input="?\n" * 4).stdout)
    assert found["receipt"]["total"] > 0
    assert found["receipt"]["purchases"][0]["value"] is None


def test_stop_ends_with_the_best_prediction_so_far(run, model) -> None:
    found = json.loads(run("ask", model, "--json", input="stop\n").stdout)
    assert found["prediction"] in ("yes", "no")
    assert found["receipt"]["stopped"] == "stopped"


def test_known_at_the_prompt_is_free(run, model) -> None:
    first = load(model).walk().asks[0]
    lines = f"known {EVERYTHING[first]}\nstop\n"
    found = json.loads(run("ask", model, "--json", input=lines).stdout)
    assert [(p["feature"], p["why"]) for p in found["receipt"]["purchases"]] == [(first, "known")]


def test_another_feature_can_be_given_by_name(run, model) -> None:
    other = load(model).walk().asks[1]
    found = json.loads(
        run("ask", model, "--json", input=f"{other}={EVERYTHING[other]}\nstop\n").stdout
    )
    assert [p["feature"] for p in found["receipt"]["purchases"]] == [other]


def test_others_are_listed_with_their_prices(run, model) -> None:
    asks = load(model).walk().asks
    result = run("ask", model, input="others\nstop\n")
    for name in asks[1:]:
        assert name in result.stdout


@pytest.mark.parametrize("line", ["", "help"])
def test_help_lists_what_can_be_typed(run, model, line) -> None:
    result = run("ask", model, input=f"{line}\nstop\n")
    assert "its value is missing" in result.stdout
    assert "continue without this feature" in result.stdout


def test_a_bad_value_is_reported_and_requested_again(run, model) -> None:
    first = load(model).walk().asks[0]
    result = run("ask", model, input="gibberish\nstop\n")
    assert result.exit_code == 0
    assert "gibberish" in result.stderr
    assert result.stdout.count(f"\n{first}") == 2


def test_input_that_ends_too_early_exits_with_5(run, model) -> None:
    result = run("ask", model, "--json", input="")
    assert result.exit_code == 5
    assert result.stdout == ""
    assert "the input ended" in result.stderr and load(model).walk().asks[0] in result.stderr


@pytest.mark.parametrize(
    ("known", "code", "words"),
    [
        ("chol", 2, "NAME=VALUE"),
        ("cohl=1", 3, "did you mean 'chol'?"),
        ("chol=abc", 3, "'abc' is not a number"),
        ("sex=mal", 3, "did you mean 'male'?"),
    ],
)
def test_a_wrong_known_value_is_reported(run, model, known, code, words) -> None:
    result = run("ask", model, "--known", known, input="stop\n")
    assert result.exit_code == code
    assert words in result.stderr


@pytest.fixture
def chosen(folder, frame):
    """A model file with evidence, as `thrifty fit` writes it."""
    model = thrifty.BudgetClassifier(
        thrifty.Prices.read(folder / "prices.csv", unit="CAD"), effort="fast", random_state=0
    )
    model.fit(frame.drop(columns="ill"), frame["ill"]).save(folder / "chosen.thrifty")
    return folder / "chosen.thrifty"


def test_each_question_says_why_and_the_end_says_how_sure(run, chosen) -> None:
    result = run("ask", chosen, input=replies(chosen))
    assert result.exit_code == 0, result.stderr
    first, *_ = result.stdout.split("\n> ")
    assert "  why: " in first and "expected to cut the risk of a wrong answer from" in first
    assert "next best: stopping here" in first
    assert "np." not in result.stdout
    end = result.stdout[result.stdout.index("prediction: ") :].splitlines()[0]
    assert "95% interval 0." in end


def test_features_that_are_bought_together_are_explained_once(run, chosen) -> None:
    walk = load(chosen).walk()
    together = walk.why.features
    result = run("ask", chosen, input=f"{EVERYTHING[together[0]]}\nstop\n")
    if len(together) > 1:
        assert result.stdout.count("why: ") == 1
        assert f"why: {', '.join(together)} together (CAD " in result.stdout


def test_json_has_reasons_and_interval(run, chosen) -> None:
    found = json.loads(run("ask", chosen, "--json", input=replies(chosen)).stdout)
    low, high = found["interval"]
    assert 0 <= low < high <= 1
    assert found["receipt"]["interval"] == [low, high]
    reasons = [purchase["reason"] for purchase in found["receipt"]["purchases"]]
    assert all(reason["kind"] == "risk" for reason in reasons)
    assert found["receipt"]["stopped"] in ("complete", "sure", "not_worth_it")


def test_an_unknown_name_gets_a_clear_message(run, model) -> None:
    result = run("ask", model, input="bogus=1\ncohl=1\nstop\n")
    assert "there is no feature 'bogus'; wanted now: " in result.stderr
    assert "there is no feature 'cohl'; did you mean 'chol'?" in result.stderr


def test_a_value_is_shown_with_its_interval(run, folder, frame) -> None:
    model = thrifty.BudgetRegressor(effort="fast", random_state=0)
    model.fit(frame[["chol", "fbs"]], frame["chol"] + 0.1 * frame["fbs"])
    model.save(folder / "values.thrifty")
    row = {"chol": "0.3", "fbs": "0.2"}
    result = run("ask", folder / "values.thrifty", input=replies(folder / "values.thrifty", row))
    end = result.stdout[result.stdout.index("prediction: ") :].splitlines()[0]
    assert re.fullmatch(r"prediction: [-0-9.]+ \(95% interval [-0-9.]+ to [-0-9.]+\)", end)
    assert "expected to cut the mean error from" in result.stdout


def test_a_value_far_outside_the_training_range_is_noted(run, model) -> None:
    odd = {**EVERYTHING, "age": "615"}
    known = run("ask", model, "--known", "age=615", input="stop\n")
    assert "note: age: 615 is outside the range of the training rows" in known.stdout
    typed = run("ask", model, input=f"age={odd['age']}\nstop\n").stdout
    note = "  note: age: 615 is outside the range of the training rows"
    assert typed.count(note) == 1 and typed.index("age=615") < typed.index(note)
    found = run("ask", model, "--json", input="age=615\nstop\n")
    assert len(json.loads(found.stdout)["remarks"]) == 1 and note in found.stderr
    assert "note: " not in run("ask", model, input=replies(model)).stdout
