"""Run independent jobs in parallel, and keep the finished ones in a folder to resume from.

A job computes one curve. The folder has one file for each finished job, and a manifest of what it
is for. A file is written next to its place and then moved there, so whatever happens to the
process, the folder holds whole files only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from thrifty.bundle.archive import MAX_FILE
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError, ResumeError, raise_all
from thrifty.files import make_folder, write_whole
from thrifty.frontier.curve import Curve
from thrifty.frontier.curve_file import pack_curve, unpack_curve
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.untrusted import parse_json, read_file, shown

__all__ = [
    "Job",
    "ResumeFolder",
    "digest_of_rows",
    "digest_of_set",
    "digest_of_settings",
    "plain_settings",
    "run_job",
    "run_jobs",
    "run_kept",
    "show_progress",
]

PRICES = ("own", "groups", "shared", "evaluation", "calls", "unit")
# Parts of a price list that count only if they are given: folders of earlier versions stay valid.
OPTIONAL_PRICES = ("requires", "panels", "delays", "delay_unit", "also")
# More processes than any machine has cores.
MAX_JOBS = 2**16
ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.IGNORECASE)


def plain_settings(value: Any) -> Any:
    """Turn a value into plain JSON values: estimators by class and parameters, prices by parts.

    Raises
    ------
    ResumeError
        If the value cannot be told apart from others of its kind, such as a function.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier.jobs import plain_settings
    >>> plain_settings(GreedyMiserRegressor(penalty=0.5))["penalty"]
    0.5
    """
    if isinstance(value, float):
        return value if np.isfinite(value) else repr(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return str(value)  # of a URL, without its secrets
    if isinstance(value, np.generic):
        return plain_settings(value.item())
    if isinstance(value, Mapping):
        return {f"{key!r}": plain_settings(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain_settings(entry) for entry in value]
    if isinstance(value, np.random.RandomState):
        return {"class": "RandomState", "state": plain_settings(value.get_state(legacy=False))}
    name = {"class": f"{type(value).__module__}.{type(value).__qualname__}"}
    if isinstance(value, Prices):
        given = [part for part in OPTIONAL_PRICES if getattr(value, part)]
        return {
            **name,
            **{part: plain_settings(getattr(value, part)) for part in (*PRICES, *given)},
        }
    if hasattr(value, "get_params"):
        parameters = value.get_params(deep=False)
        return {**name, **{key: plain_settings(each) for key, each in parameters.items()}}
    if ADDRESS.search(repr(value)):
        raise ResumeError(
            f"resume: {value!r} cannot be told apart from others of its kind, so a finished job "
            "cannot be recognized; leave resume out, or use a value that its repr describes"
        )
    return {**name, "value": repr(value)}


def digest_of_settings(settings: Mapping[str, Any]) -> str:
    """Return the SHA-256 of plain settings, whatever the order of their keys."""
    text = json.dumps(settings, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_set(data: TrainingSet | ValidationSet) -> str:
    """Return the SHA-256 of a table as it was read, with its target and its queries or groups.

    Weights, costs of errors, and groups of training rows count only if they are given.
    """
    names = json.dumps(data.schema.plain(), sort_keys=True)
    groups = data.clusters if isinstance(data, ValidationSet) else data.query
    digest = digest_of_rows(data.X, data.labels, groups, names)
    given: dict[str, NDArray[Any] | None] = {"weight": data.weight}
    if isinstance(data, TrainingSet) and data.clusters is not data.query:
        given["groups"] = data.clusters
    if data.error_costs is not None:
        given["costs"] = data.error_costs.decision.costs
        given["row costs"] = data.error_costs.of_row
    more = {name: array.tolist() for name, array in given.items() if array is not None}
    return digest_of_settings({"rows": digest, **more}) if more else digest


def digest_of_rows(
    encoded: NDArray[np.floating], y: NDArray[Any], qid: NDArray[Any] | None, names: str = ""
) -> str:
    """Return the SHA-256 of encoded rows, their target, and their queries or groups."""
    digest = hashlib.sha256(names.encode())
    digest.update(str(encoded.shape).encode())
    digest.update(np.ascontiguousarray(encoded, dtype=np.float64).tobytes())
    for column in (y, qid):
        digest.update(json.dumps(None if column is None else column.tolist(), default=str).encode())
    return digest.hexdigest()


MANIFEST = "manifest.json"
# Largest size of a manifest, in bytes: jobs are described by a few kilobytes each.
MAX_MANIFEST = 2**28
FORMAT = 3
# What may differ from job to job of one folder; everything else must agree.
OWN = ("name", "learner")


class ResumeFolder:
    """A folder of finished jobs, found by the digest of their settings.

    Parameters
    ----------
    folder : path
        Made if it does not exist.
    settings : sequence of dict
        Plain settings of all jobs of this run.

    Raises
    ------
    ResumeError
        If the folder is for other data or settings, or holds other files. Nothing is written
        then.
    """

    def __init__(
        self, folder: str | os.PathLike[str], settings: Sequence[Mapping[str, Any]]
    ) -> None:
        self.folder = Path(folder)
        known = self._read_manifest()
        raise_all(ResumeError, f"resume folder {str(folder)!r}", list(_conflicts(known, settings)))
        jobs = {**known, **{job["name"]: dict(job) for job in settings}}
        make_folder(self.folder)
        if jobs != known:
            text = json.dumps({"thrifty": FORMAT, "jobs": jobs}, sort_keys=True, indent=1)
            write_whole(self.folder / MANIFEST, text.encode())

    def get(self, settings: Mapping[str, Any]) -> Curve | None:
        """Return the curve of a job; None if it is not finished."""
        path = self._path(settings)
        if not path.exists():
            return None
        try:
            curve, found = unpack_curve(read_file(path, MAX_FILE))
        except BundleError as error:
            raise ResumeError(f"{path}: {error}; delete it, and the job is run again") from error
        if found != settings:
            raise ResumeError(f"{path} is for other settings; delete it")
        return curve

    def put(self, settings: Mapping[str, Any], curve: Curve) -> None:
        """Keep the curve of a finished job."""
        write_whole(self._path(settings), pack_curve(curve, settings))

    def _path(self, settings: Mapping[str, Any]) -> Path:
        return self.folder / f"{digest_of_settings(settings)}.curve"

    def _read_manifest(self) -> dict[str, Any]:
        """Return the settings of the jobs that the folder is for, by name; {} if it is new."""
        path = self.folder / MANIFEST
        if not path.exists():
            if self.folder.exists() and not self.folder.is_dir():
                raise ResumeError(f"resume: {str(self.folder)!r} is a file; give a folder")
            names = [p.name for p in self.folder.iterdir()] if self.folder.exists() else []
            # A killed run may leave a part of a file, hidden.
            others = [n for n in names if not (n.startswith(".") and n.endswith(".part"))]
            if others:
                raise ResumeError(
                    f"resume folder {str(self.folder)!r} holds other files, such as "
                    f"{min(others)!r}; give an empty or new folder"
                )
            return {}
        try:
            data = read_file(path, MAX_MANIFEST)
            found = parse_json(data, max_bytes=MAX_MANIFEST, what="it")
        except BundleError as error:
            raise ResumeError(
                f"{path}: no manifest of jobs ({error}); give a new folder"
            ) from error
        jobs = found.get("jobs") if isinstance(found, dict) else None
        if not isinstance(jobs, dict) or found.get("thrifty") != FORMAT:
            raise ResumeError(f"{path}: no manifest of jobs of this version; give a new folder")
        for name, settings in jobs.items():
            is_job = isinstance(settings, dict) and set(OWN) <= settings.keys()
            if not is_job or settings["name"] != name:
                raise ResumeError(f"{path}: no manifest of jobs: {shown(name)} has no settings")
        return jobs


def _conflicts(known: Mapping[str, Any], settings: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Yield what shows that the folder is for something else."""
    if not known:
        return

    def values(jobs: Iterable[Mapping[str, Any]], name: str) -> set[str]:
        return {json.dumps(job.get(name), sort_keys=True) for job in jobs}

    for name in sorted({name for job in settings for name in job} - set(OWN)):
        here, there = values(settings, name), values(known.values(), name)
        # A run of several splits has several values; one of them in common is the same run.
        if not here & there:
            yield f"its jobs have {name} {min(there)}, this run has {min(here)}"
    for job in settings:
        before = known.get(job["name"], job)["learner"]
        after = job["learner"]
        if before == after:
            continue
        names: list[str] = ["class"]
        if isinstance(before, dict) and isinstance(after, dict):
            names = [n for n in {**before, **after} if before.get(n) != after.get(n)]
        if len(names) < 4 and "class" not in names:
            changes = (f"{n} was {before.get(n)!r}, now {after.get(n)!r}" for n in names)
            yield f"{job['name']}: {', '.join(changes)}"
        else:
            yield (
                f"{job['name']}: the learner was another one; give it another name, or a new folder"
            )


