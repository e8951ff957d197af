"""Model files written by earlier versions still load and still answer the same.

`tests/corpus` holds one file of every kind; `expected.json` holds, for each of them, a few rows and
what the version that wrote the file answered for them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import OnlineGate, load
from thrifty.model import KINDS
from thrifty.serve import ASK

CORPUS = Path(__file__).parent / "corpus"
EXPECTED = json.loads((CORPUS / "expected.json").read_text())
MODELS = sorted(path.stem for path in CORPUS.glob("*.thrifty"))


@pytest.mark.parametrize("name", MODELS)
def test_an_old_model_file_answers_as_it_did(name):
    expected = EXPECTED[name]
    predictor = load(CORPUS / f"{name}.thrifty")
    table = pd.DataFrame(expected["columns"])
    if predictor.classes is None:
        np.testing.assert_allclose(predictor.predict(table), expected["predict"], rtol=1e-12)
    else:
        assert predictor.predict(table).tolist() == expected["predict"]
        np.testing.assert_allclose(
            predictor.predict_proba(table), expected["proba"], rtol=1e-9, atol=1e-12
        )
    np.testing.assert_array_equal(predictor.used(table), np.array(expected["used"], dtype=bool))
    np.testing.assert_allclose(predictor.bill(table), expected["bill"], rtol=1e-12)


def test_the_corpus_holds_every_kind_of_model():
    assert {kind for name in MODELS for kind in EXPECTED[name]["kinds"]} == set(KINDS)


def test_an_old_online_gate_goes_on_where_it_stopped():
    gate = OnlineGate.load(CORPUS / "online_gate.json", [lambda x: "no", lambda x: ASK])
    expected = EXPECTED["online_gate"]
    assert (gate.rounds, gate.asked, gate.explored) == (
        expected["rounds"], expected["asked"], expected["explored"])  # fmt: skip
    assert [gate.decide({"x": 0}).asks] == expected["next"]
