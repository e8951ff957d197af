"""The fuzzer finds bugs that are planted, makes them small, and does the same again."""

from __future__ import annotations

import csv
import json
import threading
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from fuzz import limits
from fuzz.__main__ import main
from fuzz.documents import Change, Damage, JsonFile, Lie, ModelFile, TomlFile
from fuzz.edits import DELETE, INSERT, SET, Edit, apply, apply_all, propose
from fuzz.laws import BrokenLawError, check_predictor, check_text
from fuzz.ledgers import LedgerFile
from fuzz.limits import LimitError, limited
from fuzz.lines import Lines
from fuzz.planted import read_shelf
from fuzz.search import Fuzzer, run_case, write_escape
from fuzz.targets import CORPUS, TARGETS, Target, ignore
from fuzz.values import PLAIN, dump_json, raw
from fuzz.zips import Quirk
from thrifty import load
from thrifty.bundle import Predictor

# The fuzzer traces lines itself, which must not be mixed with the measuring of coverage.
pytestmark = pytest.mark.no_cover

BY_NAME = {target.name: target for target in TARGETS}


def shelf(**changes) -> Target:
    """Return the target with the planted bug."""
    seed = json.dumps({"thing": {"size": 3, "parts": [1, 2]}}).encode()
    return Target("shelf", JsonFile(), [seed], changes.get("read", read_shelf), ignore)


def fuzzed(target: Target, folder: Path, cases: int) -> Fuzzer:
    """Return a fuzzer that has tried some cases, guided by the lines of the planted reader."""
    fuzzer = Fuzzer([target], 0, folder, lines=Lines(str(Path(__file__).parent)))
    fuzzer.run(cases)
    return fuzzer


# --- what is found -----------------------------------------------------------


@pytest.fixture(scope="module")
def escape(tmp_path_factory):
    """The first escape from the planted reader."""
    fuzzer = fuzzed(shelf(), tmp_path_factory.mktemp("planted"), 0)
    while not fuzzer.escapes and fuzzer.cases < 3000:
        fuzzer.step()
    return next(iter(fuzzer.escapes.values()), None)


def test_a_planted_bug_is_found_and_made_small(escape):
    assert escape is not None
    assert escape.what.startswith("ZeroDivisionError")
    assert len(escape.edits) == 2
    plain = json.loads(escape.data)
    assert plain["thing"]["size"] > 10
    assert plain["thing"]["parts"] == []


def test_the_file_of_an_escape_leads_to_it_again(escape, tmp_path):
    path = write_escape(escape, tmp_path / "escapes", seed=0)
    end, what, _ = run_case(escape.target, path.read_bytes(), tmp_path)
    assert (end, what) == ("escape", escape.what)
    about = json.loads(path.with_suffix("").with_suffix(".about.json").read_text())
    assert about["case"] == escape.case
    assert len(about["edits"]) == 2


def test_documents_that_reach_new_lines_are_kept(tmp_path):
    fuzzer = fuzzed(shelf(), tmp_path, 300)
    kept = fuzzer._pools["shelf"][1:]
    assert any(entry.document.get("json") != shelf().documents[0]["json"] for entry in kept)
    assert {entry.refused for entry in kept} == {True, False}


def test_the_same_seed_gives_the_same_cases(tmp_path):
    one, other = (fuzzed(shelf(), tmp_path, 150) for _ in range(2))
    assert one.counts == other.counts
    assert [e.case for e in one.escapes.values()] == [e.case for e in other.escapes.values()]
    different = Fuzzer([shelf()], 1, tmp_path)
    different.run(150)
    assert different.counts != one.counts


def test_an_escape_is_counted_and_reported_once(tmp_path):
    def broken(path):
        raise KeyError("planted")

    reported = []
    fuzzer = Fuzzer([shelf(read=broken)], 0, tmp_path)
    fuzzer.run(50, report=reported.append)
    assert len(reported) == 1
    assert reported[0].count == 50
    assert reported[0].edits == ()


def test_a_bill_above_its_bound_is_an_escape():
    class Overcharging(Predictor):
        def bill(self, X):
            return super().bill(X) + 1000.0

    predictor = load(CORPUS / "forest_classes.thrifty")
    check_predictor(predictor)
    predictor.__class__ = Overcharging
    with pytest.raises(BrokenLawError, match="exceeds"):
        check_predictor(predictor)


def test_a_walk_that_differs_from_the_batch_is_an_escape():
    class Tilted(Predictor):
        def predict_proba(self, X):
            return np.roll(super().predict_proba(X), 1, axis=1)

    predictor = load(CORPUS / "forest_classes.thrifty")
    predictor.__class__ = Tilted
    with pytest.raises(BrokenLawError, match="walk and batch"):
        check_predictor(predictor)


@pytest.mark.parametrize("text", ["\x1b[31m", "\x9b2J", "a\x00", "\ud800", "\u202e" + "\x07"])
def test_text_that_controls_the_terminal_is_an_escape(text):
    check_text("CAD 3.50\n\tall is well")
    with pytest.raises(BrokenLawError):
        check_text(text)


def test_a_case_that_takes_too_long_is_interrupted(monkeypatch):
    monkeypatch.setattr(limits, "INTERRUPT_SECONDS", 0.05)
    with pytest.raises(LimitError, match="interrupted"), limited():
        while True:
            pass


def test_a_case_that_waits_forever_is_interrupted(monkeypatch):
    monkeypatch.setattr(limits, "WAITING_SECONDS", 0.05)
    with pytest.raises(LimitError, match="no end in sight"), limited():
        threading.Event().wait(60)


