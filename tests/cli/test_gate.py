"""`thrifty gate`: a model file that calls an expensive model for a few rows."""

from __future__ import annotations

import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
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
    assert result["gated"]["bill"]["mean"] > 0 and result["all_sent"]["quality"]["mean"] > 0.7
    gated = thrifty.load("gated.thrifty")
    assert gated.model.kind == "gate" and gated.schema.names == tuple(frame.columns[:-1])
    assert set(gated.predict(frame)) <= {"yes", "no"}


@pytest.fixture
def priced(run, model, folder):
    """A gate in front of the model file, at 9 for each call."""
    found = run(*GATE, "--expensive", model, "--name", "doctor", "--price", "9", "--share", "0.4",
                "-o", "gated.thrifty", "--json")  # fmt: skip
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_a_priced_model_file_is_part_of_the_gate(run, priced, frame, folder) -> None:
    found = run("predict", "gated.thrifty", "table.csv", "--bill", "--proba", "-o", "new.csv")
    assert found.exit_code == 0, found.output
    exact = {"proba_yes": float, "bill": float}  # pandas 2 rounds otherwise
    rows = pd.read_csv("new.csv", converters=exact)
    gated, expensive = thrifty.load("gated.thrifty"), thrifty.load("model.thrifty")
    assert gated.schema.names[-1] == "doctor"
    sent = gated.used(frame)[:, -1]
    assert 0 < sent.mean() < 1
    own = expensive.predict_proba(frame)[sent]
    np.testing.assert_array_equal(rows["proba_yes"][sent], own[:, 1])
    own_bill = expensive.bill(frame)
    assert (rows["bill"][sent] >= 9 + own_bill[sent]).all()
    assert rows["bill"][~sent].max() <= gated.prices.full - 9


def test_a_walk_pays_for_the_call_once_and_asks_for_features_only(run, priced, frame) -> None:
    gated = thrifty.load("gated.thrifty")
    bills, labels = gated.bill(frame), gated.predict(frame)
    for row in range(40):
        values, walk = frame.iloc[row].to_dict(), gated.walk()
        while walk.asks:
            assert "doctor" not in walk.asks
            walk.tell({name: values[name] for name in walk.asks})
        assert (walk.answer, walk.receipt.total) == (labels[row], bills[row])
    sent = int(np.flatnonzero(gated.used(frame)[:, -1])[0])
    typed = "\n".join(f"{name}={value}" for name, value in frame.iloc[sent, :4].items())
    found = run("ask", "gated.thrifty", input=typed + "\nstop\n")
    assert found.exit_code == 0, found.output
    assert "doctor = 1" in found.stdout and "9.00" in found.stdout


def test_a_report_shows_how_often_the_call_is_bought(run, priced, folder) -> None:
    found = run("report", "gated.thrifty", "table.csv", "--target", "ill", "-o", "r.html")
    assert found.exit_code == 0, found.output
    assert "doctor" in (folder / "r.html").read_text()


def test_the_first_line_says_whether_the_gate_pays(run, model, folder) -> None:
    dear = run(*GATE, "--expensive", model, "--price", "90", "--share", "0.1", "-o", "a.thrifty")
    assert dear.exit_code == 0, dear.output
    assert dear.stdout.startswith(("The gate saves ", "The gate does not pay: "))
    for words in ("95% intervals", "% sent", "all sent", "none sent"):
        assert words in dear.stdout
    nothing = run(*GATE, "--expensive", model, "--share", "0", "-o", "c.thrifty")
    assert nothing.stdout.startswith("The gate does not pay: it sends no row.")
    all_sent = run(*GATE, "--expensive", model, "--share", "1", "-o", "b.thrifty")
    assert all_sent.exit_code == 0
    assert all_sent.stdout.startswith(
        "The gate does not pay: compared with sending every row it saves CAD 0.00 (0.0%)"
    )


