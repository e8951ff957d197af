"""Everything that writes files: whatever fails, each holds what it held before or the new contents.

What is torn, and what is left behind, is found by the machinery of benchmarks/faults.py.
"""

from __future__ import annotations

import ast
import errno
from pathlib import Path

import pytest
from _faulty_disk import Disk, contents, inject_faults
from _writers import COMMANDS, LIBRARY, OLD, CommandError, prepare, run_command, trained_once

import thrifty

SOURCE = Path(thrifty.__file__).parent
# Calls that change the disk, and how they are called where they do not.
WRITING = {"mkdir", "makedirs", "rename", "replace", "unlink", "remove", "rmdir", "symlink_to",
           "write_text", "write_bytes", "touch", "to_csv", "to_parquet", "savefig", "savez",
           "savetxt", "tofile", "dump", "copyfile", "NamedTemporaryFile", "mkstemp"}  # fmt: skip
SHARED_NAMES = {"replace", "remove", "rename", "dump"}
HARMLESS = {
    ("checks/files.py", "path.write_bytes"),  # damages a file in a temporary folder, on purpose
    ("cli/csv_output.py", "safe.to_csv"),  # returns text
    ("cli/demo.py", "table.to_csv"),
    ("cli/curve.py", "figure.savefig"),  # into memory
    ("report/charts.py", "figure.savefig"),
    ("serve/ledger/sqlite.py", "os.open"),  # an empty file, for SQLite to write
}


@pytest.mark.parametrize("name", LIBRARY)
def test_whichever_operation_fails_no_file_is_torn(name, tmp_path) -> None:
    prepare(tmp_path)

    def write():
        LIBRARY[name](tmp_path)

    faults = list(inject_faults(tmp_path, lambda: None, write, [errno.ENOSPC]))
    assert {"open", "write", "fsync", "rename", "fsync folder"} <= {f.operation for f in faults}
    for fault in faults:
        assert not fault.torn and not fault.left, fault.operation
        assert fault.error.errno == errno.ENOSPC
        assert str(fault.error.filename).startswith(str(tmp_path))


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"thrifty demo"}))
def test_a_command_that_cannot_write_says_so_and_tears_no_file(name, tmp_path) -> None:
    prepare(tmp_path)

    def write():
        run_command(tmp_path, *COMMANDS[name])

    with trained_once():
        faults = list(inject_faults(tmp_path, lambda: None, write, [errno.EIO], {"rename"}))
    assert len(faults) == sum(argument.startswith("out.") for argument in COMMANDS[name])
    for fault in faults:
        assert not fault.torn and not fault.left
        assert isinstance(fault.error, CommandError)
        assert "cannot write: Input/output error" in str(fault.error)


def test_the_tour_ends_where_a_file_cannot_be_written(tmp_path) -> None:
    with (
        Disk({0}, errno.EROFS).installed(),
        pytest.raises(CommandError, match="cannot make the folder: Read-only file system"),
    ):
        run_command(tmp_path, "demo", "-o", "out")
    with (
        Disk({7}, errno.ENOSPC).installed(),
        pytest.raises(CommandError, match="cannot write: No space left on device: .*heart.csv"),
    ):
        run_command(tmp_path, "demo", "-o", "out")
    assert contents(tmp_path) == {}


def test_a_long_table_is_written_in_parts(tmp_path, monkeypatch) -> None:
    prepare(tmp_path)
    run_command(tmp_path, *COMMANDS["thrifty predict"])
    whole = (tmp_path / "out.csv").read_bytes()
    assert whole != OLD
    monkeypatch.setattr("thrifty.cli.csv_output.PART_ROWS", 7)
    run_command(tmp_path, *COMMANDS["thrifty predict"])
    assert (tmp_path / "out.csv").read_bytes() == whole


def test_no_output_is_named_by_no_test(tmp_path) -> None:
    """What `prepare` puts in the places of outputs is replaced by some writer."""
    prepare(tmp_path)
    outputs = {name for name, data in contents(tmp_path).items() if data == OLD}
    named = {argument for arguments in COMMANDS.values() for argument in arguments}
    assert outputs - named == {"out.json", "out.model", "out.model.range"}


def test_only_one_module_writes_files() -> None:
    found = set()
    for path in set(SOURCE.rglob("*.py")) - {SOURCE / "files.py"}:
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call):
                continue
            called = ast.unparse(call.func)
            last = called.rpartition(".")[2]
            modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
            opens = called in ("open", "io.open", "path.open") and any(
                isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wxa+")
                for mode in modes
            )
            opens |= called == "os.open" and "O_CREAT" in ast.unparse(call)
            # Strings and frozen objects have a `replace`, too; files are replaced by `os`.
            is_other = last in SHARED_NAMES and not called.startswith("os.")
            if opens or (last in WRITING and not is_other):
                found.add((path.relative_to(SOURCE).as_posix(), called))
    assert found == HARMLESS
