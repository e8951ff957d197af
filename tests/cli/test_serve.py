"""`thrifty serve`: a real server in a process of its own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

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
def serving(folder, *options: str) -> Iterator[str]:
    """Run the server on a free port; yield its address."""
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
            process.send_signal(signal.SIGINT)
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


def test_a_server_without_sources_says_what_to_get_next(served):
    with serving(served) as url:
        status, step = post(f"{url}/v1/next", {})
        missing, _ = post(f"{url}/v1/cases", {})
    assert (status, step["done"], missing) == (200, False, 404)


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


def test_a_ledger_without_sources_is_refused(run, served, refused):
    result = run("serve", served / "heart.thrifty", "--ledger", "x.db")
    refused(result, "nothing is bought", code=2)


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