T = TypeVar("T")


def show_progress(results: Iterator[T], total: int, left: int) -> Iterator[T]:
    """Pass on results as they come, and show a progress bar with the time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("curves"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        # The first result may take minutes, so the speed is that of the whole run.
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=1e9) as bar:
        task = bar.add_task("curves", total=total, completed=total - left)
        for result in results:
            bar.advance(task)
            yield result


@dataclass(frozen=True, eq=False)
class Job:
    """One independent piece of work.

    Parameters
    ----------
    settings : dict
        Everything that the result depends on, as plain values: `name` identifies the job,
        `learner` may differ between jobs, everything else belongs to the run.
    work : function
        Computes the curve, of the data. It must not depend on anything that is not in `settings`.
    data : tuple
        Arguments of the work that jobs share, such as training and validation set. The workers of
        a Dask cluster get each of them once.
    """

    settings: dict[str, Any]
    work: Callable[..., Curve]
    data: tuple[Any, ...] = ()


def run_jobs(
    jobs: Sequence[Job],
    folder: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Curve]:
    """Run jobs through joblib and return their curves in the order of the jobs.

    Parameters
    ----------
    jobs : sequence of Job
    folder : path, optional
        Keeps each finished job in a file of its own; jobs that are there already are not run
        again. An interrupted run loses only the jobs that were running.
    n_jobs : int, optional
        Jobs that run at a time; the backend is joblib's, and `joblib.parallel_config` sets it, such
        as to "dask".
    progress : bool
        Show a bar with the time left.

    Raises
    ------
    ResumeError
        If the folder is for other settings or other data, before anything is run or written.
    """
    if not (n_jobs is None or (isinstance(n_jobs, int | np.integer) and abs(n_jobs) <= MAX_JOBS)):
        raise DataError(
            f"n_jobs: {n_jobs!r} is not a number of jobs, such as 2, or -1 for all cores"
        )
    kept = None if folder is None else ResumeFolder(folder, [job.settings for job in jobs])
    return run_kept(jobs, kept, n_jobs, progress)


def run_kept(
    jobs: Sequence[Job],
    kept: ResumeFolder | None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Curve]:
    """Run the jobs that a folder does not have; see `run_jobs`."""
    curves = [None if kept is None else kept.get(job.settings) for job in jobs]
    missing = [k for k, curve in enumerate(curves) if curve is None]
    parallel = _parallel(n_jobs, [jobs[k] for k in missing])
    with _shielding_workers(parallel.return_generator):
        results = iter(
            parallel(
                delayed(_run)(k, jobs[k].settings, jobs[k].work, kept, *jobs[k].data)
                for k in missing
            )
        )
    if progress:
        results = show_progress(results, len(jobs), len(missing))
    for k, curve in results:
        curves[k] = curve
    return [curve for curve in curves if curve is not None]


def _parallel(n_jobs: int | None, jobs: Sequence[Job]) -> Any:
    """Return joblib's way to run jobs, with the backend that `joblib.parallel_config` has set."""
    backend, _ = get_active_backend()
    if type(backend).__name__ == "DaskDistributedBackend":
        # All at once, before the first job: joblib would send what it finds in the arguments of
        # each job while others run, and may wait for ever.
        data = list({id(each): each for job in jobs for each in job.data}.values())
        backend = type(backend)(client=backend.client, scatter=data)
        return Parallel(n_jobs=n_jobs, backend=backend)
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # a backend that returns all results at once
        return Parallel(n_jobs=n_jobs)


@contextmanager
def _shielding_workers(starts_only: bool) -> Iterator[None]:
    """Let processes that the block starts never see Ctrl-C, which a terminal sends to all of them.

    They would print tracebacks; this process ends them. It does not see Ctrl-C within the block,
    either, so the block must do no more than start them. (A signal mask would be kinder, but joblib
    unblocks signals when it starts its resource tracker.)
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not starts_only or not is_main:  # elsewhere, signals cannot be set
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def run_job(job: Job, kept: ResumeFolder | None) -> Curve:
    """Return the curve of a job: that which is kept, or else it is run, and its curve is kept."""
    curve = None if kept is None else kept.get(job.settings)
    return _run(0, job.settings, job.work, kept, *job.data)[1] if curve is None else curve


def _run(
    k: int,
    settings: Mapping[str, Any],
    work: Callable[..., Curve],
    kept: ResumeFolder | None,
    *data: Any,
) -> tuple[int, Curve]:
    """Run a job and keep its curve at once, in the process that ran it."""
    curve = work(*data)
    if kept is not None:
        kept.put(settings, curve)
    return k, curve
