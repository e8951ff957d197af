"""The demonstration: its vendors, its files, and that a server can serve them."""

from __future__ import annotations

import asyncio
import re
import threading

import httpx2
import pytest

from thrifty.bundle import load
from thrifty.serve import Case, Ledger, Runtime, read_sources
from thrifty.web import demo as demo_module
from thrifty.web.demo import QUESTIONS, demonstration, read_patients


@pytest.fixture(scope="module")
def demo():
    with demonstration() as shown:
        yield shown


@pytest.fixture(scope="module")
def patient_sources(demo):
    """The same sources, for a machine that is slower than the vendors are meant to be."""
    file = demo.sources.with_name("patient.toml")
    file.write_text(re.sub(r"timeout = .*", "timeout = 60", demo.sources.read_text()))
    return file


def serve(demo, patient: str, file):
    """Predict a patient who has told what is asked."""
    predictor, sources = load(demo.model), read_sources(file)

    async def run():
        with Ledger.temporary() as ledger:
            runtime = Runtime(predictor, sources, ledger, asked=QUESTIONS, linger=0.1)
            async with runtime:
                case = Case(known=demo.told(patient), context={"patient": patient})
                return await runtime.serve(case)

    return asyncio.run(run())


def test_every_patient_has_a_value_or_none_for_every_feature() -> None:
    patients = read_patients()
    assert len(patients) == 920
    assert len({tuple(row) for row in patients.values()}) == 1
    assert None in patients["p5"].values() or None in patients["p900"].values()


def test_a_case_is_bought_from_the_vendors(demo, patient_sources, heart_table) -> None:
    receipt = serve(demo, "p7", patient_sources)
    assert receipt.answer == load(demo.model).predict(heart_table.iloc[[7]])[0]
    assert receipt.stopped == "settled"
    assert {charge.outcome for charge in receipt.charges} == {"delivered"}
    assert receipt.spent > 80


def test_the_flaky_vendor_is_asked_again_and_charged_once(demo, patient_sources) -> None:
    receipts = [serve(demo, f"p{i}", patient_sources) for i in (6, 7, 8)]
    charges = [charge for receipt in receipts for charge in receipt.charges]
    assert max(charge.attempts for charge in charges if charge.source == "cardiology") > 1
    assert {charge.outcome for charge in charges if charge.source == "cardiology"} == {"delivered"}


def test_the_silent_vendor_costs_the_value_and_not_the_answer(demo) -> None:
    receipts = [serve(demo, patient, demo.sources) for patient in ("p5", "p10", "p15")]
    silent = [c for r in receipts for c in r.charges if c.source == "imaging"]
    assert silent and {charge.outcome for charge in silent} <= {"open", "assumed"}
    assert all(receipt.answer in ("no", "yes") for receipt in receipts)


def test_nobody_is_found_under_an_unknown_number(demo) -> None:
    assert httpx2.get(f"{demo.url}/laboratory/p920").status_code == 404


def test_nothing_is_left_behind(monkeypatch) -> None:
    monkeypatch.setattr(demo_module, "SLOW", 30.0)
    before = threading.active_count()
    with demonstration() as shown:
        with pytest.raises(httpx2.ReadTimeout):  # somebody still waits when it ends
            httpx2.get(f"{shown.url}/laboratory/p7", timeout=httpx2.Timeout(30, read=0.2))
        folder = shown.model.parent
        assert folder.exists()
    assert not folder.exists()
    assert threading.active_count() == before
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(shown.url)
