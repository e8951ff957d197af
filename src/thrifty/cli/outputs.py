"""Files that a verb writes: refused before any work is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["OutputFile", "refuse_overwriting"]


class OutputFile(click.Path):
    """A file that can be written: its folder is there and open to us."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Check the folder too."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"There is no folder '{path.parent}'; make it first.", param, ctx)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            self.fail(f"Folder '{path.parent}' is not writable.", param, ctx)
        return path


def refuse_overwriting(outputs: list[Path | None], inputs: list[Path | None]) -> None:
    """Refuse outputs that are one of the inputs, or each other."""
    taken = {path.resolve() for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        if path.resolve() in taken:
            raise click.UsageError(f"'{path}' is named twice; give each file its own name.")
        taken.add(path.resolve())
