"""`thrifty what-if`: past cases on another model."""

from __future__ import annotations

import asyncio
import json

import pytest

from thrifty import load
from thrifty.serve import Case, Ledger, ReplaySource, Runtime


@pytest.fixture
def ledger(model, frame, tmp_path):
    path = tmp_path / "ledger.db"
    predictor = load(model)
    names = list(predictor.schema.names)
    rows = {i: row for i, row in enumerate(frame[names].head(20).to_dict("records"))}
    source = ReplaySource("rows", rows, names, by="row")
    with Ledger.open(path) as opened:
        runtime = Runtime(predictor, [source], opened)

        async def serve_all():
            for i in rows:
                await runtime.serve(Case(str(i), context={"row": i}))

        asyncio.run(serve_all())
    return path


def test_the_same_model_changes_nothing(run, ledger, model) -> None:
    result = run("what-if", ledger, model)
    assert result.exit_code == 0, result.stderr
    assert "cases replayed: 20" in result.stdout and "different answers: 0 (0.0%)" in result.stdout
    facts = json.loads(run("what-if", ledger, model, "--json").stdout)
    assert facts["bill_before"] == pytest.approx(facts["bill_after"])
    assert facts["spent_before"] == pytest.approx(20 * facts["bill_before"])


def test_a_cap_of_nothing_buys_nothing(run, ledger, model) -> None:
    facts = json.loads(run("what-if", ledger, model, "--cap", 0, "--json").stdout)
    assert facts["bill_after"] == 0.0


def test_what_cannot_be_compared_is_said(run, ledger, model) -> None:
    with Ledger.open(ledger) as opened:
        opened._writer.submit(
            lambda store: store._writer.execute(
                "UPDATE thrifty_purchase SET delivered = NULL WHERE item LIKE 'rows/%'"
            )
        ).result()
        opened.intend(opened.header("new", None, "m", None), []).result()
    result = run("what-if", ledger, model)
    assert "not comparable: 20, for lack of values, most often " in result.stdout
    assert "without values: 1, still open or erased" in result.stdout
