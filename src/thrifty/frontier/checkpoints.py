"""Cells: pieces of work that do not depend on each other, run side by side and kept when done.

A folder of finished work: one file for each cell, and a manifest of what the folder is for.

A file is written beside its place and then put there, so whatever happens to the process, the
folder holds whole cells only.

Settings as plain values: what a finished piece of work was done with, and its digest.

A progress bar with the time left, for those who ask for one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from thrifty.bundle import Schema
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError, raise_all
from thrifty.files import write_whole
from thrifty.frontier.curve import Curve
from thrifty.frontier.curve_file import pack_curve, unpack_curve

__all__ = [
    "Cell",
    "Shelf",
    "digest_of_rows",
    "digest_of_settings",
    "digest_of_table",
    "following",
    "plain_settings",
    "run_cells",
]

PRICES = ("own", "groups", "shared", "evaluation", "calls", "unit")
ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.IGNORECASE)


def plain_settings(value: Any) -> Any:
    """A value as JSON has it: estimators by class and parameters, prices by their parts.

    Raises
    ------
    DataError
        If the value cannot be told from another of its kind, such as a function.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier.checkpoints import plain_settings
    >>> plain_settings(GreedyMiserRegressor(penalty=0.5))["penalty"]
    0.5
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value if not isinstance(value, float) else _number(value)
    if isinstance(value, np.generic):
        return plain_settings(value.item())
    if isinstance(value, Mapping):
        return {f"{key!r}": plain_settings(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain_settings(entry) for entry in value]
    if isinstance(value, np.random.RandomState):
        return {"class": "RandomState", "state": plain_settings(value.get_state(legacy=False))}
    return {"class": _class(value), **_parts(value)}


def digest_of_settings(settings: Mapping[str, Any]) -> str:
    """SHA-256 of plain settings, whatever the order of their keys."""
    text = json.dumps(settings, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_table(X: Any, y: NDArray[Any], qid: NDArray[Any] | None) -> str:
    """SHA-256 of a table as it is read, with its target and queries."""
    schema = Schema.of(X)
    names = json.dumps(schema.plain(), sort_keys=True)
    return digest_of_rows(schema.encode(X), y, qid, names)


def digest_of_rows(
    encoded: NDArray[np.floating], y: NDArray[Any], qid: NDArray[Any] | None, names: str = ""
) -> str:
    """SHA-256 of encoded rows, target and queries."""
    digest = hashlib.sha256(names.encode())
    digest.update(str(encoded.shape).encode())
    digest.update(np.ascontiguousarray(encoded, dtype=np.float64).tobytes())
    for column in (y, qid):
        digest.update(json.dumps(None if column is None else column.tolist(), default=str).encode())
    return digest.hexdigest()


def _number(value: float) -> float | str:
    return value if np.isfinite(value) else repr(value)


def _class(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _parts(value: Any) -> dict[str, Any]:
    if isinstance(value, Prices):
        return {name: plain_settings(getattr(value, name)) for name in PRICES}
    if hasattr(value, "get_params"):
        return {name: plain_settings(part) for name, part in value.get_params(deep=False).items()}
    if ADDRESS.search(repr(value)):
        raise DataError(
            f"resume: {value!r} cannot be told from another of its kind, so what was done with it "
            "cannot be found again; leave resume out, or use a value that its repr describes"
        )
    return {"value": repr(value)}


MANIFEST = "manifest.json"
FORMAT = 1
# What may differ from cell to cell of one folder; all else must agree.
OWN = ("name", "learner")


class Shelf:
    """Finished cells, found again by the digest of their settings.

    Parameters
    ----------
    folder : path
        Where the cells are; made if it is not there.
    settings : sequence of dict
        Plain settings of all cells of this run.

    Raises
    ------
    DataError
        If the folder holds something else: cells of other data or settings, or files that are
        no cells. Nothing is written then.
    """

    def __init__(
        self, folder: str | os.PathLike[str], settings: Sequence[Mapping[str, Any]]
    ) -> None:
        self.folder = Path(folder)
        known = self._manifest()
        raise_all(DataError, f"resume folder {str(folder)!r}", list(_conflicts(known, settings)))
        cells = {**known, **{cell["name"]: dict(cell) for cell in settings}}
        self.folder.mkdir(parents=True, exist_ok=True)
        if cells != known:
            text = json.dumps({"thrifty": FORMAT, "cells": cells}, sort_keys=True, indent=1)
            write_whole(self.folder / MANIFEST, text.encode())

    def get(self, settings: Mapping[str, Any]) -> Curve | None:
        """The curve of a cell; None if it is not finished."""
        path = self._place(settings)
        if not path.exists():
            return None
        try:
            curve, told = unpack_curve(path.read_bytes())
        except BundleError as error:
            raise DataError(f"{path}: {error}; delete it, and the cell is run again") from error
        if told != settings:
            raise DataError(f"{path} is the cell of other settings; delete it")
        return curve

    def put(self, settings: Mapping[str, Any], curve: Curve) -> None:
        """Keep the curve of a finished cell."""
        write_whole(self._place(settings), pack_curve(curve, settings))

    def _place(self, settings: Mapping[str, Any]) -> Path:
        return self.folder / f"{digest_of_settings(settings)}.cell"

    def _manifest(self) -> dict[str, Any]:
        """Settings of the cells that the folder is for, by name; none for a new folder."""
        path = self.folder / MANIFEST
        if path.exists():
            return _read(path)
        if self.folder.exists() and not self.folder.is_dir():
            raise DataError(f"resume: {str(self.folder)!r} is a file; give a folder")
        # What a killed run may leave is a part of a file, hidden.
        found = self.folder.iterdir() if self.folder.exists() else ()
        others = sorted(path.name for path in found if not _is_part(path))
        if others:
            raise DataError(
                f"resume folder {str(self.folder)!r} holds files that are no cells, such as "
                f"{others[0]!r}; give an empty or new folder"
            )
        return {}


def _read(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_bytes())
        if told["thrifty"] != FORMAT or not all(map(_is_cell, told["cells"].items())):
            raise ValueError("of another format")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: no manifest of cells ({error}); give a new folder") from error
    return dict(told["cells"])


def _is_part(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(".part")


def _is_cell(item: tuple[str, Any]) -> bool:
    name, settings = item
    return isinstance(settings, dict) and settings.get("name") == name


def _conflicts(known: Mapping[str, Any], settings: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """What tells that the folder is for something else."""
    if not known:
        return
    for name in sorted({name for cell in settings for name in cell} - set(OWN)):
        here, there = _values(settings, name), _values(known.values(), name)
        # A run of several splits has several values; one of them in common is the same run.
        if not here & there:
            yield f"its cells have {name} {min(there)}, this run has {min(here)}"
    for cell in settings:
        before = known.get(cell["name"])
        if before is not None and before["learner"] != cell["learner"]:
            yield f"{cell['name']}: {_change(before['learner'], cell['learner'])}"


def _values(cells: Iterable[Mapping[str, Any]], name: str) -> set[str]:
    return {json.dumps(cell.get(name), sort_keys=True) for cell in cells}


def _change(before: Any, after: Any) -> str:
    if isinstance(before, dict) and isinstance(after, dict):
        names = [n for n in {**before, **after} if before.get(n) != after.get(n)]
        if len(names) < 4 and "class" not in names:
            return ", ".join(f"{n} was {before.get(n)!r}, now {after.get(n)!r}" for n in names)
    return "the learner was another one; give it another name, or a new folder"


T = TypeVar("T")


def following(results: Iterator[T], total: int, left: int) -> Iterator[T]:
    """Pass on results as they come and show on the terminal how many are still to come."""
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
class Cell:
    """One piece of work.

    Parameters
    ----------
    settings : dict
        All that the outcome depends on, as plain values: `name` tells the cell from the others,
        `learner` is what may differ between runs of one name, all else belongs to the run.
    work : function
        Does it. It must not depend on anything that `settings` do not tell.
    """

    settings: dict[str, Any]
    work: Callable[[], Curve]


def run_cells(
    cells: Sequence[Cell],
    folder: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Curve]:
    """Run cells through joblib and give their curves in the order of the cells.

    Parameters
    ----------
    cells : sequence of Cell
    folder : path, optional
        Where each finished cell is kept in a file of its own; cells that are there already are
        not run again. An interrupted run loses the cells under way and no other.
    n_jobs : int, optional
        Cells that run at a time; the backend is joblib's, and `joblib.parallel_config` sets it.
    progress : bool
        Show a bar with the time left.

    Raises
    ------
    DataError
        If the folder is for other settings or other data, before anything is run or written.
    """
    shelf = None if folder is None else Shelf(folder, [cell.settings for cell in cells])
    curves = [None if shelf is None else shelf.get(cell.settings) for cell in cells]
    missing = [k for k, curve in enumerate(curves) if curve is None]
    jobs = [delayed(_run)(k, cells[k], shelf) for k in missing]
    done = following(_unordered(jobs, n_jobs), len(cells), len(missing)) if progress else None
    for k, curve in done or _unordered(jobs, n_jobs):
        curves[k] = curve
    return [curve for curve in curves if curve is not None]


def _run(k: int, cell: Cell, shelf: Shelf | None) -> tuple[int, Curve]:
    """Run a cell and keep it at once, in the process that ran it."""
    curve = cell.work()
    if shelf is not None:
        shelf.put(cell.settings, curve)
    return k, curve


def _unordered(jobs: Sequence[Any], n_jobs: int | None) -> Iterator[tuple[int, Curve]]:
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # a backend that gives all results at once
        parallel = Parallel(n_jobs=n_jobs)
    yield from parallel(jobs)
