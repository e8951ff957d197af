"""Atomic file writes: a file is written under a temporary name, then renamed."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` so that a reader sees the old file or the new one, never a part.

    A symbolic link is followed and kept.

    Raises
    ------
    OSError
        If the file cannot be written; the error names the path, and an existing file is
        unchanged.

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
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot write: {error.strerror}", str(target)) from error
