"""Kernels compile when they are first called, and without a cache where none can be written."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from thrifty.kernels.jit import KernelCache, jit
from thrifty.kernels.lambdarank import share_ranks

COUNT_COMPILED = """
import importlib, pkgutil, sys
import numba
import thrifty.kernels, thrifty.learn, thrifty.model

kernels = []
for module in pkgutil.iter_modules(thrifty.kernels.__path__):
    module = importlib.import_module(f"thrifty.kernels.{module.name}")
    kernels += [f for f in vars(module).values() if isinstance(f, numba.core.dispatcher.Dispatcher)]
assert len(kernels) > 20, len(kernels)
print([f.py_func.__name__ for f in kernels if f.signatures])
"""


def test_importing_the_kernels_compiles_nothing():
    done = subprocess.run(
        [sys.executable, "-c", COUNT_COMPILED], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "[]"


def test_a_kernel_compiles_at_its_first_call_and_lets_other_threads_run():
    @jit
    def double(x):
        return 2 * x

    assert double.signatures == []
    assert double(4) == 8
    assert len(double.signatures) == 1
    assert double.targetoptions["nogil"] is True
    assert double.targetoptions["nopython"] is True


@pytest.fixture
def no_cache(monkeypatch):
    """Numba as it behaves where no folder can be written to."""

    def refuse(function):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("thrifty.kernels.jit.KernelCache", refuse)


def test_a_kernel_works_where_no_folder_is_writable(no_cache):
    @jit
    def triple(x):
        return 3 * x

    assert triple(5) == 15
    assert triple.targetoptions["nogil"] is True


def test_cached_code_is_stale_when_any_kernel_has_changed(monkeypatch):
    values = np.array([1.0, 2.0])
    assert share_ranks(values)[0].tolist() == [1 / np.log2(3), 1.0]
    (signature,) = share_ranks.signatures
    context = share_ranks.targetctx
    assert KernelCache(share_ranks.py_func).load_overload(signature, context) is not None
    monkeypatch.setattr("thrifty.kernels.jit.DIGEST", "of other sources")
    assert KernelCache(share_ranks.py_func).load_overload(signature, context) is None


def test_division_by_zero_is_a_number_not_an_error(no_cache):
    @jit
    def over(x, y):
        return x / y

    assert over(1.0, 0.0) == float("inf")
