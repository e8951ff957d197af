"""A disk that fails: it stands between `thrifty.files` and the system.

`Disk` passes every operation on and keeps a log of them; some of them can fail. `power_failures`
replays a log, and yields what a power failure at its end may leave: data that were not forced to
the disk may be lost in part or in whole, and so may every change of a name since its folder was.
"""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from thrifty import files

ABSENT = None
Contents = dict[str, bytes]


class Operation(NamedTuple):
    """One operation of the log: its name, its path, and what was written, or the new name."""

    name: str
    path: str
    data: bytes = b""
    to: str = ""


class Disk:
    """Passes operations on to the system and logs them; those at some places of the log fail.

    Parameters
    ----------
    failing : collection of int
        Which operations fail, counted from 0.
    code : int
        Their `errno`. A write that fails has written half of its data.
    """

    def __init__(self, failing: Collection[int] = (), code: int = 0) -> None:
        self.log: list[Operation] = []
        self.failing, self.code = failing, code
        self._folders: dict[int, str] = {}

    @contextmanager
    def installed(self) -> Iterator[Disk]:
        """Within this context, `thrifty.files` writes through this disk."""
        files.os, files.open = self, self.open_file  # type: ignore[assignment, attr-defined]
        try:
            yield self
        finally:
            files.os = os
            del files.open  # type: ignore[attr-defined]

    def step(self, operation: Operation) -> None:
        """Log an operation; raise an OSError if it is to fail."""
        fails = len(self.log) in self.failing
        self.log.append(operation._replace(name="failed") if fails else operation)
        if fails:
            raise OSError(self.code, os.strerror(self.code))

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open_file(
        self, path: str | os.PathLike[str], mode: str, opener: Any = None
    ) -> io.BufferedWriter:
        """Open a file to write."""
        self.step(Operation("open", os.fspath(path)))
        return io.BufferedWriter(_File(self, os.fspath(path), mode, opener))

    def open(self, path: str | os.PathLike[str], flags: int, mode: int | None = None) -> int:
        """Open a folder; a file, with its mode, for `open_file`, which has logged it."""
        if mode is not None:
            return os.open(path, flags, mode)
        self.step(Operation("open folder", os.fspath(path)))
        descriptor = os.open(path, flags)
        self._folders[descriptor] = os.fspath(path)
        return descriptor

    def close(self, descriptor: int) -> None:
        """Close a folder."""
        os.close(descriptor)
        self.step(Operation("close folder", self._folders.pop(descriptor)))

    def fsync(self, descriptor: int) -> None:
        """Force a file, the last that was opened, or a folder to the disk."""
        if descriptor in self._folders:
            self.step(Operation("fsync folder", self._folders[descriptor]))
        else:
            last = next(entry.path for entry in reversed(self.log) if entry.name == "open")
            self.step(Operation("fsync", last))
        os.fsync(descriptor)

    def replace(self, path: str | os.PathLike[str], to: str | os.PathLike[str]) -> None:
        """Rename a file."""
        self.step(Operation("rename", os.fspath(path), to=os.fspath(to)))
        os.replace(path, to)

    def link(self, path: str | os.PathLike[str], to: str | os.PathLike[str]) -> None:
        """Give a file another name, if there is no such file."""
        self.step(Operation("link", os.fspath(path), to=os.fspath(to)))
        os.link(path, to)

    def chmod(self, path: str | os.PathLike[str], mode: int) -> None:
        """Change the permissions of a file."""
        self.step(Operation("chmod", os.fspath(path)))
        os.chmod(path, mode)

    def unlink(self, path: str | os.PathLike[str]) -> None:
        """Delete a file."""
        self.step(Operation("unlink", os.fspath(path)))
        os.unlink(path)

    def mkdir(self, path: str | os.PathLike[str]) -> None:
        """Make a folder."""
        self.step(Operation("mkdir", os.fspath(path)))
        os.mkdir(path)


