"""Tables, families of gates and models to call for the tests of this folder."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest

from thrifty import BoostedFamily, Call, GatedClassifier, LeavesFamily, LinearFamily, Prices
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.problem import GateProblem


@pytest.fixture
def families():
    """Small hyperparameters of each family."""
    return {
        "boosted": BoostedFamily(8, 0.3, 3, 5),
        "linear": LinearFamily(starts=3),
        "leaves": LeavesFamily(4, 0.5, 3, 5),
    }


@pytest.fixture
def half_hard():
    """A function that draws rows, half decided by column 0, half by columns 1 and 2."""

    def draw(n=600, classes=2, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, size=(n, 4))
        easy = X[:, 0] > 0 if classes == 2 else np.digitize(X[:, 0], [-0.75, 0.75])
        hard = X[:, 1] * X[:, 2] > 0
        return X, np.where(np.abs(X[:, 0]) > 0.5, easy, hard).astype(int)

    return draw


@pytest.fixture
def problem_of():
    """A function that makes a problem of rows, with random probabilities of an expensive model."""

    def make(X, y, weight=None):
        train = TrainingSet.read("classification", X, y, sample_weight=weight)
        proba = np.random.default_rng(0).dirichlet(np.ones(train.n_classes), len(y))
        proba[np.arange(len(y)), train.y] += 2.0
        return GateProblem(train, proba / proba.sum(axis=1, keepdims=True))

    return make


@pytest.fixture
def check_gradient():
    """A function that compares some entries of a gradient with central differences."""

    def check(value, at, gradient, h=1e-6):
        for j in np.random.default_rng(0).permutation(len(at))[:12]:
            step = np.zeros(len(at))
            step[j] = h
            difference = (value(at + step) - value(at - step)) / (2 * h)
            assert difference == pytest.approx(gradient[j], abs=1e-5)

    return check


@pytest.fixture
def named_table():
    """A function that draws a table with names and a category, and its labels."""

    def draw(n=300, seed=0):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.uniform(-1, 1, size=(n, 3)), columns=["a", "b", "c"])
        frame["kind"] = rng.choice(["x", "y"], n)
        return frame, np.where(oracle_proba(frame)[:, 1] > 0.5, "yes", "no")

    return draw


def oracle_proba(rows):
    """Return probabilities that always favor the true label of `named_table`."""
    hard = (rows["b"] > 0) ^ (rows["kind"] == "x")
    yes = np.where(rows["a"].abs() > 0.5, rows["a"] > 0, hard)
    return np.where(yes[:, np.newaxis], [0.1, 0.9], [0.9, 0.1])


@pytest.fixture
def oracle():
    """A function of a table that knows the true labels of `named_table`."""
    return oracle_proba


class CountingOracle:
    """An oracle that counts its rows, keeps its tables, and runs `fault` instead if it is set."""

    def __init__(self):
        self.rows, self.tables, self.fault = 0, [], None

    def __call__(self, rows):
        self.rows += len(rows)
        self.tables.append(rows)
        return oracle_proba(rows) if self.fault is None else self.fault(rows)


@pytest.fixture
def counting_oracle():
    return CountingOracle()


@pytest.fixture
def small(families):
    """Parameters of a gate that trains fast."""
    return {"family": families["leaves"], "random_state": 0}


@pytest.fixture
def gate_with_call(named_table, counting_oracle, small):
    """A gate that was fitted with 300 calls of the oracle at a price of 5."""
    X, y = named_table()
    call = Call("oracle", 5.0, needs=["a", "b", "kind"], fn=counting_oracle)
    prices = Prices({"a": 1.0, "b": 2.0, "c": 4.0, "kind": 1.0}, unit="EUR")
    return GatedClassifier(call, prices, share=0.4, penalty=0.02, **small).fit(X, y)


@pytest.fixture
def serve():
    """A function that starts a local server; `reply` maps a request to a status and a body."""
    servers = []

    def start(reply):
        requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                requests.append(body)
                status, text = reply(body)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def stop():
            server.shutdown()
            server.server_close()
            servers.remove(server)

        return f"http://127.0.0.1:{server.server_port}/predict", requests, stop

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
