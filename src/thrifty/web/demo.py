"""A demonstration: a model of heart disease, and vendors on loopback: slow, flaky or silent.

The vendors are servers like those of a user, declared in a TOML file like them. They have the table
that comes with the package: 920 patients, p0 to p919.
"""

from __future__ import annotations

import asyncio
import csv
import io
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file
from pathlib import Path
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from thrifty.data import heart_files, heart_model
from thrifty.files import write_whole
from thrifty.web.bodies import respond

__all__ = ["Demo", "demonstration", "read_patients", "vendors"]

# What a patient is asked; the rest comes from vendors.
QUESTIONS = ("age", "sex", "cp", "trestbps")
# Seconds that the laboratory takes, and that a scan takes which nobody waits for.
SLOW, SILENT = 0.3, 5.0
SOURCES = """\
# What the model needs and none of these delivers, such as age, the client is asked for.

[[source]]
name = "laboratory"  # slow; one sample, so both values are bought together
kind = "http"
url = "{url}/laboratory/{{patient}}"
values = {{ chol = "/chol", fbs = "/fbs" }}
idempotency_header = "Idempotency-Key"
timeout = 2.0

[[source]]
name = "cardiology"  # flaky: every third request is refused, and tried again
kind = "http"
url = "{url}/cardiology/{{patient}}"
values = {{ restecg = "/restecg", exang = "/exang", oldpeak = "/oldpeak", slope = "/slope" }}
sold = "each"
retries = 3
timeout = 2.0

[[source]]
name = "imaging"  # silent for every fifth patient: nobody can tell whether that was charged
kind = "http"
url = "{url}/imaging/{{patient}}"
values = {{ thalach = "/thalach", thal = "/thal", ca = "/ca" }}
sold = "each"
timeout = 1.0
"""


@dataclass(frozen=True)
class Demo:
    """What a demonstration consists of.

    Parameters
    ----------
    model, sources : Path
        Files for ``thrifty serve``.
    url : str
        Where the vendors listen.
    patients : dict
        The values of all patients.
    """

    model: Path
    sources: Path
    url: str
    patients: dict[str, dict[str, float | None]]

    def told(self, patient: str) -> dict[str, float | None]:
        """Return what a patient can tell: the values that no vendor has."""
        return {name: self.patients[patient][name] for name in QUESTIONS}


@contextmanager
def demonstration() -> Iterator[Demo]:
    """Run the vendors, and write what a server of the demonstration needs to a temporary folder.

    Examples
    --------
    >>> from thrifty.web.demo import demonstration
    >>> with demonstration() as demo:
    ...     demo.model.name, demo.told("p7")
    ('heart.thrifty', {'age': 57.0, 'sex': 0.0, 'cp': 4.0, 'trestbps': 120.0})
    """
    patients = read_patients()
    config = uvicorn.Config(
        vendors(patients), port=0, log_level="critical", access_log=False, lifespan="off"
    )
    server = uvicorn.Server(config)
    with tempfile.TemporaryDirectory(prefix="thrifty-demo-") as name, config.bind_socket() as bound:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        folder = Path(name)
        write_whole(folder / "sources.toml", SOURCES.format(url=url).encode())
        with as_file(heart_model()) as shipped:
            shutil.copy(shipped, folder / "heart.thrifty")
        thread = threading.Thread(
            target=lambda: asyncio.run(server.serve([bound])), name="thrifty-demo", daemon=True
        )
        thread.start()
        try:
            yield Demo(folder / "heart.thrifty", folder / "sources.toml", url, patients)
        finally:
            # Whoever still waits for a scan waits in vain.
            server.should_exit = server.force_exit = True
            thread.join()


def read_patients() -> dict[str, dict[str, float | None]]:
    """Return the values of all patients, None where one is missing."""
    rows = csv.DictReader(io.StringIO(heart_files()["heart.csv"]))
    return {
        f"p{i}": {name: float(cell) if cell else None for name, cell in row.items()
                  if name != "disease"}
        for i, row in enumerate(rows)
    }  # fmt: skip


def vendors(patients: dict[str, dict[str, float | None]]) -> Router:
    """Return the app of the vendors."""
    count = 0

    def values(request: Request, *names: str) -> Response:
        row = patients.get(request.path_params["patient"])
        if row is None:
            return respond({"error": "no such patient"}, 404)
        return respond({name: row[name] for name in names})

    async def laboratory(request: Request) -> Response:
        await asyncio.sleep(SLOW)
        return values(request, "chol", "fbs")

    async def cardiology(request: Request) -> Response:
        nonlocal count
        count += 1
        if count % 3 == 0:
            return respond({"error": "try again"}, 503)
        return values(request, "restecg", "exang", "oldpeak", "slope")

    async def imaging(request: Request) -> Response:
        number: Any = request.path_params["patient"][1:]
        if number.isdecimal() and int(number) % 5 == 0:
            await asyncio.sleep(SILENT)
        return values(request, "thalach", "thal", "ca")

    handlers = {"laboratory": laboratory, "cardiology": cardiology, "imaging": imaging}
    return Router([Route(f"/{name}/{{patient}}", handler) for name, handler in handlers.items()])
