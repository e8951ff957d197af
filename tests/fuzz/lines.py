"""Which lines of Thrifty a case reaches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import thrifty

__all__ = ["Lines"]

SOURCE = str(Path(thrifty.__file__).parent)


class Lines:
    """Collects the lines of a package that are reached while `traced`.

    A function all of whose lines have been reached is not traced any more, so this gets faster.

    Parameters
    ----------
    folder : str
        The folder of the package.

    Attributes
    ----------
    count : int
        Number of lines reached so far.
    """

    def __init__(self, folder: str = SOURCE) -> None:
        self.count = 0
        self._folder = folder
        self._tracers: dict[CodeType, Any] = {}

    @contextmanager
    def traced(self) -> Iterator[None]:
        """Trace what runs in this context, in place of any other tracer."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        try:
            return self._tracers[code]
        except KeyError:
            pass
        tracer = None
        if code.co_filename.startswith(self._folder):
            tracer = self._tracer(code)
        self._tracers[code] = tracer
        return tracer

    def _tracer(self, code: CodeType) -> Any:
        left = {line for _, _, line in code.co_lines() if line is not None}

        def trace(frame: FrameType, event: str, arg: Any) -> Any:
            if frame.f_lineno in left:
                left.discard(frame.f_lineno)
                self.count += 1
                if not left:
                    self._tracers[code] = None
            return trace

        return trace
