"""The one way in which Thrifty writes files: whole or not at all, and safe once written.

A file is written under a temporary name in the same folder, forced to the disk, and renamed; then
the folder is forced to the disk, too, as it holds the name. A process that is killed, or a power
failure, leaves the old file or the new one, and at most a hidden file that ends in ``.part``.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["make_folder", "write_whole"]

# A temporary name starts with these many characters of the name, which may be as long as the file
# system allows.
NAME_KEPT = 40
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
    if _is_device(path):
        with _naming(path), open(path, "wb") as device:
            device.writelines(parts)
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:NAME_KEPT]}.{secrets.token_hex(8)}.part")
    with _naming(target):
        try:
            with open(temporary, "xb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:  # an interrupt, too
            with suppress(OSError):  # the first error says more
                os.unlink(temporary)
            raise
    with _naming(target, "written, but not sure to outlast a power failure"):
        _sync_folder(target.parent)


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


def _is_device(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a pipe, a terminal or another device, which is never replaced."""
    try:
        mode = os.stat(path).st_mode
    except OSError:  # there is no such file yet, or writing it tells what is wrong
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


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
