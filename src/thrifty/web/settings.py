"""What the operator of a server can set: address, token and limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from thrifty.errors import DataError, raise_all

__all__ = ["Settings", "is_loopback"]

MIN_TOKEN = 16


@dataclass(frozen=True)
class Settings:
    """Address, token and limits of a server.

    Parameters
    ----------
    host : str
        Address to listen on. Any but a loopback address needs a token.
    port : int
        Port to listen on.
    token : str, optional
        Secret that clients send as ``Authorization: Bearer TOKEN``; never shown.
    max_body : int
        Largest request body, in bytes.
    max_rows : int
        Most rows of one ``/v1/predict``.
    rate : float
        Requests per second and client, on average; bursts of two seconds' worth are let through.
    timeout : float
        Seconds after which a request is answered with 504; its purchases go on and settle.
    max_open : int
        Most cases that may be open at a time.
    expire_days : float
        Days without an answer or a purchase after which a case ends with its best answer so far.

    Raises
    ------
    DataError
        All that is wrong, at once.

    Examples
    --------
    >>> from thrifty.web.settings import Settings
    >>> Settings(host="0.0.0.0")
    Traceback (most recent call last):
    ...
    thrifty.errors.DataError: serve: '0.0.0.0' can be reached from other machines: set a token...
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = field(default=None, repr=False)
    max_body: int = 2**20
    max_rows: int = 10_000
    rate: float = 500.0
    timeout: float = 60.0
    max_open: int = 10_000
    expire_days: float = 7.0

    def __post_init__(self) -> None:
        problems = []
        if self.token is None and not is_loopback(self.host):
            problems.append(
                f"{self.host!r} can be reached from other machines: set a token, in the "
                "environment variable THRIFTY_TOKEN or in a file (--token-file)"
            )
        if self.token is not None and (len(self.token) < MIN_TOKEN or not self.token.isascii()):
            problems.append(f"the token must have at least {MIN_TOKEN} characters, all ASCII")
        if not 0 <= self.port <= 65_535:
            problems.append(f"port: {self.port!r} is not from 0 to 65535")
        for name in ("max_body", "max_rows", "rate", "timeout", "max_open", "expire_days"):
            if not getattr(self, name) > 0:
                problems.append(f"{name}: {getattr(self, name)!r} is not above 0")
        raise_all(DataError, "serve", problems)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Examples
    --------
    >>> from thrifty.web.settings import is_loopback
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "10.0.0.4")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
