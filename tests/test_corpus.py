"""Files written by earlier versions are read, and answer, as they did; what was refused still is.

`tests/corpus` holds files of every kind that Thrifty reads, and `expected.json` what the version
that wrote them made of them. `tests/corpus/refused` holds files that every version refuses. New
ones are written by `tests/corpus/write.py`, `serving.py` and `refused.py`, which never touch a file
that exists.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thrifty.errors
from thrifty import OnlineGate, Prices, describe, load, load_points
from thrifty.cli.inputs.cost_files import read_costs_file
from thrifty.cli.inputs.tables import read_table
from thrifty.errors import ThriftyError
from thrifty.frontier.curve import Curve
from thrifty.frontier.jobs import ResumeFolder, digest_of_settings
from thrifty.learn.adopt import adopt
from thrifty.model import KINDS
from thrifty.serve import ASK, Case, Ledger, Runtime, read_sources

CORPUS = Path(__file__).parent / "corpus"
EXPECTED = json.loads((CORPUS / "expected.json").read_text())
REFUSED = json.loads((CORPUS / "refused" / "expected.json").read_text())
MODELS = sorted(path.stem for path in CORPUS.glob("*.thrifty"))
ADOPTED = sorted(
    path.name for pattern in ("lightgbm*", "xgboost*") for path in CORPUS.glob(pattern)
)
# Bytes of all files but the scripts.
MAX_SIZE = 460_000


def script(name):
    """Import a script of the corpus."""
    spec = importlib.util.spec_from_file_location(name, CORPUS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers_as_expected(predictor, expected):
    """Compare predictions, probabilities, used features and bills with those that were kept."""
    table = np.array(expected["rows"]) if "rows" in expected else pd.DataFrame(expected["columns"])
    if predictor.classes is None:
        np.testing.assert_allclose(predictor.predict(table), expected["predict"], rtol=1e-12)
    else:
        assert predictor.predict(table).tolist() == expected["predict"]
        np.testing.assert_allclose(
            predictor.predict_proba(table), expected["proba"], rtol=1e-9, atol=1e-12
        )
    np.testing.assert_array_equal(predictor.used(table), np.array(expected["used"], dtype=bool))
    np.testing.assert_allclose(predictor.bill(table), expected["bill"], rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_an_old_model_file_answers_as_it_did(name):
    answers_as_expected(load(CORPUS / f"{name}.thrifty"), EXPECTED[name])


def test_an_old_file_of_operating_points_has_all_of_them():
    points, expected = load_points(CORPUS / "points.thrifty"), EXPECTED["points"]
    assert (points.metric, points.default, points.unit) == ("accuracy", 2, "CAD")
    assert [*points.bills] == expected["bills"] and [*points.qualities] == expected["qualities"]
    rows = pd.DataFrame(expected["columns"])
    assert [each.predict(rows).tolist() for each in points.predictors] == expected["answers"]


def test_the_corpus_holds_every_kind_of_model():
    assert {kind for name in MODELS for kind in EXPECTED[name]["kinds"]} == set(KINDS)


def test_the_corpus_holds_every_optional_part_of_a_file():
    headers = [describe(CORPUS / f"{name}.thrifty") for name in MODELS]
    prices = {part for header in headers for part, value in header["prices"].items() if value}
    assert {"requires", "panels", "delays", "also", "calls", "evaluation", "shared"} <= prices
    columns = {part for header in headers for each in header["schema"]["columns"] for part in each}
    assert {"other", "call"} <= columns
    assert any("decision" in header for header in headers)
    assert any("evidence.passes" in header["arrays"] for header in headers)
    labels = {header["classes"]["type"] for header in headers if header["classes"]}
    assert labels == {"bool", "int", "float", "str"}


def test_an_old_online_gate_goes_on_where_it_stopped():
    gate = OnlineGate.load(CORPUS / "online_gate.json", [lambda x: "no", lambda x: ASK])
    expected = EXPECTED["online_gate"]
    assert (gate.rounds, gate.asked, gate.explored) == (
        expected["rounds"], expected["asked"], expected["explored"])  # fmt: skip
    assert [gate.decide({"x": 0}).asks] == expected["next"]


@pytest.mark.parametrize("name", ["gate_open", "gate_changes"])
def test_an_old_online_gate_has_its_weights(name):
    experts = [lambda x: "no", lambda x: "yes" if x["x"] > 3 else "no", lambda x: ASK]
    gate, expected = OnlineGate.load(CORPUS / f"{name}.json", experts), EXPECTED[name]
    for figure in ("rounds", "asked", "explored", "waits"):
        assert getattr(gate, figure) == expected[figure]
    np.testing.assert_allclose(gate.weights, expected["weights"], rtol=1e-12)


@pytest.mark.parametrize("name", ["gate_many", "gate_rates"])
def test_an_old_online_gate_awaits_its_labels(name):
    experts = [lambda x: "no", lambda x: "yes" if x["x"] > 3 else "no", lambda x: ASK]
    gate, expected = OnlineGate.load(CORPUS / f"{name}.json", experts), EXPECTED[name]
    for figure in ("rounds", "asked", "explored", "answered", "expired", "waits"):
        assert getattr(gate, figure) == expected[figure]
    np.testing.assert_allclose(gate.weights, expected["weights"], rtol=1e-12)
    assert list(gate.open_keys) == expected["keys"]
    estimates = gate.feedback("yes", expected["keys"][1])
    np.testing.assert_allclose(estimates, expected["estimates"], rtol=1e-12)


@pytest.mark.parametrize("name", ADOPTED)
def test_an_old_model_of_another_library_answers_as_it_did(name):
    answers_as_expected(adopt(CORPUS / name), EXPECTED[Path(name).stem])


def resume(folder):
    """Open a copy of the resume folder of the corpus; return it with the settings of its jobs."""
    shutil.copytree(CORPUS / "resume", folder)
    jobs = json.loads((folder / "manifest.json").read_text())["jobs"]
    return ResumeFolder(folder, list(jobs.values())), list(jobs.values())


def test_an_old_resume_folder_is_resumed(tmp_path):
    kept, settings = resume(tmp_path / "resume")
    curve, expected = Curve.merge(kept.get(each) for each in settings), EXPECTED["resume"]
    points = [[p.learner, p.knob, p.bill, p.quality, p.ceiling] for p in curve.points]
    assert points == expected["points"]
    assert [p.bill for p in curve.frontier] == expected["frontier"]
    assert (curve.full, curve.unit) == (expected["full"], expected["unit"])


@pytest.mark.parametrize("name", ["prices.csv", "prices.toml"])
def test_an_old_price_list_has_its_prices(name):
    bound = Prices.read(CORPUS / name).bind(["size", "weight", "count", "scan"])
    assert bound.plain() == EXPECTED[name]["plain"]
    assert bound.full == EXPECTED[name]["full"]


@pytest.mark.parametrize("name", ["costs.csv", "costs.toml"])
def test_an_old_file_of_costs_has_its_costs(name):
    costs = read_costs_file(CORPUS / name, ["ill", "well"])
    assert [[*pair, cost] for pair, cost in costs.items()] == EXPECTED[name]


def test_an_old_table_has_its_values():
    frame = read_table(CORPUS / "table.csv")
    shown = frame.astype(object).where(frame.notna(), None)
    assert {name: shown[name].tolist() for name in shown} == EXPECTED["table.csv"]


def test_old_sources_are_what_they_were():
    sources = read_sources(CORPUS / "sources.toml", {"TOKEN": "t0p-s3cret"})
    assert [[repr(each), each.terms.price] for each in sources] == EXPECTED["sources.toml"]


def test_an_old_ledger_has_its_cases_and_goes_on(tmp_path):
    serving = script("serving")
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.executescript((CORPUS / "ledger.sql").read_text())
    (tmp_path / "key").touch(0o600)
    (tmp_path / "key").write_bytes(serving.KEY)
    with Ledger.open(tmp_path / "ledger.db", tmp_path / "key", create=False) as ledger:
        assert serving.cases_of(ledger) == EXPECTED["ledger"]
        predictor = load(CORPUS / "clinic.thrifty")
        with Runtime(predictor, serving.sources(), ledger) as runtime:
            receipt = runtime.answer(Case("case-0", subject="person-0"))
        assert {charge.outcome for charge in receipt.charges} == {"earlier"}


# --- what is refused ---------------------------------------------------------


def read_curve(path, folder):
    """Read a curve as the one of the first job of the resume folder."""
    kept, settings = resume(folder / "resume")
    shutil.copy(path, kept.folder / f"{digest_of_settings(settings[0])}.curve")
    return kept.get(settings[0])


def read_manifest(path, folder):
    """Open a folder that has this manifest."""
    _, settings = resume(folder / "resume")
    shutil.copy(path, folder / "resume" / "manifest.json")
    return ResumeFolder(folder / "resume", settings)


READERS = {
    "model": lambda path, folder: load(path),
    "points": lambda path, folder: load_points(path),
    "gate": lambda path, folder: OnlineGate.load(path, [lambda x: "no"] * 3),
    "curve": read_curve,
    "manifest": read_manifest,
    "adopt": lambda path, folder: adopt(path),
    "prices": lambda path, folder: Prices.read(path),
    "costs": lambda path, folder: read_costs_file(path, ["ill", "well"]),
    "table": lambda path, folder: read_table(path),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_was_refused_is_refused(name, tmp_path):
    expected = REFUSED[name]
    with pytest.raises(ThriftyError) as caught:
        READERS[expected["reader"]](CORPUS / "refused" / name, tmp_path)
    assert isinstance(caught.value, getattr(thrifty.errors, expected["error"]))
    assert expected["says"] in str(caught.value)


def test_the_folder_of_refused_files_is_what_is_expected_of_it():
    names = {path.name for path in (CORPUS / "refused").iterdir()}
    assert names == {*REFUSED, "expected.json"}


# --- the corpus itself -------------------------------------------------------


def test_the_corpus_is_small():
    files = [
        path for path in CORPUS.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    assert sum(path.stat().st_size for path in files) < MAX_SIZE


@pytest.mark.parametrize("name", ["write", "refused", "serving"])
def test_the_scripts_touch_no_file_that_exists(name):
    before = {path: path.read_bytes() for path in CORPUS.rglob("*") if path.is_file()}
    script(name).main([])
    after = {path: path.read_bytes() for path in CORPUS.rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if path.suffix != ".pyc"} == {
        path: data for path, data in before.items() if path.suffix != ".pyc"
    }


def test_a_recipe_of_the_corpus_still_writes_a_file_of_its_kind():
    module = script("write")
    predictor = module.MODELS["clinic"]()
    expected = module.expected_of(predictor, module.rows_for(predictor))
    assert expected["kinds"] == EXPECTED["clinic"]["kinds"]
