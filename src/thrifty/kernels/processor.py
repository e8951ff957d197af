"""Choose kernels by the processor: those compiled for AVX2 where it has AVX2.

Wider vectors do the same sums in the same order, so the results have the same bits.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import cython

if cython.compiled:
    from cython.cimports.thrifty.kernels.processor import THRIFTY_HAS_AVX2

__all__ = ["fastest", "has_avx2"]


def has_avx2() -> bool:
    """Return whether processor and operating system support AVX2; False uncompiled."""
    return bool(THRIFTY_HAS_AVX2) if cython.compiled else False


def fastest(name: str) -> ModuleType:
    """Return the kernel module `name`, or its version for AVX2 if there is one that runs here."""
    variant = f"thrifty.kernels.{name}_avx2"
    if has_avx2() and find_spec(variant):
        return import_module(variant)
    return import_module(f"thrifty.kernels.{name}")
