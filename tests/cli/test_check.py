"""`thrifty check`: the plan of a fit, its estimated duration, and nothing written."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thrifty.cli.check import format_duration

CHECK = ("check", "table.csv", "--target", "ill", "--learner", "greedy-miser")
PRICED = (*CHECK, "--prices", "prices.csv", "--unit", "CAD")


def test_the_plan_is_printed_and_nothing_is_written(run, folder, files) -> None:
    before = files()
    result = run(*PRICED, "--budget", "5.75", "--cap", "11.5")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("training on small samples ... ")
    for words in ("classification (inferred): 4 features, CAD 11.50 for all",
                  "144 training rows, 48 validation rows, 48 test rows", "metric: accuracy",
                  "budget: CAD 5.75, 50% of the full price", "cap: CAD 11.50, 100% of the",
                  "greedy-miser", "in total; nothing was written"):  # fmt: skip
        assert words in result.stdout
    assert files() == before


def test_json_has_the_same_contents(run, folder) -> None:
    result = run(*PRICED, "--task", "classification", "--budget", "5", "--json")
    found = json.loads(result.stdout)
    assert all(line.startswith("training ") for line in result.stderr.splitlines())
    assert found.pop("seconds")["greedy-miser"] > 0
    assert found == {
        "task": "classification",
        "inferred": False,
        "target": "ill",
        "metric": "accuracy",
        "features": 4,
        "full": 11.5,
        "unit": "CAD",
        "rows": {"train": 144, "validation": 48, "test": 48},
        "cross_fitted": False,
        "budget": 5.0,
        "cap": None,
    }


def test_a_ladder_is_timed_by_default_on_all_rows_but_the_test_set(run, folder) -> None:
    found = json.loads(run(*CHECK[:4], "--json").stdout)
    assert list(found["seconds"]) == ["ladder"]
    assert found["rows"] == {"train": 192, "validation": 192, "test": 48}
    assert found["cross_fitted"]
    assert "192 training rows, 48 test rows" in run(*CHECK[:4]).stdout


def test_the_split_is_that_of_the_fit(run, table) -> None:
    table(ill=np.arange(240) % 3, q=np.repeat(np.arange(24), 10))
    options = ("--qid", "q", "--json", "--seed", "4")
    planned = json.loads(run(*CHECK, *options).stdout)
    fitted = json.loads(run("fit", *CHECK[1:], *options, "--budget", "9", "-o", "m").stdout)
    for key in ("task", "metric", "features", "full", "rows", "cross_fitted"):
        assert planned[key] == fitted["settings"][key]


def test_several_budgets_weights_and_costs_are_checked_as_fit_does(run, table, folder) -> None:
    table(w=1.0)
    text = "[prices]\nage = 1\nchol = 5\nfbs = 3\nsex = 0\n[delays]\nchol = 30\n"
    toml = f'unit = "CAD"\ndelay_unit = "min"\n{text}[currencies.ms.prices]\nage = 2\n'
    (folder / "p.toml").write_text(toml)
    (folder / "costs.csv").write_text("true,predicted,cost\nno,yes,20\nyes,no,100\n")
    options = ("--prices", "p.toml", "--weight-column", "w", "--costs", "costs.csv")
    limits = ("--budget", "7", "--budget", "ms=1", "--cap", "latency=30")
    result = run(*CHECK, *options, *limits)
    assert result.exit_code == 0, result.output
    for words in ("budget: CAD 7.00, 77.8% of the full price\n", "budget: 1.00 ms\n",
                  "cap: a latency of 30 min\n", "48 validation rows",
                  "metric: neg_error_cost"):  # fmt: skip
        assert words in result.stdout
    for wrong in (("--budget", "mss=1"), ("--weight-column", "v")):
        fitted = run("fit", *CHECK[1:], *options, *wrong, "-o", "m.thrifty")
        checked = run(*CHECK, *options, *wrong)
        assert checked.exit_code == fitted.exit_code > 0
        assert checked.stderr == fitted.stderr


def test_free_features_have_no_share_of_the_full_price(run, folder) -> None:
    (folder / "prices.csv").write_text("feature,price\nage,0\nchol,0\nfbs,0\nsex,0\n")
    assert "budget: CAD 1.00\n" in run(*PRICED, "--budget", "1").stdout


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 second"), (1.4, "1 second"), (1.6, "2 seconds"), (95, "95 seconds"),
     (150, "2 minutes"), (3600, "60 minutes"), (9000, "2 hours")],
)  # fmt: skip
def test_durations_are_rounded(seconds, words) -> None:
    assert format_duration(seconds) == f"about {words}"


# --- errors ------------------------------------------------------------------

WRONG = {
    "budget": (2, {}, ("--budget", "-1")),
    "cap": (2, {}, ("--cap", "inf")),
    "clash": (2, {}, ("--qid", "ill")),
    "column": (3, {}, ("--target", "il", "--drop", "sx")),
    "learner": (3, {}, ("--learner", "oracle")),
    "scoring": (3, {}, ("--scoring", "r2")),
    "queries": (3, {}, ("--task", "ranking")),
    "values": (3, {}, ("--task", "regression")),
    "classes": (3, {"ill": "yes"}, ()),
    "infinite": (3, {"chol": [1.0, np.inf] * 120}, ()),
    "price": (3, {"weight": 1.0}, ("--prices", "prices.csv")),
    "groups": (3, {"family": np.arange(240) // 120}, ("--groups", "family")),
}


@pytest.mark.parametrize(("code", "columns", "arguments"), WRONG.values(), ids=WRONG)
def test_errors_are_those_of_the_fit(run, table, refused, code, columns, arguments) -> None:
    table(**columns)
    checked = run(*CHECK, *arguments)
    refused(checked, code=code)
    budget = () if "--budget" in arguments else ("--budget", "5")
    fitted = run("fit", *CHECK[1:], *arguments, *budget, "-o", "m.thrifty")
    refused(fitted, code=code)
    if code != 2:  # the usage names the verb
        assert checked.stderr == fitted.stderr


def test_a_class_without_training_rows_is_reported(run, table, refused) -> None:
    # All rows of one class are in one group, which is in the validation set for this seed.
    from thrifty.frontier.splits import split_three

    family = np.arange(240) // 10
    validation = split_three("classification", np.zeros(240), family, 0.2, 0)["validation"]
    label = np.where(family == family[validation[0]], "rare", "common")
    label[:10] = np.where(label[:10] == "rare", "rare", "other")
    table(ill=label, family=family)
    checked = run(*CHECK, "--groups", "family")
    refused(checked, "rare")
    refused(run("fit", *CHECK[1:], "--groups", "family", "--budget", "5", "-o", "m"), "rare")