@pytest.fixture
def remote(run, folder, server):
    """A gate in front of the server."""
    found = run(*GATE, "--expensive", server + "?key=s3cret", "--name", "doctor", "--price", "9",
                "--need", "chol", "--need", "fbs", "--need", "age", "-o", "gated.thrifty",
                "--json")  # fmt: skip
    assert found.exit_code == 0, found.output
    result = json.loads(found.stdout)
    assert result["all_sent"]["quality"]["mean"] == 1.0
    assert result["all_sent"]["bill"]["mean"] == 20.0
    again = round(result["sent"] * 48)
    assert result["called"] == {"rows": 240 + again, "price": 9.0 * (240 + again)}
    return thrifty.load("gated.thrifty")


def test_a_server_is_called_for_the_rows_that_are_sent(run, remote, server, frame, folder) -> None:
    assert remote.schema.names[-2:] == ("doctor: no", "doctor: yes")
    call = ("--call", server)
    found = run("predict", "gated.thrifty", "table.csv", "--bill", "-o", "new.csv", *call)
    assert found.exit_code == 0, found.output
    rows = pd.read_csv("new.csv")
    assert (rows["prediction"] == frame["ill"])[rows["bill"] >= 20].all()
    assert (rows["bill"] >= 20).sum() > 10
    page = run("report", "gated.thrifty", "table.csv", "--target", "ill", "-o", "r.html", *call)
    assert page.exit_code == 0, page.output
    typed = "\n".join(f"{name}={value}" for name, value in frame.iloc[0, :4].items())
    talk = run("ask", "gated.thrifty", "--json", *call, input=typed + "\nstop\n")
    assert json.loads(talk.stdout)["prediction"] == rows["prediction"][0]
    text = (folder / "r.html").read_text()
    assert "the gate sends this example to the expensive model" in text
    assert "there is no evidence of its effect" not in text


def test_results_that_were_not_needed_are_not_missing_values(run, remote, server, folder) -> None:
    arguments = ("--target", "ill", "-o", "r.html", "--card", "card.md", "--call", server)
    assert run("report", "gated.thrifty", "table.csv", *arguments).exit_code == 0
    card = (folder / "card.md").read_text()
    assert "mostly missing" not in card and "doctor: no" not in card.split("## Results")[0]


def test_the_rows_that_training_sent_are_counted_with_their_price(run, folder, server) -> None:
    sent = []
    run_call = thrifty.Call.run

    def count(call, table, classes):
        sent.append(len(table))
        return run_call(call, table, classes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thrifty.Call, "run", count)
        found = run(*GATE, "--expensive", server, "--price", "9", "-o", "gated.thrifty")
    words = f"sent {sum(sent)} rows to the expensive model, which cost CAD {9 * sum(sent)}.00."
    assert words in found.stdout


def test_a_saved_gate_has_no_secrets(remote, folder) -> None:
    with zipfile.ZipFile("gated.thrifty") as archive:
        text = archive.read("header.json").decode()
    assert "s3cret" not in text and "127.0.0.1" in text


def test_answers_in_the_table_are_used_and_nothing_is_sent(run, remote, table, folder) -> None:
    table(**{"doctor: no": 0.0, "doctor: yes": 1.0})
    found = run("predict", "gated.thrifty", "table.csv", "--bill", "-o", "new.csv")
    assert found.exit_code == 0 and found.stderr == "", found.output
    rows = pd.read_csv("new.csv")
    assert (rows["prediction"][rows["bill"] >= 20] == "yes").all()
    refused = run("predict", "gated.thrifty", "table.csv", "--call", "model.thrifty")
    assert refused.exit_code == 2


def test_another_model_can_be_called_instead(run, remote, model, frame, folder) -> None:
    found = run("predict", "gated.thrifty", "table.csv", "--call", model, "--bill", "-o", "n.csv")
    assert found.exit_code == 0, found.output
    # The call passes on fewer columns than that model was trained on, but all that it reads.
    predicted = pd.read_csv(folder / "n.csv")
    assert len(predicted) == len(frame) and predicted["bill"].max() > 0


