"""The one way in which Thrifty writes files: whole or not at all, and safe once written.

A file is written under a temporary name in the same folder, forced to the disk, and renamed; then
the folder is forced to the disk, too, as it holds the name. A process that is killed, or a power
failure, leaves the old file or the new one, and at most a hidden file that ends in ``.part``.

A file that is replaced keeps its permissions, and its owner and group if the system allows that.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["create_whole", "make_folder", "write_whole"]

# A temporary name starts with these many characters of the name, which may be as long as the file
# system allows.
NAME_KEPT = 40
NOT_SAFE = "written, but not sure to outlast a power failure"
# What a system says that cannot force a folder to the disk: Windows does not open folders, some
# network and FUSE file systems do not synchronize them, and one that may not be listed cannot be
# opened. The file is written then, and whole; how soon its name is safe is up to the system.
NO_FOLDER_SYNC = (
    errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EISDIR,
)  # fmt: skip


def write_whole(path: str | os.PathLike[str], data: bytes | Iterable[bytes]) -> None:
    """Write a file so that a reader sees the old file or the new one, never a part.

    A symbolic link is followed and kept. What is no file, such as a pipe or ``/dev/stdout``, is
    written to directly.

    Parameters
    ----------
    path : path
    data : bytes or iterable of bytes
        The contents, or their parts in order, such as the lines of a long table.

    Raises
    ------
    OSError
        If the file cannot be written; the error names the path, and an existing file is unchanged.
        Only if the folder cannot be forced to the disk at the end, the new file is in place.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from thrifty.files import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", b"paid")
    ...     [(file.name, file.read_bytes()) for file in Path(folder).iterdir()]
    [('note.txt', b'paid')]
    """
    parts = (data,) if isinstance(data, bytes) else data
    old = _status(path)
    if old is not None and not (stat.S_ISREG(old.st_mode) or stat.S_ISDIR(old.st_mode)):
        with _naming(path), open(path, "wb") as device:  # a pipe, a terminal or another device
            device.writelines(parts)
        return
    target = Path(os.path.realpath(path))
    with _naming(target), _written(target, parts, old) as temporary:
        os.replace(temporary, target)
    with _naming(target, NOT_SAFE):
        _sync_folder(target.parent)


def create_whole(path: str | os.PathLike[str], data: bytes) -> bool:
    """Write a new file that only its owner can read; return False if there is one already.

    If several processes do so at a time, one of them writes the file, and the others see all of it.

    Raises
    ------
    OSError
        If the file cannot be written; the error names the path.
    """
    target = Path(path)
    with _naming(target), _written(target, (data,), is_private=True) as temporary:
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
    with _naming(target, NOT_SAFE):
        _sync_folder(target.parent)
    return True


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder, with those above it, that is there after a power failure; it may exist.

    Raises
    ------
    OSError
        If it cannot be made, or is a file; the error names the path.
    """
    folder = Path(os.path.abspath(path))
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    with _naming(folder, "cannot make the folder"):
        with suppress(FileExistsError):  # unless another process was faster
            os.mkdir(folder)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        _sync_folder(folder.parent)


def _status(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return what a path is; None if there is nothing, or if writing it tells what is wrong."""
    try:
        return os.stat(path)
    except OSError:
        return None


@contextmanager
def _written(
    target: Path,
    parts: Iterable[bytes],
    old: os.stat_result | None = None,
    is_private: bool = False,
) -> Iterator[Path]:
    """Write a temporary file next to `target`; it is deleted if the block fails.

    It gets the permissions of the file that it is to replace. Until then nobody else can read it.
    """
    temporary = target.with_name(f".{target.name[:NAME_KEPT]}.{secrets.token_hex(8)}.part")
    opener = _open_private if is_private or old is not None else None
    try:
        with open(temporary, "xb", opener=opener) as file:
            file.writelines(parts)
            file.flush()
            if old is not None:
                _keep_permissions(old, temporary)
            os.fsync(file.fileno())
        yield temporary
    except BaseException:  # an interrupt, too
        with suppress(OSError):  # the first error says more
            os.unlink(temporary)
        raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _keep_permissions(old: os.stat_result, path: Path) -> None:
    """Give a file the permissions, and if possible the owner and the group, of an older one."""
    mode = stat.S_IMODE(old.st_mode) & 0o777
    new = os.stat(path)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(path, old.st_uid, old.st_gid)
        except OSError:
            try:
                os.chown(path, -1, old.st_gid)
            except OSError:
                # Another group must not get what only the members of that one had.
                mode = mode & 0o707 | (mode & 0o007) << 3
    os.chmod(path, mode)


def _sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in NO_FOLDER_SYNC:
            raise


@contextmanager
def _naming(path: str | os.PathLike[str], problem: str = "cannot write") -> Iterator[None]:
    """Let an OSError of the block say what is wrong with which path."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"{problem}: {error.strerror}", os.fspath(path)) from error
