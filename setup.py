"""Compile the kernels; pyproject.toml has everything else about the package.

Three settings come from the environment, for tests:

THRIFTY_BOUNDS_CHECKS=1   raise IndexError at an index outside an array
THRIFTY_SANITIZE=1        stop at undefined behavior and invalid memory accesses (gcc or clang)
THRIFTY_OPTIMIZE=0        optimization level; kernels run slower and compile faster
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from shutil import copyfile

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError

SOURCE = Path("src")
KERNELS = SOURCE / "thrifty" / "kernels"
NOT_COMPILED = {"__init__.py", "threads.py"}
# Compiled once more for processors with wider vectors; `thrifty.kernels.processor` chooses.
AVX2 = {"products.py"}
# What Cython needs in every module with arrays is compiled once, into this one.
SHARED = "thrifty.kernels._cython"

NO_COMPILER = """
Thrifty compiles its kernels when it is installed from source, and that has failed.
It needs a C compiler and the headers of Python:
    Debian, Ubuntu    apt-get install gcc python3-dev
    Fedora            dnf install gcc python3-devel
    macOS             xcode-select --install
    Windows           the Build Tools for Visual Studio, with "Desktop development with C++"
"""


class BuildKernels(build_ext):
    """Tell a user without a compiler what to install."""

    def run(self) -> None:
        try:
            super().run()
        except (CCompilerError, ExecError, PlatformError) as error:
            sys.exit(f"{error}\n{NO_COMPILER}")


def is_set(name: str) -> bool:
    """Return whether a setting in the environment is on."""
    return os.environ.get(name, "") not in ("", "0")


def compiler_arguments() -> list[str]:
    """Return the flags of the C compiler.

    Nothing here depends on the machine that compiles: wheels run on any processor of their
    platform, with the same results. Fused multiply-adds are off because they round differently
    from plain sums.
    """
    if os.name == "nt":
        return ["/O2", "/fp:precise"]
    arguments = ["-O" + os.environ.get("THRIFTY_OPTIMIZE", "3"), "-ffp-contract=off"]
    if is_set("THRIFTY_SANITIZE"):
        # Python compiles with -fwrapv, which would hide overflows.
        sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        return [*arguments, *sanitizers, "-fno-wrapv"]
    # Debug information would be four fifths of the files.
    return [*arguments, "-g0"]


def extensions() -> list[Extension]:
    """Return one extension per kernel module, those for AVX2, and the one that all share."""
    found = [extension(SHARED, [])]
    for path in sorted(KERNELS.rglob("*.py")):
        if path.name in NOT_COMPILED:
            continue
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found.append(extension(name, [str(path)]))
        if path.name in AVX2 and understands_mavx2():
            # The same source under another name.
            copy = Path("build") / "avx2" / f"{path.stem}_avx2.py"
            copy.parent.mkdir(parents=True, exist_ok=True)
            # A copy that is written anew would be compiled anew.
            if not copy.exists() or copy.read_bytes() != path.read_bytes():
                copyfile(path, copy)
            found.append(extension(f"{name}_avx2", [str(copy)], "-mavx2"))
    return found


def extension(name: str, sources: list[str], *arguments: str) -> Extension:
    """Return an extension with the flags of all, and some of its own."""
    link = ["-fsanitize=address,undefined"] if is_set("THRIFTY_SANITIZE") else []
    flags = [*compiler_arguments(), *arguments]
    return Extension(name, sources, extra_compile_args=flags, extra_link_args=link)


def understands_mavx2() -> bool:
    """Return whether the compiler understands -mavx2."""
    return platform.machine() in ("x86_64", "AMD64") and os.name != "nt"


setup(
    ext_modules=cythonize(
        extensions(),
        # Checks are written into the C sources, so these have a folder of their own.
        build_dir="build/checked" if is_set("THRIFTY_BOUNDS_CHECKS") else "build/kernels",
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "infer_types": True,
            # The caller has checked the arguments; C's division and indexing are meant.
            "boundscheck": is_set("THRIFTY_BOUNDS_CHECKS"),
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
        },
    ),
    cmdclass={"build_ext": BuildKernels},
    options={"build_ext": {"parallel": os.cpu_count()}},
)
