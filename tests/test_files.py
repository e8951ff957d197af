"""A file is written whole or not at all, whatever fails, and is safe once it is written."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from _faulty_disk import Disk, Operation, contents, inject_faults, power_failures

from thrifty import files
from thrifty.files import create_whole, make_folder, write_whole

CODES = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)
# Longer than the buffer of a file, so that parts are written before the end.
OLD, NEW = b"old" * 9000, [b"new" * 4000, b"newer" * 4000, b"end"]
WHOLE = b"".join(NEW)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "note.txt"
    write_whole(path, b"one")
    write_whole(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == ["note.txt"]


def test_parts_are_written_in_order(tmp_path):
    write_whole(tmp_path / "note.txt", (part for part in NEW))
    assert (tmp_path / "note.txt").read_bytes() == WHOLE
    write_whole(tmp_path / "note.txt", [])
    assert (tmp_path / "note.txt").read_bytes() == b""


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot write.*nowhere"):
        write_whole(tmp_path / "nowhere" / "note.txt", b"")


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="cannot write.*folder"):
        write_whole(tmp_path / "folder", b"data")
    assert names(tmp_path) == ["folder"]


def test_a_link_is_followed_and_kept(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    write_whole(link, b"data")
    assert link.is_symlink()
    assert (tmp_path / "real").read_bytes() == b"data"


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("n" * 255)
    write_whole(path, b"data")
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "note.txt"
    path.write_bytes(OLD)
    path.chmod(mode)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "other.txt").write_bytes(b"")
    write_whole(tmp_path / "note.txt", b"new")
    assert (tmp_path / "note.txt").stat().st_mode == (tmp_path / "other.txt").stat().st_mode


def test_nobody_else_can_read_the_new_contents_before_they_have_the_old_permissions(tmp_path):
    path = tmp_path / "note.txt"
    path.write_bytes(OLD)
    path.chmod(0o600)

    def parts():
        (temporary,) = tmp_path.glob(".*.part")
        yield oct(stat.S_IMODE(temporary.stat().st_mode)).encode()

    write_whole(path, parts())
    assert path.read_bytes() == b"0o600"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_is_replaced_keeps_its_owner_and_its_group(tmp_path):
    path = tmp_path / "note.txt"
    path.write_bytes(OLD)
    os.chown(path, 65534, 65533)
    path.chmod(0o640)
    write_whole(path, b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65534, 65533, 0o640)


@pytest.mark.parametrize(("may_group", "mode"), [(True, 0o664), (False, 0o644)])
def test_another_group_gets_no_more_than_all_others_had(tmp_path, monkeypatch, may_group, mode):
    path = tmp_path / "note.txt"
    path.write_bytes(OLD)
    path.chmod(0o664)
    found = path.stat()
    given = []

    def chown(path, owner, group):
        given.append((owner, group))
        if owner != -1 or not may_group:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    def another_owner(path):
        fields = list(found)
        fields[4:6] = 12345, 12346
        return os.stat_result(fields) if str(path).endswith("note.txt") else found

    monkeypatch.setattr(files.os, "chown", chown)
    with monkeypatch.context() as patch:
        patch.setattr(files, "_status", another_owner)
        write_whole(path, b"new")
    assert given == [(12345, 12346), (-1, 12346)]
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_file_is_created_once_and_for_its_owner_only(tmp_path):
    path = tmp_path / "key"
    assert create_whole(path, b"one")
    assert not create_whole(path, b"two")
    assert path.read_bytes() == b"one" and names(tmp_path) == ["key"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# --- faults ------------------------------------------------------------------


def test_a_file_that_is_created_is_whole_or_not_there_whatever_fails(tmp_path):
    path = tmp_path / "key"
    found = list(inject_faults(tmp_path, lambda: None, lambda: create_whole(path, WHOLE), CODES))
    assert {"open", "write", "fsync", "link", "fsync folder"} <= {f.operation for f in found}
    for fault in found:
        assert not fault.torn
        assert fault.left == [] or fault.operation == "unlink"
        is_unsupported = fault.operation.endswith("folder") and fault.code == errno.EACCES
        assert (fault.error is None) == is_unsupported


def test_a_power_failure_leaves_a_created_file_whole_or_not_there(tmp_path):
    path = tmp_path / "key"
    with Disk().installed() as disk:
        create_whole(path, WHOLE)
    for end in range(len(disk.log)):
        assert seen_after(disk.log[:end], path, {}) <= {None, WHOLE}
    assert seen_after(disk.log, path, {}) == {WHOLE}


@pytest.mark.parametrize("old", [b"", OLD])
def test_whichever_operation_fails_the_old_file_or_the_new_one_is_there(tmp_path, old):
    path = tmp_path / "note.txt"
    found = list(
        inject_faults(
            tmp_path,
            lambda: path.write_bytes(old),
            lambda: write_whole(path, iter(NEW)),
            CODES,
        )
    )
    operations = {fault.operation for fault in found}
    assert operations == {"open", "write", "chmod", "fsync", "close", "rename", "open folder",
                          "fsync folder", "close folder"}  # fmt: skip
    for fault in found:
        assert not fault.torn and not fault.left
        in_folder = fault.operation.endswith("folder")
        assert fault.found["note.txt"] == (WHOLE if in_folder else old)
        if in_folder and fault.code == errno.EACCES:  # a system that cannot do it
            assert fault.error is None
            continue
        assert fault.error.errno == fault.code
        assert fault.error.filename == str(path)
        problem = (
            "written, but not sure to outlast a power failure" if in_folder else "cannot write"
        )
        assert fault.error.strerror == f"{problem}: {os.strerror(fault.code)}"


def test_a_temporary_file_that_cannot_be_deleted_is_left_and_the_first_error_told(tmp_path):
    path = tmp_path / "note.txt"
    path.write_bytes(OLD)
    with Disk().installed() as disk:
        write_whole(path, WHOLE)
    place = [entry.name for entry in disk.log].index("rename")
    path.write_bytes(OLD)
    with (
        Disk({place, place + 1}, errno.EIO).installed(),
        pytest.raises(OSError, match="cannot write: Input/output error"),
    ):
        write_whole(path, WHOLE)
    (left,) = set(names(tmp_path)) - {"note.txt"}
    assert left.startswith(".note.txt.") and left.endswith(".part")
    assert path.read_bytes() == OLD


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_ends_the_parts_early_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "note.txt"
    path.write_bytes(OLD)

    def parts():
        yield NEW[0]
        raise error

    with pytest.raises(error):
        write_whole(path, parts())
    assert contents(tmp_path) == {"note.txt": OLD}


def test_a_system_that_cannot_force_folders_to_the_disk_is_no_error(tmp_path, monkeypatch):
    fsync = os.fsync

    def only_files(descriptor):
        if not os.path.isfile(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    write_whole(tmp_path / "note.txt", b"data")
    assert contents(tmp_path) == {"note.txt": b"data"}


def test_folders_are_made_and_forced_to_the_disk(tmp_path):
    with Disk().installed() as disk:
        make_folder(tmp_path / "a" / "b")
        make_folder(tmp_path / "a" / "b")
    made = [(entry.name, entry.path) for entry in disk.log if not entry.name.startswith("close")]
    assert made == [
        ("mkdir", str(tmp_path / "a")),
        ("open folder", str(tmp_path)),
        ("fsync folder", str(tmp_path)),
        ("mkdir", str(tmp_path / "a" / "b")),
        ("open folder", str(tmp_path / "a")),
        ("fsync folder", str(tmp_path / "a")),
    ]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="cannot make the folder: Not a directory") as caught:
        make_folder(tmp_path / "file")
    assert caught.value.filename == str(tmp_path / "file")
    with (
        Disk({0}, errno.EROFS).installed(),
        pytest.raises(OSError, match="cannot make the folder: Read-only file system"),
    ):
        make_folder(tmp_path / "a")


# --- power failures ----------------------------------------------------------


def seen_after(log, path, before):
    """Return what a reader of the path may see after a power failure; None if there is no file."""
    return {left.get(str(path)) for left in power_failures(before, log)}


@pytest.mark.parametrize("old", [None, OLD])
def test_a_power_failure_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path, old):
    path = tmp_path / "note.txt"
    before = {} if old is None else {str(path): old}
    with Disk().installed() as disk:
        write_whole(path, iter(NEW))
    for end in range(len(disk.log)):
        assert seen_after(disk.log[:end], path, before) <= {old, WHOLE}
    assert seen_after(disk.log, path, before) == {WHOLE}


def test_a_power_failure_after_a_fault_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "note.txt"
    faults = inject_faults(
        tmp_path, lambda: path.write_bytes(OLD), lambda: write_whole(path, iter(NEW)), CODES
    )
    for fault in faults:
        for end in range(len(fault.log) + 1):
            assert seen_after(fault.log[:end], path, {str(path): OLD}) <= {OLD, WHOLE}


@pytest.mark.parametrize(
    ("dropped", "torn"), [("fsync", True), ("fsync folder", False)], ids=["file", "folder"]
)
def test_the_simulation_finds_what_is_not_forced_to_the_disk(tmp_path, dropped, torn):
    path = tmp_path / "note.txt"
    with Disk().installed() as disk:
        write_whole(path, WHOLE)
    log = [entry for entry in disk.log if entry.name != dropped]
    seen = seen_after(log, path, {str(path): OLD})
    assert (seen - {OLD, WHOLE} != set()) == torn
    assert seen != {WHOLE}


def test_the_simulation_finds_a_file_that_is_written_in_place():
    log = [Operation("open", "x"), Operation("write", "x", b"new"), Operation("fsync", "x")]
    assert len(seen_after(log[:2], "x", {"x": b"old"})) > 2


# --- real faults -------------------------------------------------------------


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, iter([b"one ", b"two"]))
    reader.join(timeout=30)
    assert received == [b"one two"]
    assert pipe.is_fifo() and names(tmp_path) == ["pipe"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_a_full_device_is_named():
    with pytest.raises(OSError, match="cannot write: No space left on device: '/dev/full'"):
        write_whole("/dev/full", b"data")


PYTHON = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[1])}
LIMITED = """
import resource, sys
from thrifty.files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_whole(sys.argv[1], (b"x" * 1000 for _ in range(9)))
except OSError as error:
    print(error)
"""


def test_a_file_that_becomes_larger_than_allowed_leaves_the_old_one(tmp_path):
    path = tmp_path / "note.txt"
    path.write_bytes(OLD)
    command = [sys.executable, "-c", LIMITED, str(path)]
    done = subprocess.run(command, env=PYTHON, capture_output=True, text=True, timeout=60)
    assert "cannot write: File too large" in done.stdout and str(path) in done.stdout
    assert contents(tmp_path) == {"note.txt": OLD}


DENIED = """
import os, sys
from thrifty.files import write_whole
if os.geteuid() == 0:  # root may write anywhere
    os.setuid(65534)
try:
    write_whole(sys.argv[1], b"new")
except PermissionError as error:
    print(error)
"""


def test_a_folder_without_permission_leaves_the_old_file():
    # Not in pytest's folder, which other users may not enter.
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "note.txt")
        path.write_bytes(OLD)
        path.parent.chmod(0o555)
        command = [sys.executable, "-c", DENIED, str(path)]
        done = subprocess.run(command, env=PYTHON, capture_output=True, text=True, timeout=60)
        path.parent.chmod(0o755)
        assert "cannot write: Permission denied" in done.stdout, done.stderr
        assert contents(path.parent) == {"note.txt": OLD}
