"""The server: what /v1/next costs against an endpoint that does nothing, memory, and the start.

Servers run in processes of their own, all by uvicorn in the same way, and are asked over loopback
sockets. What counts is the CPU time of the server, in turns; the best turn of each counts.
Memory is that of the server's process, after 20,000 and after 100,000 requests.

    python3 dev.py bench server
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _harness import report

from thrifty import GreedyMiserClassifier, load
from thrifty.data import heart

TURNS, REQUESTS, CONNECTIONS = 7, 3000, 8
EARLY, LATE = 20_000, 100_000
# One client sends all requests: the limit that protects a server from that is lifted.
SERVE = ("-m", "thrifty.cli", "serve", "heart.thrifty", "--port", "0", "--rate", "1000000")
# An endpoint that reads the same body and answers nothing, as the documentation of FastAPI has it.
EMPTY = """
import socket, sys
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

class Next(BaseModel):
    known: dict[str, float | str | bool | None] = {}
    told: dict[str, float | str | bool | None] = {}
    skipped: list[str] = []

class Standing(BaseModel):
    done: bool = False

app = FastAPI()

@app.post("/v1/next")
async def next(body: Next) -> Standing:
    return Standing()

config = uvicorn.Config(app, port=0, log_level="warning", access_log=False, server_header=False)
with config.bind_socket() as bound:
    print(f"serving on http://127.0.0.1:{bound.getsockname()[1]} ", flush=True)
    uvicorn.Server(config).run([bound])
"""
SOURCES = """
[[source]]
name = "records"
kind = "replay"
table = "patients.csv"
by = "patient"
features = [{features}]
"""


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[int, int]]:
    """Run a server in a folder; yield its process and its port."""
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if "http://" in line)
            port = int(line.partition("http://")[2].split()[0].rpartition(":")[2])
            yield process.pid, port
        finally:
            process.terminate()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def resident_mb(pid: int) -> float:
    """Return the memory that a process holds now, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def send(port: int, path: str, bodies: Iterator[bytes], connections: int) -> None:
    """Post bodies over some connections at once; every response must be a success."""

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in bodies:
            head = (
                f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(answer.partition("content-length:")[2].split("\r\n")[0])
            content = await reader.readexactly(length)
            if not answer.startswith("http/1.1 200"):
                raise SystemExit(f"{path}: {content.decode()}")
        writer.close()

    await asyncio.gather(*(connection() for _ in range(connections)))


def post(port: int, path: str, bodies: Iterator[bytes], connections: int = CONNECTIONS) -> None:
    asyncio.run(send(port, path, bodies, connections))


def write_model(folder: Path) -> bytes:
    """Write a model, its rows and their declaration; return a body of /v1/next half-way."""
    table = heart()
    model = GreedyMiserClassifier(table.prices, n_estimators=100, penalty=0.0001, random_state=0)
    model.fit(table.X, table.y).save(folder / "heart.thrifty")
    rows = table.X.assign(patient=[f"p{i}" for i in range(len(table.X))])
    rows.to_csv(folder / "patients.csv", index=False)
    features = ", ".join(f'"{name}"' for name in table.X.columns)
    (folder / "sources.toml").write_text(SOURCES.format(features=features))
    walk = load(folder / "heart.thrifty").walk()
    told: list[str] = []
    while walk.asks:
        told += walk.asks
        walk.tell({name: float(table.X[name].iloc[3]) for name in walk.asks})
    known = {name: float(table.X[name].iloc[3]) for name in told[: len(told) // 2]}
    return json.dumps({"told": known}).encode()


def measure_requests(folder: Path, body: bytes) -> tuple[object, ...]:
    """Return requests per CPU second of /v1/next, as a ratio of those of the empty endpoint."""
    best = {"ours": float("inf"), "empty": float("inf")}
    with (
        serving(folder, *SERVE) as ours,
        serving(folder, "-c", EMPTY) as empty,
    ):
        for _ in range(TURNS):
            for name, (pid, port) in {"ours": ours, "empty": empty}.items():
                before = cpu_seconds(pid)
                post(port, "/v1/next", iter([body] * REQUESTS))
                best[name] = min(best[name], cpu_seconds(pid) - before)
    for name, seconds in best.items():
        print(f"{name}: {1e6 * seconds / REQUESTS:.0f} us a request")
    ratio = best["empty"] / best["ours"]
    return "/v1/next: requests per CPU second / empty FastAPI endpoint", f"{ratio:.2f}", ">= 0.75"


def measure_memory(folder: Path, path: str, body: bytes, *options: str) -> tuple[object, ...]:
    """Return how much more memory a server has after many requests than after some."""

    def bodies(first: int, last: int) -> Iterator[bytes]:
        for i in range(first, last):
            yield body % i if b"%d" in body else body

    with serving(folder, *SERVE, *options) as (pid, port):
        post(port, path, bodies(0, EARLY))
        early = resident_mb(pid)
        post(port, path, bodies(EARLY, LATE))
        late = resident_mb(pid)
    print(f"{path}: {early:.1f} MB after {EARLY:,}, {late:.1f} MB after {LATE:,}", flush=True)
    what = f"{path}: memory after {LATE:,} requests / after {EARLY:,}"
    return what, f"{late / early:.3f}", "<= 1.05"


def measure_start(folder: Path) -> tuple[object, ...]:
    """Return the CPU seconds until a server with sources and a ledger has answered a request."""
    options = ("--sources", "sources.toml", "--ledger", "start.db")
    times = []
    for _ in range(TURNS):
        start = time.perf_counter()
        with serving(folder, *SERVE, *options) as (pid, port):
            post(port, "/v1/next", iter([b"{}"]), connections=1)
            times.append(cpu_seconds(pid))
            print(f"start: {times[-1]:.2f} s CPU, {time.perf_counter() - start:.2f} s", flush=True)
    return "thrifty serve: CPU seconds until the first answer", f"{min(times):.2f}", "<= 2"


def main() -> None:
    """Measure, and report the figures with their limits."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        body = write_model(folder)
        case = b'{"id": "case %d", "context": {"patient": "p7"}}'
        with_ledger = ("--sources", "sources.toml", "--ledger", "purchases.db")
        rows = [
            measure_requests(folder, body),
            measure_start(folder),
            measure_memory(folder, "/v1/next", body),
            measure_memory(folder, "/v1/cases", case, *with_ledger),
        ]
    report("server", ("what", "figure", "limit"), rows)


if __name__ == "__main__":
    main()
