"""A part of a kernel that is compiled into its callers.

A call hands over every array of a tuple of arrays word by word, which takes longer than what a
small function does with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["inline"]


def inline(function: Callable[..., Any]) -> Any:
    """Make `function` part of each compiled function that calls it."""
    return numba.njit(nogil=True, error_model="numpy", inline="always")(function)
