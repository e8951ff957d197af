"""Progress of training on stderr: bars on a terminal, one line per step in a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

import click

from thrifty.cli.console import progress

if TYPE_CHECKING:
    from thrifty.frontier.fit_progress import Progress

__all__ = ["format_seconds", "learner_progress", "step"]

# What is done besides training learners on rows in memory.
STEPS = {"files": "reading files", "all rows": "training on all rows"}


@contextmanager
def step(message: str) -> Iterator[None]:
    """Show a message while the block runs; in a pipe, one line with the time that it took."""
    if sys.stderr.isatty():
        with progress(message):
            yield
        return
    start = perf_counter()
    click.echo(f"{message} ...", err=True, nl=False)
    try:
        yield
        click.echo(f" {format_seconds(perf_counter() - start)}", err=True, nl=False)
    finally:
        click.echo(err=True)


@contextmanager
def learner_progress() -> Iterator[None]:
    """Show how far each learner is while the block runs, with percent and time left.

    In a pipe, each learner has one line with the time that it took.
    """
    from thrifty.frontier import progress as report_to

    if sys.stderr.isatty():
        with _bars() as update, report_to(update):
            yield
        return
    lines = _Lines()
    try:
        with report_to(lines.update):
            yield
    finally:
        lines.close()


class _Lines:
    """Writes one line per learner: its name when it starts, its time when it is done."""

    def __init__(self) -> None:
        self._start, self._is_open = 0.0, False

    def update(self, report: Progress) -> None:
        """Take a report; shares in between are not shown."""
        if report.share == 0 and not self._is_open:
            self._start, self._is_open = perf_counter(), True
            click.echo(f"{_title(report)} ...", err=True, nl=False)
        elif report.share == 1 and self._is_open:
            click.echo(f" {format_seconds(perf_counter() - self._start)}", err=True, nl=False)
            self.close()

    def close(self) -> None:
        """End the line, if a learner was interrupted."""
        if self._is_open:
            click.echo(err=True)
        self._is_open = False


@contextmanager
def _bars() -> Iterator[Callable[[Progress], None]]:
    """Yield a callback that draws one bar per learner on the terminal."""
    from rich import progress as bar
    from rich.console import Console

    columns = (
        bar.TextColumn("{task.description}", markup=False),
        bar.BarColumn(),
        bar.TextColumn("{task.percentage:>3.0f}%"),
        bar.TimeRemainingColumn(),
        bar.TextColumn("left"),
    )
    tasks: dict[str, bar.TaskID] = {}
    with bar.Progress(*columns, console=Console(stderr=True), transient=True) as bars:

        def update(report: Progress) -> None:
            title = _title(report)
            if title not in tasks:
                tasks[title] = bars.add_task(title, total=1.0)
            bars.update(tasks[title], completed=report.share)

        yield update


def _title(report: Progress) -> str:
    if report.learner in STEPS and not report.total:
        return STEPS[report.learner]
    count = f" ({report.number} of {report.total})" if report.total else ""
    return f"training {report.learner}{count}"


def format_seconds(seconds: float) -> str:
    """Format how long something took.

    Examples
    --------
    >>> from thrifty.cli.fit_progress import format_seconds
    >>> format_seconds(0.42), format_seconds(75), format_seconds(4000)
    ('0.4 s', '75 s', '67 min')
    """
    if seconds >= 600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
