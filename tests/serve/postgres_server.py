"""A private PostgreSQL server in a folder, reached by a socket; it may be killed and restarted."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path

DEBIAN = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
OWNERS = ("postgres", "nobody")


def find_binaries() -> Path | None:
    """Return the folder of initdb and postgres; None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    return DEBIAN[-1] if DEBIAN else None


class PostgresServer:
    """A server that only this user can reach.

    PostgreSQL refuses to run as root: root starts it as another user, who owns the folder.
    """

    def __init__(self, folder: Path, *settings: str) -> None:
        binaries = find_binaries()
        assert binaries is not None
        self._binaries, self.folder = binaries, folder
        self._settings = [f"-c{setting}" for setting in settings]
        self._as_owner: dict[str, object] = {}
        folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            account = next(pwd.getpwnam(name) for name in OWNERS if _exists(name))
            self._as_owner = {"user": account.pw_uid, "group": account.pw_gid}
            os.chown(folder, account.pw_uid, account.pw_gid)
        command = [binaries / "initdb", "-D", folder / "data", "-U", "thrifty", "-A", "trust",
                   "--no-sync", "--locale=C", "-E", "UTF8"]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **self._as_owner)
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://thrifty@/{database}?host={self.folder}"

    def start(self) -> None:
        # After a crash it would sync every file of the folder by itself, which takes seconds.
        command = [
            self._binaries / "postgres", "-D", self.folder / "data", "-k", self.folder,
            "-clisten_addresses=", "-crecovery_init_sync_method=syncfs", *self._settings,
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, **self._as_owner
            )
        ready = [self._binaries / "pg_isready", "-q", "-h", self.folder, "-d", "postgres",
                 "-U", "thrifty"]  # fmt: skip
        for _ in range(600):
            if subprocess.run(ready).returncode == 0:
                return
            time.sleep(0.05)
        raise TimeoutError((self.folder / "log").read_text()[-2000:])

    def kill(self) -> None:
        """End all its processes as a crash would."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        pids = [self._process.pid, *map(int, children.read_text().split())]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        # The next server refuses to start while the shared memory of this one is in use.
        while any(map(_is_alive, pids[1:])):
            time.sleep(0.005)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=30)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # one that nobody has waited for yet


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
