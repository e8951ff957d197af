"""`thrifty ledger`: what is open, export and retention."""

from __future__ import annotations

import json

import pytest

from thrifty.serve import Ledger
from thrifty.serve.ledger.records import Ending, Intent, Settlement

ENDING = Ending("complete", "complete", '"ill"', "[]", 2.0, 2.0, "CAD")


@pytest.fixture
def path(tmp_path):
    """A ledger with a settled purchase, one under way and an abandoned one."""
    file = tmp_path / "ledger.db"
    with Ledger.open(file) as ledger:
        header = ledger.header("a", None, "model", '[["age", 63]]')
        grants = ledger.intend(header, [Intent("bought", 2.0)]).result()
        owner = grants.mine["bought"]
        settlement = Settlement(
            header.case, "bought", owner, "settled", 2.0, "delivered", '[["x", 7]]'
        )
        ledger.settle([settlement]).result()
        ledger.finish(header, ENDING).result()
        ledger.intend(header, [Intent("under way", 3.0, lease=3600.0)]).result()
        ledger.intend(header, [Intent("dead", 4.0, lease=0.0)]).result()
    return file


def test_open_purchases_are_listed(run, path) -> None:
    result = run("ledger", "open", path)
    assert result.exit_code == 0
    assert "under way" in result.stdout and "abandoned" in result.stdout
    assert "bought" not in result.stdout


def test_abandoned_purchases_are_resolved_on_demand(run, path) -> None:
    result = run("ledger", "open", path, "--assume-paid")
    assert "purchases recorded as paid: 1, for 4.00" in result.stdout
    plain = json.loads(run("ledger", "open", path, "--assume-paid", "--json").stdout)
    assert plain["assumed_paid"] == 0
    assert [(e["item"], e["quoted"], e["abandoned"]) for e in plain["open"]] == [
        ("under way", 3.0, False)
    ]


def test_a_ledger_with_nothing_open_says_so(run, tmp_path) -> None:
    Ledger.open(tmp_path / "new.db").close()
    assert run("ledger", "open", tmp_path / "new.db").stdout == "no open purchases\n"


def test_cases_are_exported_with_or_without_values(run, path, tmp_path) -> None:
    result = run("ledger", "export", path, "-o", tmp_path / "cases.jsonl")
    assert "cases.jsonl: 1\n" in result.stdout
    (case,) = map(json.loads, (tmp_path / "cases.jsonl").read_text().splitlines())
    assert case["header"]["known"] == '[["age", 63]]' and case["ending"]["answer"] == '"ill"'
    values = {purchase["item"]: purchase["values"] for purchase in case["purchases"]}
    assert values == {"bought": '[["x", 7]]', "under way": None, "dead": None}
    run("ledger", "export", path, "-o", tmp_path / "bare.jsonl", "--no-values")
    text = (tmp_path / "bare.jsonl").read_text()
    assert '"known": null' in text and '"answer": null' in text
    assert '["age"' not in text and '"ill' not in text and '["x"' not in text


def test_a_case_without_an_end_is_exported_too(run, tmp_path) -> None:
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.intend(ledger.header("a", None, "m", None), [Intent("x", 1.0)]).result()
    run("ledger", "export", tmp_path / "ledger.db", "-o", tmp_path / "c.jsonl", "--no-values")
    assert json.loads((tmp_path / "c.jsonl").read_text())["ending"] is None


def test_old_values_are_erased(run, path) -> None:
    result = run("ledger", "retain", path, "--values-days", 0, "--cases-days", 0)
    assert result.stdout == "purchases whose values were erased: 1; cases deleted: 0\n"


def test_retention_needs_a_limit(run, path) -> None:
    result = run("ledger", "retain", path)
    assert result.exit_code == 2 and "--values-days" in result.stderr


def test_a_missing_ledger_is_not_created(run, tmp_path) -> None:
    result = run("ledger", "open", tmp_path / "missing.db")
    assert result.exit_code == 1 and "there is no such file" in result.stderr
    assert not list(tmp_path.iterdir())
