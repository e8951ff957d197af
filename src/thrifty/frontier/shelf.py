"""A folder of finished work: one file for each cell, and a manifest of what the folder is for.

A file is written beside its place and then put there, so whatever happens to the process, the
folder holds whole cells only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.files import write_whole
from thrifty.frontier.curve import Curve
from thrifty.frontier.curve_file import pack_curve, unpack_curve
from thrifty.frontier.settings import digest_of_settings

__all__ = ["Shelf"]

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
