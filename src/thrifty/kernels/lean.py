"""Compiling a kernel that allocates nothing: without counting references to its arrays.

A small function that is called for every node and feature spends most of its time on the
counters of the arrays it is handed. Its caller holds them anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from thrifty.kernels.jit import jit

__all__ = ["lean", "tiny"]


def lean(function: Callable[..., Any]) -> Any:
    """Compile as `jit` does; an allocation inside `function` is an error at its first call."""
    return _compile(function, {"_nrt": False})


def tiny(function: Callable[..., Any]) -> Any:
    """The same for a function of a few instructions: compiled into its callers."""
    return _compile(function, {"_nrt": False, "forceinline": True})


def _compile(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    try:
        return numba.njit(nogil=True, cache=True, error_model="numpy", **options)(function)
    except (KeyError, RuntimeError, TypeError):
        # No writable cache, or a Numba without the switch: slower, and the same results.
        return jit(function)
