"""Kill workers and databases at random moments, then count what a vendor has charged.

Workers serve the same few cases at the same time, from a vendor that writes every charge to a file
before it answers. They are killed (SIGKILL) and replaced again and again; so is the server of the
database, if there is one. In the end, the charges are compared with the ledger:

- twice: charged more than once for one case;
- unknown: charged, and not in the ledger, or there as failed free of charge;
- lost: a settlement that a worker was told of, and that the ledger does not have.

    python tests/serve/kill_trial.py --database sqlite --kills 200
    python tests/serve/kill_trial.py --database postgres --kills 200 --server 0.3

--table FILE writes the counts to a table, as docs/explanation/reliability.rst shows it.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import astuple, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from postgres_server import PostgresServer
from scripted import NAMES, chain_predictor

from thrifty.serve import AsyncSource, Case, Ledger, Runtime, Terms
from thrifty.serve.ledger.keys import KeyedHash
from thrifty.serve.runtime import run

KEY = "kill-trial-" * 4
WORKERS, AT_ONCE = 2, 6
# Cases are retired after so many kills, so that new ones are bought all the time.
CASES_A_KILL = 12


class Vendor(AsyncSource):
    """Charges by a line in a file: what is written there survives the death of the worker."""

    def __init__(self, terms: Terms, file: Path, rng: random.Random) -> None:
        super().__init__(terms)
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._rng = rng

    async def fetch(self, query):
        await asyncio.sleep(self._rng.random() * 0.004)
        for feature in query.features:
            line = f"{query.context['case']} {self.terms.name}/{feature} {query.key}\n"
            os.write(self._file, line.encode())
        await asyncio.sleep(self._rng.random() * 0.004)
        return dict.fromkeys(query.features, 1.0)


def work(url: str, folder: Path, first: int, seed: int) -> None:
    """Serve cases from number `first` on until killed."""
    run.LEASE_MARGIN = 0.3
    rng = random.Random(seed)
    acknowledged = os.open(folder / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    terms = {"timeout": 0.5, "trips_after": 10**6}
    sources = [
        Vendor(Terms("once", tuple(NAMES[:2]), **terms), folder / "charges", rng),
        Vendor(Terms("again", tuple(NAMES[2:]), idempotent=True, **terms), folder / "charges", rng),
    ]

    async def serve(runtime: Runtime) -> None:
        while True:
            case = f"case-{first + rng.randrange(5 * CASES_A_KILL)}"
            receipt = await runtime.serve(Case(case, context={"case": case}, deadline=5.0))
            if receipt.recorded:
                for charge in receipt.charges:
                    if charge.outcome in ("delivered", "earlier"):
                        os.write(acknowledged, f"{case} {charge.item}\n".encode())

    async def serve_all() -> None:
        runtime = Runtime(chain_predictor(), sources, Ledger.open(url, patience=30.0), linger=0.2)
        await asyncio.gather(*(serve(runtime) for _ in range(AT_ONCE)))

    asyncio.run(serve_all())


@dataclass
class Verdict:
    """What the charges and the ledger say together."""

    kills: int
    server_kills: int
    charged: int
    twice: int
    unknown: int
    lost: int
    assumed: int
    assumed_and_charged: int

    @property
    def is_right(self) -> bool:
        return self.twice == self.unknown == self.lost == 0


def judge(url: str, folder: Path, kills: int, server_kills: int) -> Verdict:
    """Compare the charges with the ledger."""
    charges = Counter()
    keys: dict[tuple[str, str], set[str]] = {}
    for line in (folder / "charges").read_text().splitlines():
        case, item, key = line.split()
        keys.setdefault((case, item), set()).add(key)
        # Two requests with one key are charged once where the vendor says so.
        charges[case, item] = (
            len(keys[case, item]) if item.startswith("again/") else (charges[case, item] + 1)
        )
    digest = KeyedHash(KEY.encode())
    time.sleep(1.1)  # until the last leases have expired
    with Ledger.open(url) as ledger:
        ledger.recover()
        entries = {(e.case, e.item): e for _, found in ledger.cases() for e in found}
    state = {pair: entries.get((digest("case", pair[0]), pair[1])) for pair in charges}
    acknowledged = {tuple(line.split()) for line in
                    (folder / "acknowledged").read_text().splitlines()}  # fmt: skip
    lost = [
        pair
        for pair in acknowledged
        if (entry := entries.get((digest("case", pair[0]), pair[1]))) is None
        or entry.state != "settled"
    ]
    charged = {(digest("case", case), item) for case, item in charges}
    assumed = [pair for pair, entry in entries.items() if entry.state == "assumed"]
    return Verdict(
        kills=kills,
        server_kills=server_kills,
        charged=sum(charges.values()),
        twice=sum(n > 1 for n in charges.values()),
        unknown=sum(entry is None or entry.state == "void" for entry in state.values()),
        lost=len(lost),
        assumed=len(assumed),
        assumed_and_charged=len(charged.intersection(assumed)),
    )


def trial(database: str, kills: int, server_share: float = 0.0, seed: int = 0) -> Verdict:
    """Kill so many times; a share of the kills hits the server of the database."""
    os.environ["THRIFTY_LEDGER_KEY"] = KEY
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="thrifty-kill-") as name:
        folder, server = Path(name), None
        os.chmod(folder, 0o755)
        url = str(folder / "ledger.db")
        if database == "postgres":
            server = PostgresServer(folder / "server")
            server.start()
            url = server.url()
        Ledger.open(url).close()
        workers: dict[int, int] = {}
        server_kills = 0
        try:
            for i in range(kills):
                while len(workers) < WORKERS:
                    workers[start(url, folder, i * CASES_A_KILL, rng.randrange(2**30))] = i
                time.sleep(0.03 + 0.3 * rng.random())
                if server is not None and rng.random() < server_share:
                    server.kill()
                    server_kills += 1
                    server.start()
                else:
                    end(rng.choice(list(workers)), workers)
        finally:
            for pid in list(workers):
                end(pid, workers)
        try:
            return judge(url, folder, kills, server_kills)
        finally:
            if server is not None:
                server.stop()


def write_row(file: Path, database: str, verdict: Verdict) -> None:
    """Write the row of a database to a table, in place of an older one."""
    header = [
        "ledger in", "kills", "of them of the server", "charges", "charged twice",
        "charged and unknown", "settlements lost", "assumed paid", "of them charged",
    ]  # fmt: skip
    rows = {}
    if file.exists():
        with file.open(newline="") as opened:
            rows = {row[0]: row for row in list(csv.reader(opened))[1:]}
    rows[database] = [database, *map(str, astuple(verdict))]
    with file.open("w", newline="") as opened:
        ordered = sorted(rows.values(), key=lambda row: row[0], reverse=True)
        csv.writer(opened, lineterminator="\n").writerows([header, *ordered])


def start(url: str, folder: Path, first: int, seed: int) -> int:
    """Start a worker; a fork, as importing takes longer than it lives."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work(url, folder, first, seed)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def end(pid: int, workers: dict[int, int]) -> None:
    """Kill a worker; it must not have ended by itself."""
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    del workers[pid]
    assert os.WIFSIGNALED(status), f"a worker has ended by itself, status {status}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--server", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    verdict = trial(given.database, given.kills, given.server, given.seed)
    print(verdict)
    if given.table is not None:
        write_row(given.table, "SQLite" if given.database == "sqlite" else "PostgreSQL", verdict)
    sys.exit(0 if verdict.is_right else 1)