class _File(io.FileIO):
    """An open file of a `Disk`."""

    def __init__(self, disk: Disk, path: str, mode: str, opener: Any) -> None:
        super().__init__(path, mode, opener=opener)
        self._disk, self._path = disk, path

    def write(self, data: Any) -> int:
        data = bytes(data)
        try:
            self._disk.step(Operation("write", self._path, data))
        except OSError:
            half = data[: len(data) // 2]
            self._disk.log[-1] = Operation("write", self._path, half)
            super().write(half)
            raise
        return int(super().write(data))

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._disk.step(Operation("close", self._path))


# --- faults ------------------------------------------------------------------


class Fault(NamedTuple):
    """What became of the files when one operation failed."""

    operation: str
    code: int
    error: OSError | None
    found: Contents
    torn: list[str]
    left: list[str]
    log: list[Operation]


def contents(folder: Path) -> Contents:
    """Return what the files of a folder hold, by name, with those in its folders."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def restore(folder: Path, before: Mapping[str, bytes]) -> None:
    """Make a folder hold these files only, and no empty folders."""
    for name in contents(folder).keys() - before.keys():
        (folder / name).unlink()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for name, data in before.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def inject_faults(
    folder: Path,
    write_old: Callable[[], object],
    write_new: Callable[[], object],
    codes: Sequence[int],
    operations: Collection[str] | None = None,
) -> Iterator[Fault]:
    """Let each operation of `write_new` fail once with each code, and look at the folder.

    Parameters
    ----------
    folder : Path
        Where both write; it may hold other files.
    write_old, write_new : callable
        Write the old files and the new ones in their place; an OSError says that it failed.
    codes : sequence of int
        Values of `errno`.
    operations : collection of str, optional
        Which operations are to fail; all by default.
    """
    write_old()
    old = contents(folder)
    with Disk().installed() as disk:
        write_new()
    new = contents(folder)
    places = [k for k, o in enumerate(disk.log) if operations is None or o.name in operations]
    for place, code in itertools.product(places, codes):
        restore(folder, old)
        error = None
        with Disk({place}, code).installed() as failing:
            try:
                write_new()
            except OSError as raised:
                error = raised
        found = contents(folder)
        names = old.keys() | new.keys()
        torn = [n for n in names if found.get(n) not in (old.get(n, ABSENT), new.get(n, ABSENT))]
        left = sorted(found.keys() - names)
        yield Fault(disk.log[place].name, code, error, found, torn, left, failing.log)
    restore(folder, new)


# --- power failures ----------------------------------------------------------


def power_failures(before: Mapping[str, bytes], log: Sequence[Operation]) -> Iterator[Contents]:
    """Yield what files, by path, a power failure after these operations may leave.

    A file whose data were not forced to the disk may hold all of them, none, a part, or zeros. Of
    the changes of names since their folder was forced to the disk, any may be lost.
    """
    written: list[bytes] = list(before.values())
    synced = list(written)
    safe_names = {path: number for number, path in enumerate(before)}
    names = dict(safe_names)
    pending: list[dict[str, int | None]] = []
    for name, path, data, to in log:
        if name == "open" and path not in names:
            names[path] = len(written)
            written.append(b"")
            synced.append(b"")
            pending.append({path: names[path]})
        elif name == "write":
            written[names[path]] += data
        elif name == "fsync":
            synced[names[path]] = written[names[path]]
        elif name == "rename" and path in names:
            names[to] = names.pop(path)
            pending.append({path: None, to: names[to]})
        elif name == "link" and path in names:
            names[to] = names[path]
            pending.append({to: names[to]})
        elif name == "unlink" and path in names:
            del names[path]
            pending.append({path: None})
        elif name == "fsync folder":
            safe_names, pending = dict(names), []
    options = [
        {safe} if safe == all_of_it else {safe, all_of_it, all_of_it[: len(all_of_it) // 2],
                                          bytes(len(all_of_it))}
        for safe, all_of_it in zip(synced, written, strict=True)
    ]  # fmt: skip
    for kept in itertools.product((False, True), repeat=len(pending)):
        left = dict(safe_names)
        for change in itertools.compress(pending, kept):
            for path, number in change.items():
                if number is None:
                    left.pop(path, None)
                else:
                    left[path] = number
        for data_left in itertools.product(*options):
            yield {path: data_left[number] for path, number in left.items()}
