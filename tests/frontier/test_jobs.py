"""Jobs: kept when done, not run twice, and never mixed with those of other settings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest

from thrifty import BudgetForestClassifier, GreedyMiserClassifier, GreedyMiserRegressor, Prices
from thrifty.errors import DataError
from thrifty.frontier import trace
from thrifty.frontier.curve_file import pack_curve
from thrifty.frontier.jobs import Job, digest_of_settings, plain_settings, run_jobs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
MISER = GreedyMiserClassifier(n_estimators=3)


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def in_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def test_a_finished_job_is_read_and_not_run_again(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "runs"
    first = trace(MISER, X, Y, resume=folder)
    before = snapshot(folder)
    assert sorted(name.rpartition(".")[2] for name in before) == ["curve", "json"]
    assert pack_curve(trace(MISER, X, Y)) == pack_curve(first)
    monkeypatch.setattr(GreedyMiserClassifier, "path", lambda *a, **k: pytest.fail("run again"))
    again = trace(MISER, X, Y, resume=folder)
    assert pack_curve(again) == pack_curve(first)
    assert snapshot(folder) == before


def test_a_further_learner_joins_the_folder(tmp_path) -> None:
    trace({"a": MISER}, X, Y, resume=tmp_path)
    trace({"b": BudgetForestClassifier(n_estimators=2)}, X, Y, resume=tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    assert sorted(manifest["jobs"]) == ["a", "b"]
    assert len(list(tmp_path.glob("*.curve"))) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": X + 1}, "data"),
        ({"y": 1 - Y}, "data"),
        ({"scoring": "roc_auc"}, 'scoring "accuracy", this run has "roc_auc"'),
        ({"random_state": 3}, "seed 0, this run has 3"),
        ({"share": 0.3}, "validation"),
        ({"learner": {"a": GreedyMiserClassifier(n_estimators=4)}}, "n_estimators was 3, now 4"),
        ({"learner": {"a": GreedyMiserClassifier(Prices([1, 2]), n_estimators=3)}}, "prices"),
        ({"learner": {"a": BudgetForestClassifier()}}, "another one; give it another name"),
        ({"learner": {"b": MISER}, "X": X + 1}, "data"),
    ],
)
def test_a_folder_of_other_data_or_settings_is_refused_and_left_alone(
    change, words, tmp_path
) -> None:
    given = {"learner": {"a": MISER}, "X": X, "y": Y}
    trace(**given, resume=tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(DataError, match=rf"resume folder(?s:.*){words}"):
        trace(**{**given, **change}, resume=tmp_path)
    assert snapshot(tmp_path) == before


def test_a_folder_with_other_files_is_refused(tmp_path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(DataError, match=r"other files, such as 'thesis.txt'"):
        trace(MISER, X, Y, resume=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(DataError, match="is a file"):
        trace(MISER, X, Y, resume=tmp_path / "thesis.txt")


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", '{"thrifty": 9, "jobs": {}}', '{"thrifty": 1}', '{"thrifty": 3, "jobs": 5}',
        '{"thrifty": 3, "jobs": {"a": {"name": "a"}}}', '{"thrifty": 3, "jobs": {"a": 5}}',
        '{"thrifty": 3, "thrifty": 3, "jobs": {}}',
        '{"thrifty": 3, "jobs": {"a": {"name": "b", "learner": 1}}}',
    ],
)  # fmt: skip
def test_a_strange_manifest_is_refused(text, tmp_path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DataError, match="no manifest of jobs"):
        trace(MISER, X, Y, resume=tmp_path)


def test_a_damaged_file_is_reported_and_not_overwritten(tmp_path) -> None:
    trace(MISER, X, Y, resume=tmp_path)
    (file,) = tmp_path.glob("*.curve")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(DataError, match=r"curve: .*damaged.*delete it"):
        trace(MISER, X, Y, resume=tmp_path)
    assert file.read_bytes() == data


def test_a_part_of_a_file_that_a_killed_run_left_does_no_harm(tmp_path) -> None:
    (tmp_path / ".manifest.json.1234.part").write_bytes(b"{")
    trace(MISER, X, Y, resume=tmp_path)
    assert len(list(tmp_path.glob("*.curve"))) == 1


def test_curves_come_in_the_order_of_the_jobs() -> None:
    curves = [trace(GreedyMiserClassifier(n_estimators=k), X, Y) for k in (1, 2, 3)]
    jobs = [Job({"name": str(k), "learner": None}, lambda c=c: c) for k, c in enumerate(curves)]
    assert run_jobs(jobs, n_jobs=1) == curves
    assert run_jobs([]) == []


def test_an_interrupt_keeps_what_is_done(tmp_path) -> None:
    curve = trace(MISER, X, Y)

    def interrupted():
        raise KeyboardInterrupt

    jobs = [
        Job({"name": "done", "learner": 1}, lambda: curve),
        Job({"name": "under way", "learner": 2}, interrupted),
    ]
    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, tmp_path)
    kept = f"{digest_of_settings(jobs[0].settings)}.curve"
    assert [path.name for path in tmp_path.glob("*.curve")] == [kept]


@pytest.mark.parametrize("start", [lambda act: act(), in_thread], ids=["main", "thread"])
def test_jobs_leave_the_handler_of_interrupts_alone(start) -> None:
    curve, before = trace(MISER, X, Y), signal.getsignal(signal.SIGINT)
    handlers = []

    def work():
        handlers.append(signal.getsignal(signal.SIGINT))
        return curve

    start(lambda: run_jobs([Job({"name": "a", "learner": None}, work)]))
    assert handlers == [before] and signal.getsignal(signal.SIGINT) is before


WORKERS = """
import signal
import numpy as np
from thrifty import GreedyMiserRegressor
from thrifty.frontier import trace

