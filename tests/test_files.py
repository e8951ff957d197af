"""A file is written whole or not at all."""

from __future__ import annotations

import pytest

from thrifty.files import write_whole


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "note.txt"
    write_whole(path, b"one")
    write_whole(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert [file.name for file in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.parametrize("call", ["os.replace", "os.fsync"])
def test_a_failure_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, call):
    path = tmp_path / "note.txt"
    path.write_bytes(b"old")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(call, fail)
    with pytest.raises(OSError, match="cannot write: No space left") as caught:
        write_whole(path, b"new")
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["note.txt"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot write.*nowhere"):
        write_whole(tmp_path / "nowhere" / "note.txt", b"")


def test_a_link_is_followed_and_kept(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    write_whole(link, b"data")
    assert link.is_symlink()
    assert (tmp_path / "real").read_bytes() == b"data"
