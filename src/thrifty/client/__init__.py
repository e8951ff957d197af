"""Clients of a server that `thrifty serve` runs: one that waits, and one for event loops.

`Client` and `AsyncClient` have the same methods, and return the classes of `thrifty.wire`. calls.py
makes every request and reads its response, without sending anything. They need msgspec and httpx2
(``pip install 'thrifty[serve]'``), and neither NumPy nor a model.
"""

from __future__ import annotations

from thrifty.client.async_client import AsyncClient, AsyncClientCase
from thrifty.client.calls import RequestError
from thrifty.client.client import Client, ClientCase

__all__ = ["AsyncClient", "AsyncClientCase", "Client", "ClientCase", "RequestError"]
