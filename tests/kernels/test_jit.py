"""Kernels compile when they are first called, and without a cache where none can be written."""

from __future__ import annotations

import subprocess
import sys

import numba
import numpy as np
import pytest

from thrifty.kernels.jit import jit, lean, tiny

COUNT_COMPILED = """
import importlib, pkgutil, sys
import numba
import thrifty.kernels, thrifty.learn, thrifty.model

kernels = []
for module in pkgutil.walk_packages(thrifty.kernels.__path__, "thrifty.kernels."):
    module = importlib.import_module(module.name)
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


def test_division_by_zero_is_a_number_not_an_error(no_cache):
    @jit
    def over(x, y):
        return x / y

    assert over(1.0, 0.0) == float("inf")


@pytest.mark.parametrize("compile_kernel", [lean, tiny])
def test_a_lean_kernel_works_with_and_without_a_cache(compile_kernel, monkeypatch):
    def add_first(values, x):
        values[0] += x
        return values[0]

    def refuse(*args, **options):
        if "_nrt" in options:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **options)

    values = np.zeros(2)
    assert compile_kernel(add_first)(values, 2.0) == 2.0
    njit = numba.njit
    monkeypatch.setattr(numba, "njit", refuse)
    assert compile_kernel(add_first)(values, 3.0) == 5.0
