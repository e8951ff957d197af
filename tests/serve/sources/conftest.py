"""A small HTTP server that does what a test says, well or badly."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest


class Server:
    """Answers each request with the next of its replies; the last one again and again.

    A reply is (status, body), or one of "hang", "close", "half" and "late". With "hang" and "late",
    so much time passes on `clock` that nobody waits any longer, and the end of it comes when
    `release` is set.
    """

    def __init__(self) -> None:
        self.replies: list[Any] = [(200, {})]
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.url = ""
        self.clock: Any = None
        self.release = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()
        self._ready.wait()

    async def _run(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._over.wait()
        server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = head[0].split(" ")
                pairs = (line.split(": ", 1) for line in head[1:] if line)
                headers = {name.lower(): value for name, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.requests.append((method, path, headers, body))
                reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
                if not await self._reply(reply, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _reply(self, reply: Any, writer: asyncio.StreamWriter) -> bool:
        if reply in ("hang", "late"):
            self.clock.now += 0.45
            await asyncio.to_thread(self.release.wait)
        if reply in ("hang", "close"):
            return False
        if reply == "half":
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"sc')
            await writer.drain()
            return False
        if reply == "late":
            reply = (200, {"score": 7})
        status, content = reply
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        more = "Location: http://127.0.0.1:1/\r\n" if 300 <= status < 400 else ""
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{more}\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        return True

    def stop(self) -> None:
        self.release.set()
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.stop()
