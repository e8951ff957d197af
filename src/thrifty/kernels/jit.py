"""Compile kernels with Numba: without the GIL, and cached on disk where a folder is writable.

`jit` compiles any kernel. `lean` compiles one that allocates nothing, so that it need not count
references to its arrays: a small function that is called for every node and feature would spend
most of its time on those counters, and its caller holds the arrays anyway. `tiny` is `lean` for a
function of a few instructions, which is inlined into its callers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["KernelCache", "jit", "lean", "tiny"]


def _digest_of_kernels() -> str:
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


DIGEST = _digest_of_kernels()


class KernelCache(FunctionCache):
    """Machine code that counts as stale when any kernel has changed.

    Numba looks at a function's own file only, but kernels are compiled into each other.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=(self._impl.locator.get_source_stamp(), DIGEST),
        )


def jit(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call, release the GIL, and cache the machine code.

    Numba refuses a cache already at decoration when neither the package's folder nor the user's
    cache folder is writable (a read-only install without HOME); then compile in memory.
    """
    kernel: Any = numba.njit(nogil=True, error_model="numpy")(function)
    try:
        kernel._cache = KernelCache(function)
    except RuntimeError:
        pass
    return kernel


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
