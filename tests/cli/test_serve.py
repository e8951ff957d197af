"""`thrifty serve`: a real server in a process of its own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from thrifty import BudgetClassifier, GreedyMiserClassifier
from thrifty.cli import main
from thrifty.data import heart
from thrifty.serve import Ledger

SOURCES = """
[[source]]
name = "records"
kind = "replay"
table = "patients.csv"
by = "patient"
features = [{features}]
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A model of the heart table, its rows by patient, and a declaration of them as a source."""
    path = tmp_path_factory.mktemp("served")
    table = heart()
    model = GreedyMiserClassifier(table.prices, n_estimators=10, penalty=0.002, random_state=0)
    model.fit(table.X, table.y).save(path / "heart.thrifty")
    table.X.assign(patient=[f"p{i}" for i in range(len(table.X))]).to_csv(
        path / "patients.csv", index=False
    )
    features = ", ".join(f'"{name}"' for name in table.X.columns)
    (path / "sources.toml").write_text(SOURCES.format(features=features))
    pd.Series(model.predict(table.X)).to_csv(path / "answers.csv", index=False)
    return path


@contextmanager
def serving(folder, *options: str, end: signal.Signals = signal.SIGINT) -> Iterator[str]:
    """Run the server on a free port, and yield its address; end it by a signal."""
    command = [sys.executable, "-m", "thrifty.cli", "serve", "heart.thrifty", "--port", "0"]
    with subprocess.Popen(
        [*command, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, line + process.stderr.read()
            yield found[0]
            process.send_signal(end)
            process.wait(30)
        finally:
            process.kill()


def post(url: str, body: object) -> tuple[int, dict]:
    request = urllib.request.Request(url, json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_a_case_is_fetched_answered_and_recorded_and_sent_again_costs_nothing(served):
    with serving(served, "--sources", "sources.toml", "--ledger", "purchases.db") as url:
        case = {"id": "visit-1", "context": {"patient": "p7"}}
        status, first = post(f"{url}/v1/cases", case)
        _, again = post(f"{url}/v1/cases", case)
        figures = urllib.request.urlopen(f"{url}/metrics", timeout=30).read().decode()
    assert status == 200
    assert first["answer"] == pd.read_csv(served / "answers.csv").iloc[7, 0]
    assert first["spent"] == first["total"] > 0
    assert again["answer"] == first["answer"]
    assert {charge["outcome"] for charge in again["charges"]} == {"earlier"}
    assert "thrifty_spent_total" in figures
    with Ledger.open(served / "purchases.db") as ledger:
        ((_, entries),) = ledger.cases()
    assert sum(entry.charged for entry in entries) == first["spent"]


def get(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=30) as response:
        return json.load(response)


def test_a_server_without_sources_asks_the_client(served):
    with serving(served) as url:
        _, step = post(f"{url}/v1/next", {})
        status, case = post(f"{url}/v1/cases", {})
    assert (status, case["done"], case["spent"]) == (200, False, 0.0)
    assert [ask["feature"] for ask in case["asks"]] == [ask["feature"] for ask in step["asks"]]


def test_a_case_survives_a_kill_of_the_server_at_every_step(served):
    row = json.loads(heart().X.iloc[[3]].to_json(orient="records"))[0]
    state, spent = None, 0.0
    while state is None or not state["done"]:
        with serving(served, "--ledger", "led.db", end=signal.SIGKILL) as url:
            if state is None:
                _, state = post(f"{url}/v1/cases", {"id": "visit-1", "cap": 100.0})
                continue
            again = get(f"{url}/v1/cases/{state['case']}")
            assert (again["asks"], again["spent"]) == (state["asks"], spent)
            values = {ask["feature"]: row[ask["feature"]] for ask in state["asks"]}
            _, state = post(f"{url}/v1/cases/{state['case']}/values", {"values": values})
            spent = state["spent"]
    assert state["answer"] == pd.read_csv(served / "answers.csv").iloc[3, 0]
    assert state["spent"] == state["total"] > 0
    with Ledger.open(served / "led.db") as ledger:
        ((row, entries),) = ledger.cases()
    assert row.ending is not None and sum(entry.charged for entry in entries) == spent


def test_a_server_that_is_terminated_settles_its_purchases_first(served):
    class Lab(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.set()
            release.wait()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"value": 50}')

        def log_message(self, *_: object) -> None:
            pass

    asked, release = threading.Event(), threading.Event()
    lab = ThreadingHTTPServer(("127.0.0.1", 0), Lab)
    threading.Thread(target=lab.serve_forever, daemon=True).start()
    names = ", ".join(f'{name} = "/value"' for name in heart().X.columns)
    (served / "lab.toml").write_text(
        f'[[source]]\nname = "lab"\nkind = "http"\nsold = "together"\n'
        f'url = "http://127.0.0.1:{lab.server_port}/"\nvalues = {{ {names} }}\n'
    )
    options = ("--sources", "lab.toml", "--ledger", "lab.db")
    with serving(served, *options, end=signal.SIGTERM) as url:
        for deadline in (0.3, 3.0, 30.0):  # a busy machine may not even ask before the deadline
            _, state = post(f"{url}/v1/cases", {"deadline": deadline})
            assert state["stopped"] == "deadline"
            if asked.is_set():
                break
        threading.Timer(0.1, release.set).start()  # while it ends
    lab.shutdown()
    lab.server_close()
    with Ledger.open(served / "lab.db") as ledger:
        assert ledger.open_purchases() == []
        entries = [entry for _, found in ledger.cases() for entry in found]
    assert {(entry.item, entry.state) for entry in entries} == {("lab", "settled")}


def test_a_temporary_ledger_is_said_to_be_one(served):
    command = [sys.executable, "-m", "thrifty.cli", "serve", "heart.thrifty", "--port", "0"]
    with subprocess.Popen(command, cwd=served, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        process.terminate()
    assert "--ledger FILE keeps them" in lines[1]


def test_another_address_needs_a_token(run, served, refused, monkeypatch):
    monkeypatch.delenv("THRIFTY_TOKEN", raising=False)
    result = run("serve", served / "heart.thrifty", "--host", "0.0.0.0")
    refused(result, "set a token")


def test_a_token_is_read_from_a_file_and_never_shown(run, served, refused):
    model, token = served / "heart.thrifty", served / "token"
    token.write_text("s3cret\n")
    result = run("serve", model, "--host", "0.0.0.0", "--token-file", token)
    refused(result, "16 characters")
    assert "s3cret" not in result.output


# --- several operating points


@pytest.fixture(scope="module")
def paced(served):
    """A file of several points next to the other model."""
    table = heart()
    learner = GreedyMiserClassifier(n_estimators=10)
    model = BudgetClassifier(table.prices, 20, learners=[learner], random_state=0)
    model.fit(table.X, table.y).save(served / "points.thrifty")
    return served


def test_cases_are_paced_and_shadowed(paced):
    (paced / "heart.thrifty").rename(paced / "single.thrifty")
    (paced / "points.thrifty").rename(paced / "heart.thrifty")
    try:
        options = ("--budget", "10", "--per-day", "500", "--shadow", "single.thrifty")
        with serving(paced, "--sources", "sources.toml", *options) as url:
            for k in range(30):
                status, _ = post(f"{url}/v1/cases", {"context": {"patient": f"p{k}"}})
                assert status == 200
            with urllib.request.urlopen(f"{url}/metrics", timeout=30) as response:
                text = response.read().decode()
    finally:
        (paced / "heart.thrifty").rename(paced / "points.thrifty")
        (paced / "single.thrifty").rename(paced / "heart.thrifty")
    assert "thrifty_budget 10\n" in text and 'thrifty_ceiling{window="day"} 500\n' in text
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    settled, spent = found["thrifty_paced_settled_total"], found["thrifty_paced_spent_total"]
    assert settled == "30" and 100 < float(spent) <= 500
    assert 'thrifty_shadow_cases_total{outcome="agreed"}' in found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--budget", "10"], "one operating point, so there is nothing to choose from; save it"),
        (["--per-day", "10"], "--per-minute and --per-day need --budget"),
    ],
)
def test_a_budget_needs_several_points(served, options, words):
    result = CliRunner().invoke(main, ["serve", str(served / "heart.thrifty"), *options])
    assert result.exit_code in (2, 3) and words in result.stderr


# --- the demonstration


def test_the_demonstration_serves_what_it_says_and_cleans_up():
    command = [sys.executable, "-m", "thrifty.cli", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = []
            while not lines or "costs nothing" not in lines[-1]:
                lines.append(process.stdout.readline())
                assert lines[-1], process.stderr.read()
            text = "".join(lines)
            found = []
            for url, body in re.findall(r"^curl (\S+)(?: -d '(.*)')?$", text, re.MULTILINE):
                request = urllib.request.Request(url, body.encode() or None)
                with urllib.request.urlopen(request, timeout=30) as response:
                    found.append(response.read().decode())
            folder = Path(re.search(r"declared in (\S+)/sources.toml", text)[1])
            assert folder.exists()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()
    cases = [json.loads(answer) for answer in found[2:6]]
    assert [case["done"] for case in cases] == [False, True, True, True]
    assert cases[0]["asks"][0]["price"] == 1.0
    assert "open" in {charge["outcome"] for charge in cases[2]["charges"]}
    assert (cases[3]["stopped"], cases[3]["spent"] <= 100) == ("cap", True)
    assert "thrifty_spent_total" in found[6]
    assert not folder.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_stopped_ends_well(served, number):
    command = [sys.executable, "-m", "thrifty.cli", "serve", "heart.thrifty", "--port", "0"]
    with subprocess.Popen(command, cwd=served, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and "serving" in process.stdout.readline()
            process.send_signal(number)
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_a_model_or_the_demonstration_is_needed(run, served, refused):
    refused(run("serve"), "Missing argument 'MODEL'", code=2)
    refused(run("serve", served / "heart.thrifty", "--demo"), "its own model", code=2)
