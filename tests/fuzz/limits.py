"""Limits of one case: processor time and memory."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

__all__ = ["MAX_BYTES", "MAX_SECONDS", "LimitError", "cap_memory", "limited"]

MAX_SECONDS = 2.0
MAX_BYTES = 300 * 2**20
# A case that goes on for longer is interrupted: seconds of processor time, and of any time.
INTERRUPT_SECONDS = 5.0
WAITING_SECONDS = 60.0
# The signals that end a case, and their timers.
TIMERS = {"SIGVTALRM": "ITIMER_VIRTUAL", "SIGALRM": "ITIMER_REAL"}


class LimitError(BaseException):
    """A case took too much time or memory; no reader catches it."""


@contextmanager
def limited(slack: float = 1.0) -> Iterator[None]:
    """Raise a `LimitError` if what runs in this context takes too much.

    The limits are multiplied by `slack`: a sanitizer makes everything slower and larger. Only the
    main thread can be interrupted, where the system has timers; elsewhere the error comes when the
    case ends.
    """
    start, peak = time.process_time(), _peak_bytes()
    old = _set_timers(slack)
    try:
        yield
    finally:
        for name, handler in old.items():
            signal.setitimer(getattr(signal, TIMERS[name]), 0.0)
            signal.signal(getattr(signal, name), handler)
    seconds, more = time.process_time() - start, _peak_bytes() - peak
    if more > MAX_BYTES // 8:
        _forget_peak()  # or it would hide the next case that takes as much
    if more > MAX_BYTES * slack:
        raise LimitError(f"{more >> 20} MB of memory")
    if seconds > MAX_SECONDS * slack:
        raise LimitError(f"{seconds:.1f} s of processor time")


def cap_memory(more: int = 4 * 2**30) -> None:
    """Let the process have so many bytes more at most, so that no case exhausts the machine."""
    if resource is None or not Path("/proc/self/statm").exists():
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))


def _set_timers(slack: float) -> dict[str, Any]:
    """Start the timers of a case; return the handlers to restore, none if there are no timers."""

    def interrupt(number: int, _: Any) -> None:
        took = "no end in sight" if number == signal.SIGALRM else "too much processor time"
        raise LimitError(f"interrupted: {took}")

    try:
        old = {name: signal.signal(getattr(signal, name), interrupt) for name in TIMERS}
    except (AttributeError, ValueError):  # another system, or another thread
        return {}
    signal.setitimer(signal.ITIMER_VIRTUAL, INTERRUPT_SECONDS * slack)
    signal.setitimer(signal.ITIMER_REAL, WAITING_SECONDS * slack)
    return old


def _peak_bytes() -> int:
    """Return the most memory that the process has had so far."""
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _forget_peak() -> None:
    """Let the peak start again from the present size, where the system can do it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
