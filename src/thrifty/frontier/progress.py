"""A progress bar with the time left, for those who ask for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

__all__ = ["following"]

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
