"""`thrifty gate`: a model file that calls an expensive model for a few rows."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pandas as pd
import pytest

import thrifty

GATE = ("gate", "table.csv", "--target", "ill", "--prices", "prices.csv", "--unit", "CAD",
        "--family", "leaves")  # fmt: skip


@pytest.fixture
def server():
    """A server that always predicts the true label."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            rows = pd.DataFrame(body["rows"], columns=body["columns"])
            ill = rows["chol"] + rows["fbs"] + (rows["age"] > 50) > 0.5
            reply = {"labels": ["yes" if one else "no" for one in ill]}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(reply).encode())

        def log_message(self, *_):
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}/"
    http.shutdown()
    http.server_close()


def test_a_model_file_is_wrapped(run, model, frame) -> None:
    found = run(*GATE, "--expensive", model, "--share", "0.4", "-o", "gated.thrifty", "--json")
    assert found.exit_code == 0, found.output
    result = json.loads(found.stdout)
    assert result["rows"] == {"train": 144, "validation": 48, "test": 48}
    assert 0 <= result["sent"] <= 0.7
    assert result["mean_bill"] > 0 and result["expensive_accuracy"] > 0.7
    gated = thrifty.load("gated.thrifty")
    assert gated.model.kind == "gate"
    assert set(gated.predict(frame)) <= {"yes", "no"}


def test_a_server_is_wrapped_and_requested_in_walks(run, folder, server) -> None:
    found = run(*GATE, "--expensive", server, "--name", "doctor", "--price", "9", "--need", "chol",
                "--need", "fbs", "--need", "age", "-o", "gated.thrifty")  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "All rows sent: accuracy 1.0000, mean bill CAD 20.00" in found.stdout
    assert "% sent, accuracy" in found.stdout and "model: gated.thrifty" in found.stdout
    gated = thrifty.load("gated.thrifty")
    assert gated.schema.names[-2:] == ("doctor: no", "doctor: yes")


@pytest.mark.parametrize(
    ("more", "words", "code"),
    [
        (("--expensive", "none.thrifty"), "there is no file", 2),
        (("--share", "0.2", "--budget", "3"), "Give one of", 2),
        (("--drop", "ill"), "named by --target", 2),
        (("--expensive", "http://127.0.0.1:9/"), "no prediction for 144 of 144 rows", 5),
        (("--need", "cholesterol", "--price", "1"), "cholesterol", 3),
        (("--budget", "0"), "no threshold keeps a mean bill of 0", 4),
        (("--quality", "1"), "no threshold reaches", 4),
    ],
)
def test_wrong_inputs_are_reported(run, refused, model, more, words, code) -> None:
    expensive = () if "--expensive" in more else ("--expensive", model)
    found = run(*GATE, *expensive, *more, "-o", "gated.thrifty")
    model.unlink()
    refused(found, words, code=code)
