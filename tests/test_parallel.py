"""Files of every kind are read, used or refused by many threads and processes at once."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import OnlineGate, Prices, load, load_points
from thrifty.cli.inputs.cost_files import read_costs_file
from thrifty.cli.inputs.tables import read_table
from thrifty.errors import ThriftyError
from thrifty.learn.adopt import adopt
from thrifty.serve import ASK

CORPUS = Path(__file__).parent / "corpus"
EXPECTED = json.loads((CORPUS / "expected.json").read_text())
MODELS = sorted(path.stem for path in CORPUS.glob("*.thrifty"))
N_THREADS, N_FORKS = 8, 4
# Rows that are scored, and rows that are walked.
N_SCORED, N_WALKED = 6, 1
MAX_SECONDS = 600.0  # on a busy machine
READERS = {
    "model": load,
    "points": load_points,
    "gate": lambda path: OnlineGate.load(path, [lambda x: "no", lambda x: "yes", lambda x: ASK]),
    "adopt": adopt,
    "prices": Prices.read,
    "costs": lambda path: read_costs_file(path, ["ill", "well"]),
    "table": read_table,
}
# Other files of the corpus, and those that must be refused, by their readers; curves and manifests
# are read in a folder of their own.
OTHERS = {
    "gate_many.json": "gate", "points.thrifty": "points", "lightgbm_classes.txt": "adopt",
    "xgboost_categories.json": "adopt", "prices.csv": "prices", "prices.toml": "prices",
    "costs.csv": "costs", "costs.toml": "costs", "table.csv": "table",
} | {
    f"refused/{name}": expected["reader"]
    for name, expected in json.loads((CORPUS / "refused" / "expected.json").read_text()).items()
    if expected["reader"] in READERS
}  # fmt: skip


def answers(name):
    """Load one model of the corpus; return all that it says about some rows, as plain values."""
    predictor, expected = load(CORPUS / f"{name}.thrifty"), EXPECTED[name]
    if "rows" in expected:
        table = np.array(expected["rows"])[:N_SCORED]
        examples = [dict(enumerate(row)) for row in table.tolist()]
    else:
        table = pd.DataFrame(expected["columns"])[:N_SCORED]
        examples = table.to_dict("records")
    proba = None if predictor.classes is None else predictor.predict_proba(table).tolist()
    walks = []
    for example in examples[:N_WALKED]:
        walk = predictor.walk()
        while walk.asks:
            walk.tell({walk.asks[0]: example[walk.asks[0]]})
        walks.append((walk.answer, walk.scores.tolist(), str(walk.receipt)))
    return (
        predictor.predict(table).tolist(), proba, predictor.used(table).tolist(),
        predictor.bill(table).tolist(), walks,
    )  # fmt: skip


def read(name):
    """Read another file; return what it is, or why it is refused."""
    try:
        return repr(READERS[OTHERS[name]](CORPUS / name))
    except ThriftyError as error:
        return f"{type(error).__name__}: {error}"


def answers_from(start):
    """Return what all files say, beginning with another one in each thread."""
    names = MODELS[start:] + MODELS[:start]
    others = [*OTHERS][3 * start :] + [*OTHERS][: 3 * start]
    found = {name: repr(answers(name)) for name in names}
    return found | {name: read(name) for name in others}


def fork(start, due):
    """Start a process that computes all answers; its exit status says whether they are as due."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if answers_from(start) == due else 2
        finally:
            os._exit(status)  # no cleanup of what belongs to the parent
    return child


def status_of(child, end):
    """Wait for a process; kill it, and return None, if it is not done in time."""
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None


@pytest.mark.no_cover
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_eight_threads_and_four_forks_give_the_serial_answers():
    due = answers_from(0)
    refused = [name for name, said in due.items() if "Error: " in said]
    assert sorted(refused) == sorted(name for name in OTHERS if name.startswith("refused/"))
    found = {}

    def work(k):
        found[k] = answers_from(3 * k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(N_THREADS)]
    end = time.monotonic() + MAX_SECONDS
    for thread in threads:
        thread.start()
    # Forked while the threads are at work.
    children = [fork(5 * k, due) for k in range(N_FORKS)]
    statuses = [status_of(child, end) for child in children]
    for thread in threads:
        thread.join(MAX_SECONDS)
    assert statuses == [0] * N_FORKS
    assert [found.get(k) == due for k in range(N_THREADS)] == [True] * N_THREADS
