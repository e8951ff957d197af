"""Run the kernels as ordinary Python, from the source that is otherwise compiled.

`agree` runs a piece of code twice, with a compiled kernel module and with the same source
uncompiled, and compares every array and number that the two runs return.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from Cython.Shadow import StructType

import thrifty

KERNELS = Path(thrifty.__file__).parent / "kernels"
COMPILED, PLAIN = "thrifty.kernels", "uncompiled_kernels"


class UncompiledKernels(MetaPathFinder, Loader):
    """Find `uncompiled_kernels.NAME` in the source of `thrifty.kernels.NAME`."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name != PLAIN and not name.startswith(PLAIN + "."):
            return None
        source = KERNELS.joinpath(*name.split(".")[1:])
        is_package = source.is_dir()
        source = source / "__init__.py" if is_package else source.with_suffix(".py")
        return spec_from_loader(name, self, origin=str(source), is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        path = module.__spec__.origin
        text = Path(path).read_text(encoding="utf-8")
        for name in (f"cython.cimports.{COMPILED}", COMPILED):
            text = text.replace(f"from {name}", f"from {PLAIN}")
        # Under the file's own name, so that coverage counts what runs here.
        exec(compile(text, path, "exec"), vars(module))


sys.meta_path.insert(0, UncompiledKernels())


def uncompiled(name: str) -> ModuleType:
    """Return the kernel module `name` as ordinary Python."""
    return importlib.import_module(f"{PLAIN}.{name}")


def agree(name: str, run: Callable[[Any], object]) -> None:
    """Assert that `run` returns the same with the kernel module `name` compiled and not.

    `run` gets the module, makes its own arrays, and returns what the kernel filled or returned.
    """
    compiled = importlib.import_module(f"{COMPILED}.{name}")
    assert not compiled.__file__.endswith(".py"), f"{name} is not compiled"
    if os.environ.get("THRIFTY_COMPILED_ONLY"):
        # Only whether compiled kernels keep to their arrays is of interest.
        run(compiled)
        return
    with np.errstate(over="ignore"):
        plain = run(uncompiled(name))
    assert_same(run(compiled), plain)


def assert_same(first: object, second: object) -> None:
    """Assert that two results, records or nested sequences of them, are equal to the bit."""
    first, second = (vars(it) if isinstance(it, StructType) else it for it in (first, second))
    if isinstance(first, dict):
        first, second = list(first.items()), list(second.items())
    if isinstance(first, Sequence) and not isinstance(first, str):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same(one, other)
        return
    one, other = np.asarray(first), np.asarray(second)
    np.testing.assert_array_equal(one, other)
    if one.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))
