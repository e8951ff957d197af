"""The key of a ledger: ids are stored as keyed hashes, so that a stolen ledger names nobody."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path

from thrifty.errors import LedgerError
from thrifty.files import create_whole
from thrifty.untrusted import read_file

__all__ = ["KEY_VARIABLE", "KeyedHash", "read_key"]

KEY_VARIABLE = "THRIFTY_LEDGER_KEY"
"""Environment variable that holds the key, as text of at least 32 characters."""

MIN_LENGTH = 32
# Largest size of a key file.
MAX_BYTES = 1 << 16


class KeyedHash:
    """Hashes ids with a key (HMAC-SHA256).

    Parameters
    ----------
    key : bytes

    Examples
    --------
    >>> from thrifty.serve.ledger.keys import KeyedHash
    >>> digest = KeyedHash(b"0" * 32)
    >>> digest("case", "application-17") == digest("case", "application-17")
    True
    >>> digest("case", "application-17") == digest("subject", "application-17")
    False
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __call__(self, *parts: str) -> str:
        """Return the hash of some texts as 64 hexadecimal digits; where one ends matters."""
        coded = [part.encode() for part in parts]
        message = b"".join([len(part).to_bytes(8) + part for part in coded])
        return hmac.digest(self._key, message, "sha256").hex()

    def __repr__(self) -> str:
        return "KeyedHash(***)"


def read_key(file: str | os.PathLike[str] | None, create: bool = False) -> bytes:
    """Return the key of a ledger: from the environment, else from a file.

    Parameters
    ----------
    file : path or None
        A file that only its owner can read or write (mode 600).
    create : bool
        Whether to create the file with a new key if it does not exist.

    Raises
    ------
    LedgerError
        If there is no key, it is too short, or others can read the file.
    """
    text = os.environ.get(KEY_VARIABLE)
    if text is not None:
        if len(text) < MIN_LENGTH:
            raise LedgerError(f"{KEY_VARIABLE} has fewer than {MIN_LENGTH} characters")
        return text.encode()
    if file is None:
        raise LedgerError(
            f"the ledger needs a key: set {KEY_VARIABLE} to a secret of at least {MIN_LENGTH} "
            "characters, or name a key file"
        )
    path = Path(file)
    if create and not path.exists():
        try:
            create_whole(path, secrets.token_hex(MIN_LENGTH).encode())
        except OSError as error:
            raise LedgerError(f"key file {path}: cannot be created ({error.strerror})") from None
    try:
        mode = path.stat().st_mode
        key = read_file(path, MAX_BYTES, LedgerError).strip()
    except OSError as error:
        raise LedgerError(f"key file {path}: cannot be read ({error.strerror})") from None
    except LedgerError as error:
        raise LedgerError(f"key file {path}: {error}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise LedgerError(f"key file {path}: others can read it; run chmod 600 {path}")
    if len(key) < MIN_LENGTH:
        raise LedgerError(f"key file {path}: it has fewer than {MIN_LENGTH} characters")
    return key
