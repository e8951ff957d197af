"""The command itself: fast help, one message per error, exit codes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import click
import pytest

from thrifty.cli import main
from thrifty.cli.group import COMMANDS
from thrifty.errors import BudgetError, BundleError, DataError, PriceError, SourceError


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_exists_and_has_the_help_of_the_list(name) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None and command.name == name
    assert command.get_short_help_str(limit=200) == COMMANDS[name]
    assert command.help.split("\n\n")[0] == COMMANDS[name]


def test_help_lists_the_commands_and_the_exit_codes(run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    for name, what in COMMANDS.items():
        assert f"{name} " in result.stdout and what in result.stdout
    assert "130 interrupted" in result.stdout


def test_help_imports_no_command(modules_after) -> None:
    loaded = modules_after("-m", "thrifty.cli", "--help")
    assert not {f"thrifty.cli.{name}" for name in COMMANDS} & loaded
    assert not {name.split(".")[0] for name in loaded} & {"numpy", "rich"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_loads_nothing_heavy(name, modules_after) -> None:
    modules = modules_after("-m", "thrifty.cli", name, "--help")
    loaded = {module.split(".")[0] for module in modules}
    assert not loaded & {"sklearn", "scipy", "pandas", "matplotlib"}


def test_the_version_is_printed(run) -> None:
    import thrifty

    assert run("--version").stdout == f"thrifty, version {thrifty.__version__}\n"


@pytest.mark.parametrize("arguments", [("fti",), ("fit",), ("inspect", "absent.thrifty")])
def test_a_usage_error_exits_with_2(run, folder, arguments) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Error" in result.stderr and result.stdout == ""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DataError("bad"), 3),
        (PriceError("bad"), 3),
        (BudgetError("bad"), 4),
        (SourceError("bad"), 5),
        (BundleError("bad"), 1),
        (OSError(28, "No space left on device", "x.thrifty"), 1),
        (RuntimeError("bad"), 1),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_is_one_message_and_a_code(run, model, monkeypatch, error, code) -> None:
    def fail(path):
        raise error

    monkeypatch.setattr("thrifty.bundle.describe", fail)
    result = run("inspect", model)
    assert result.exit_code == code
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.strip().count("\n") == 0


def test_an_error_that_an_interrupt_brings_about_is_an_interrupt(run, model, monkeypatch) -> None:
    def fail(path):
        try:
            raise KeyboardInterrupt
        finally:  # as `zipfile` does, when it is interrupted while it writes
            raise ValueError("there is an open writing handle")

    monkeypatch.setattr("thrifty.bundle.describe", fail)
    result = run("inspect", model)
    assert (result.exit_code, result.stderr) == (130, "\ninterrupted\n")


def test_debug_shows_where_an_error_comes_from(run, folder) -> None:
    (folder / "odd.thrifty").write_bytes(b"no model")
    plain, debug = run("inspect", "odd.thrifty"), run("--debug", "inspect", "odd.thrifty")
    assert plain.exit_code == debug.exit_code == 1
    assert "Traceback" not in plain.stderr and "Traceback" in debug.stderr
    assert debug.stderr.endswith(plain.stderr)


def test_a_warning_is_printed_once(run, model, monkeypatch) -> None:
    import warnings

    from thrifty.bundle import describe

    def warn(path):
        for _ in range(2):
            warnings.warn("the moon is full", UserWarning, stacklevel=1)
        return describe(path)

    monkeypatch.setattr("thrifty.bundle.describe", warn)
    result = run("inspect", model)
    assert result.exit_code == 0
    assert result.stderr == "Warning: the moon is full\n"


def test_ctrl_c_at_the_very_end_of_the_program_raises_nothing(capsys) -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as caught:
            main(["--version"])
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)
    assert caught.value.code == 0


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way there")
def test_an_interrupted_question_exits_with_130(model, fresh) -> None:
    command = [sys.executable, "-m", "thrifty.cli", "ask", str(model)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env=fresh, **pipes) as process:
        while process.stdout.read(1) not in (b">", b""):  # until it waits for input
            pass
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == b"interrupted"


# --- standard output ---------------------------------------------------------

FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")


@FULL
@pytest.mark.parametrize("arguments", [("--help",), ("inspect",), ("inspect", "--json")])
def test_a_full_disk_behind_stdout_exits_with_1_and_says_so(
    arguments, model, monkeypatch, capfd
) -> None:
    given = [*arguments, *([str(model)] if "inspect" in arguments else [])]
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as caught:
            main.main(given, prog_name="thrifty")
    assert caught.value.code == 1
    message = "Error: cannot write to standard output: No space left on device\n"
    assert capfd.readouterr().err == message


@FULL
def test_a_full_disk_behind_stderr_exits_with_1(folder, monkeypatch) -> None:
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", full)
        with pytest.raises(SystemExit) as caught:
            main.main(["fit", "table.csv", "--target", "ill", "--budget", "20", "--learner",
                       "greedy-miser", "-o", "m.thrifty"], prog_name="thrifty")  # fmt: skip
    assert caught.value.code == 1
    assert not (folder / "m.thrifty").exists()


def test_a_reader_that_has_closed_the_pipe_is_no_error_to_tell(run, model, monkeypatch) -> None:
    def fail(path):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("thrifty.bundle.describe", fail)
    result = run("inspect", model)
    assert (result.exit_code, result.stderr) == (1, "")


def test_an_error_without_a_file_is_told_as_it_is(model, monkeypatch, capfd) -> None:
    def fail(path):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("thrifty.bundle.describe", fail)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)  # closed before the start
        with pytest.raises(SystemExit) as caught:
            main.main(["inspect", str(model)], prog_name="thrifty")
    assert caught.value.code == 1
    assert capfd.readouterr().err == "Error: Input/output error\n"


@pytest.mark.skipif(os.name == "nt", reason="a shell of another kind")
@pytest.mark.parametrize(
    ("redirected", "code", "words"),
    [
        ("> /dev/full", 1, "Error: cannot write to standard output: No space left on device\n"),
        ("| true; exit ${PIPESTATUS[0]}", 1, ""),
        (">&-", 0, ""),
    ],
    ids=["full", "pipe", "closed"],
)
def test_a_process_whose_stdout_fails_ends_without_a_traceback(
    redirected, code, words, model, fresh
) -> None:
    fresh.pop("PYTHONUNBUFFERED", None)
    python = f"'{sys.executable}' -m thrifty.cli predict '{model}' table.csv"
    command = ["bash", "-c", f"{python} {redirected}"]
    done = subprocess.run(command, env=fresh, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, words)
