"""Writing a file whole: beside its place first, then moved into it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` so that a reader sees the old file or the new one, never a part.

    Raises
    ------
    OSError
        If the file cannot be written; it names the path, and an old file is as it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from thrifty.files import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", b"paid")
    ...     [file.name for file in Path(folder).iterdir()]
    ['note.txt']
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with open(beside, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot write: {error.strerror}", str(target)) from error
