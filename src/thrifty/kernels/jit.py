"""One way to compile a kernel: no global lock, cached on disk where a folder is writable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["jit"]


def jit(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call, release the GIL, and cache the machine code.

    Numba refuses `cache=True` already at decoration when neither the package's folder nor the
    user's cache folder is writable (a read-only install without HOME); then compile in memory.
    """
    try:
        return numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:
        return numba.njit(nogil=True, error_model="numpy")(function)
