"""Progress on stderr: one line per step in a pipe, bars on a terminal, nothing on stdout."""

from __future__ import annotations

import json
import re

import pytest

from thrifty.cli.fit_progress import learner_progress, step
from thrifty.frontier.fit_progress import reporting

FIT = ("fit", "table.csv", "--target", "ill", "--budget", "5", "--learner", "greedy-miser",
       "--learner", "ladder", "-o", "m.thrifty")  # fmt: skip


def test_a_piped_fit_has_one_line_per_step_and_clean_json(run, folder) -> None:
    found = run(*FIT, "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["chosen"]
    lines = found.stderr.splitlines()
    assert re.fullmatch(r"training greedy-miser \(1 of 2\) \.\.\. [\d.]+ s", lines[0])
    assert re.fullmatch(r"training ladder \(2 of 2\) \.\.\. [\d.]+ s", lines[1])
    assert re.fullmatch(r"training baselines \.\.\. [\d.]+ s", lines[2])
    assert len(lines) == 3


def test_a_check_and_a_curve_say_what_they_do(run, folder) -> None:
    check = run("check", *FIT[1:6], "--learner", "greedy-miser")
    assert check.exit_code == 0, check.output
    assert re.fullmatch(r"training on small samples \.\.\. [\d.]+ s\n", check.stderr)
    curve = run("curve", *FIT[1:4], "--learner", "greedy-miser", "-o", "c.csv")
    assert curve.exit_code == 0, curve.output
    assert re.fullmatch(r"training greedy-miser \(1 of 1\) \.\.\. [\d.]+ s\n", curve.stderr)


def test_an_interrupted_step_ends_its_line(capsys) -> None:
    with pytest.raises(KeyboardInterrupt), step("training the gate"):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), learner_progress(), reporting("ladder", 1, 1):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "training the gate ...\ntraining ladder (1 of 1) ...\n"


def test_a_terminal_gets_a_bar_with_percent_and_time_left(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with learner_progress():
        with reporting("[ladder]", 1, 1):
            pass
        printed = capsys.readouterr()
    with step("training the gate"):
        pass
    shown = printed.err + capsys.readouterr().err
    assert "training [ladder] (1 of 1)" in shown and "100%" in shown and "left" in shown
    assert printed.out == ""
