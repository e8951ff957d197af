"""Cells: pieces of work that do not depend on each other, run side by side and kept when done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed

from thrifty.frontier.curve import Curve
from thrifty.frontier.progress import following
from thrifty.frontier.shelf import Shelf

__all__ = ["Cell", "run_cells"]


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