def test_a_case_that_takes_too_much_memory_is_an_escape(monkeypatch):
    monkeypatch.setattr(limits, "MAX_BYTES", 60 * 2**20)
    with pytest.raises(LimitError, match="MB"), limited():
        np.ones(20 * 2**20).sum()


# --- the targets -------------------------------------------------------------


@pytest.mark.parametrize("name", BY_NAME)
def test_every_seed_is_read(name, tmp_path):
    target = BY_NAME[name]
    for k, document in enumerate(target.documents):
        assert run_case(target, target.file_format.join(document), tmp_path) == ("read", "", ""), k


@pytest.mark.parametrize("name", BY_NAME)
def test_every_target_reads_some_cases_and_refuses_others(name, tmp_path):
    fuzzer = Fuzzer([BY_NAME[name]], 5, tmp_path)
    fuzzer.run(60)
    ends = fuzzer.counts[name]
    assert sum(ends.values()) == 60
    assert ends["read"] > 0
    # A reply is never refused: one that cannot be used leaves it to the local model, or is skipped.
    assert (ends["refused"] > 0) == (name not in ("replies of calls", "HTTP sources"))


def test_what_is_changed_after_sealing_is_refused(tmp_path):
    target = BY_NAME["model files"]
    damage = Damage((Change("unsealed", 0.5, 7),))
    damaged = apply(target.documents[0], Edit(("damage",), SET, damage))
    assert run_case(target, target.file_format.join(damaged), tmp_path)[0] == "refused"


def test_a_joined_file_answers_like_its_seed(tmp_path):
    path = CORPUS / "clinic.thrifty"
    copy = tmp_path / "copy.thrifty"
    copy.write_bytes(ModelFile().join(ModelFile().split(path.read_bytes())))
    rows = {name: [0.5, 1.0] for name in ("size", "weight", "scan", "count")}
    rows |= {"town": ["bonn", "ulm"], "grade": ["low", "high"]}
    np.testing.assert_array_equal(load(copy).predict_proba(rows), load(path).predict_proba(rows))


@pytest.mark.parametrize("name", BY_NAME)
def test_whatever_an_edit_puts_into_a_document_is_written(name):
    target = BY_NAME[name]
    faults = [Damage((Change("cut", 0.9, 1),)), Quirk("size", 0, 1), Lie("0/nodes", "dtype", {})]
    for key in {*target.documents[0], "damage", "zip", "lie"}:
        for value in [*faults, ("zip", "flip"), ((),), *PLAIN]:
            assert isinstance(target.file_format.join({**target.documents[0], key: value}), bytes)


def test_a_ledger_without_anything_is_written_as_an_empty_file():
    assert LedgerFile().join({"application": "["}) == b""


def test_toml_is_written_as_it_was_read():
    text = (CORPUS / "prices.toml").read_bytes()
    document = TomlFile().split(text)
    assert TomlFile().split(TomlFile().join(document)) == document


# --- edits -------------------------------------------------------------------


def test_an_edit_leaves_the_document_as_it_was():
    document = {"a": [1, {"b": 2}], "c": 3}
    assert apply(document, Edit(("a", 1, "b"), SET, 9)) == {"a": [1, {"b": 9}], "c": 3}
    assert apply(document, Edit(("a", 0), DELETE)) == {"a": [{"b": 2}], "c": 3}
    assert apply(document, Edit(("a", 1), INSERT, 7)) == {"a": [1, 7, {"b": 2}], "c": 3}
    assert apply(document, Edit(("d",), INSERT, 4)) == {**document, "d": 4}
    assert document == {"a": [1, {"b": 2}], "c": 3}


def test_an_edit_of_a_place_that_is_gone_does_nothing():
    document = {"a": [1]}
    for path in (("b", "c"), ("a", 5), ("a", 0, "x"), ("a", "x")):
        assert apply(document, Edit(path, SET, 9)) == document


def test_raw_values_are_written_as_they_are():
    assert dump_json({"a": raw("NaN"), "b": raw('1, "b": 2')}) == b'{"a": NaN, "b": 1, "b": 2}'


def test_proposals_are_varied():
    document = BY_NAME["model files"].documents[0]
    edits = [propose(document, Random(k), [document], gentle=k % 2 == 0) for k in range(400)]
    acts = Counter(edit.act for edit in edits)
    assert set(acts) == {SET, INSERT, DELETE}
    assert {edit.path[0] for edit in edits if edit.path} == {"header", "arrays"}
    assert any(isinstance(edit.value, np.ndarray) for edit in edits)
    assert apply_all(document, edits[:1]) is not document


# --- the command line --------------------------------------------------------


def test_the_command_writes_a_table_of_what_was_tried(tmp_path, capsys):
    table = tmp_path / "fuzz.csv"
    options = ["--cases", "60", "--target", "costs CSV", "--target", "prices CSV"]
    assert main([*options, "--table", str(table), "--folder", str(tmp_path)]) == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["input"] for row in rows] == ["prices CSV", "costs CSV", "all"]
    assert int(rows[-1]["cases"]) == 60
    assert "60 cases" in capsys.readouterr().out


def test_the_command_fails_if_anything_escapes(tmp_path, capsys, monkeypatch):
    def broken(path):
        raise KeyError("planted")

    monkeypatch.setattr("fuzz.__main__.TARGETS", [shelf(read=broken)])
    assert main(["--cases", "5", "--folder", str(tmp_path)]) == 1
    assert "escape: shelf: KeyError" in capsys.readouterr().out
    assert list(tmp_path.glob("shelf-*.json"))