def test_rows_go_to_no_server_that_only_the_file_names(run, remote, server, folder) -> None:
    for command in (("predict",), ("report", "--target", "ill", "-o", "r.html")):
        found = run(command[0], "gated.thrifty", "table.csv", *command[1:])
        assert found.exit_code == 3
        ways = (f"--call {server}, as in training", "--call FILE", "'doctor: no', 'doctor: yes'")
        for way in ways:
            assert way in found.stderr
    remote.provenance["call"]["url"] = None
    remote.save("silent.thrifty")
    assert "--call URL;" in run("predict", "silent.thrifty", "table.csv").stderr
    remote.provenance["call"]["url"] = "file:///etc/passwd"
    remote.save("evil.thrifty")
    assert "is not a URL" in run("predict", "evil.thrifty", "table.csv").stderr


def test_without_a_model_to_call_its_result_can_be_typed(run, remote, frame, folder) -> None:
    sent = np.flatnonzero(
        remote.used(frame.assign(**{"doctor: no": 0.5, "doctor: yes": 0.5}))[:, -1]
    )
    typed = "\n".join(f"{name}={value}" for name, value in frame.iloc[sent[0], :4].items())
    talk = run("ask", "gated.thrifty", "--json", input=typed + "\n0\n1\n")
    assert json.loads(talk.stdout)["prediction"] == "yes", talk.output
    assert json.loads(talk.stdout)["receipt"]["total"] >= 20


def test_accuracies_are_printed_as_fit_prints_them(run, model, folder) -> None:
    arguments = (*GATE, "--expensive", model, "--share", "0.4", "-o", "gated.thrifty")
    facts = json.loads(run(*arguments, "--json").stdout)
    printed = run(*arguments).stdout
    for way in ("gated", "all_sent", "none_sent"):
        low, mean, high = (100 * facts[way]["quality"][end] for end in ("low", "mean", "high"))
        assert f"{mean:.1f}%  [{low:.1f}, {high:.1f}]" in printed
    assert " points [" in printed


def test_a_gate_for_values_shows_r2(run, table, frame) -> None:
    dose = frame["chol"] + frame["age"] / 100
    table(ill=dose)
    big = thrifty.GreedyMiserRegressor(n_estimators=20).fit(frame.drop(columns="ill"), dose)
    big.predictor_.save("big.thrifty")
    arguments = (*GATE, "--expensive", "big.thrifty", "--share", "0.4", "-o", "gated.thrifty")
    found = run(*arguments)
    assert found.exit_code == 0, found.output
    assert "r2" in found.stdout and ("R2 lost: " in found.stdout or "R2 gained" in found.stdout)
    assert thrifty.load("gated.thrifty").classes is None
    refused = run(*arguments, "--task", "ranking")
    assert refused.exit_code == 2 and "Ranking needs --qid" in refused.stderr


def test_wrong_columns_and_wrong_prices_are_reported_at_once(run, model, folder) -> None:
    (folder / "prices.csv").write_text("feature,price\nage,1\nfbs,1\nsex,1\n")
    arguments = ("--expensive", model, "--drop", "sx", "-o", "gated.thrifty")
    found = run(*GATE, *arguments)
    assert found.exit_code == 3
    assert "did you mean 'sex'?" in found.stderr and "no price for 'chol'" in found.stderr


@pytest.mark.parametrize(
    ("more", "words", "code"),
    [
        (("--expensive", "none.thrifty"), "there is no file", 2),
        (("--expensive", "ftp://a:s3cret@b/"), "'ftp://***@b/' is not a URL", 3),
        (("--share", "0.2", "--budget", "3"), "Give one of", 2),
        (("--drop", "ill"), "named by --target", 2),
        (("--expensive", "http://127.0.0.1:9/"), "no prediction for 144 of 144 rows", 5),
        (("--need", "chol", "--price", "1"), "a model file knows its columns", 2),
        (("--expensive", "http://127.0.0.1:9/", "--need", "cholesterol"), "cholesterol", 3),
        (("--budget", "0", "--penalty", "0"), "no threshold keeps a mean bill of 0", 4),
        (("--quality", "1"), "no threshold reaches", 4),
    ],
)
def test_wrong_inputs_are_reported(run, refused, model, more, words, code) -> None:
    expensive = () if "--expensive" in more else ("--expensive", model)
    found = run(*GATE, *expensive, *more, "-o", "gated.thrifty")
    model.unlink()
    refused(found, words, code=code)