class Deaf(GreedyMiserRegressor):
    def path(self, *arguments, **more):
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        return super().path(*arguments, **more)

X = np.random.default_rng(0).normal(size=(80, 2))
trace({"a": Deaf(n_estimators=2), "b": Deaf(n_estimators=2)}, X, X[:, 0], n_jobs=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way there")
def test_worker_processes_do_not_see_interrupts(tmp_path) -> None:
    script = tmp_path / "run.py"
    script.write_text(WORKERS)
    subprocess.run([sys.executable, str(script)], check=True, timeout=120)


SCRIPT = """
import os, sys, time
import numpy as np
from thrifty import GreedyMiserRegressor
from thrifty.frontier import trace

class Slow(GreedyMiserRegressor):
    def path(self, *arguments, **more):
        while os.environ.get("SLOW"):
            time.sleep(0.1)
        return super().path(*arguments, **more)

X = np.random.default_rng(0).normal(size=(80, 2))
learners = {"quick": GreedyMiserRegressor(n_estimators=2), "slow": Slow(n_estimators=2)}
for folder in sys.argv[1:]:
    trace(learners, X, X[:, 0], resume=folder)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_a_killed_run_loses_the_job_under_way_and_goes_on_to_the_same_bytes(tmp_path) -> None:
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = [sys.executable, str(script), str(killed)]
    process = subprocess.Popen(command, env={**os.environ, "SLOW": "1"})
    try:
        until = time.monotonic() + 120
        while not list(killed.glob("*.curve")):
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    (kept,) = killed.glob("*.curve")
    before = kept.stat()
    subprocess.run([*command, str(whole)], check=True, timeout=120)
    after = kept.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert len(list(killed.glob("*.curve"))) == 2
    assert snapshot(killed) == snapshot(whole)


# --- settings ----------------------------------------------------------------


def test_settings_tell_prices_and_parameters_apart() -> None:
    digests = {
        digest_of_settings(plain_settings(learner))
        for learner in (
            GreedyMiserRegressor(),
            GreedyMiserRegressor(penalty=0.1),
            GreedyMiserRegressor(Prices([1.0, 2.0])),
            GreedyMiserRegressor(Prices([1.0, 3.0])),
            GreedyMiserRegressor(Prices([1.0, 2.0], groups={"g": [0, 1]}, shared={"g": 1.0})),
            GreedyMiserRegressor(random_state=np.random.RandomState(1)),
            GreedyMiserRegressor(random_state=np.random.RandomState(2)),
            GreedyMiserClassifier(),
            GreedyMiserClassifier(class_weight={0: 1.0, 1: 2.0}),
            GreedyMiserClassifier(class_weight={"0": 1.0, "1": 2.0}),
        )
    }
    assert len(digests) == 10


def test_a_value_that_cannot_be_told_from_another_is_refused() -> None:
    with pytest.raises(DataError, match="cannot be told apart"):
        plain_settings(object())


def test_a_pipe_in_the_place_of_a_file_is_refused(tmp_path) -> None:
    trace(MISER, X, Y, resume=tmp_path)
    (file,) = tmp_path.glob("*.curve")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(DataError, match="not a regular file.*delete it"):
        trace(MISER, X, Y, resume=tmp_path)


def test_a_dask_cluster_gets_the_data_once_and_gives_the_same_curve(
    dask_client, monkeypatch
) -> None:
    learners = {
        "few": GreedyMiserClassifier(n_estimators=3), "more": GreedyMiserClassifier(n_estimators=5)
    }  # fmt: skip
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = X[:, 0] > 0
    scattered = []
    scatter = type(dask_client).scatter
    monkeypatch.setattr(
        type(dask_client), "scatter",
        lambda self, data, **options: (scattered.append(data), scatter(self, data, **options))[1],
    )  # fmt: skip
    here = trace(learners, X, y)
    with joblib.parallel_config("dask"):
        on_cluster = trace(learners, X, y)
    assert pack_curve(on_cluster, {}) == pack_curve(here, {})
    ((train, validation),) = scattered  # before the first job; nothing is sent with a job
    assert (len(train), len(validation)) == (160, 40)
