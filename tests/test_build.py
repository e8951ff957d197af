"""The package builds, installs without a compiler, and its kernels keep to their arrays."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "src" / "thrifty" / "kernels"
COMPILED = sorted(
    path.relative_to(KERNELS).with_suffix("").as_posix()
    for path in KERNELS.rglob("*.py")
    if path.name not in ("__init__.py", "threads.py")
)


def run(*command: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with additions to the environment; fail the test if it takes ten minutes."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )


def succeed(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    """Run a command that must not fail; return what it printed."""
    done = run(*command, cwd=cwd, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and a wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    succeed(*command, THRIFTY_OPTIMIZE="0")  # compiles faster, and runs the same
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("thrifty-*.whl")
    return path


@pytest.mark.slow
def test_the_wheel_has_every_kernel_and_its_source(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    compiled = [name for name in names if name.endswith((".so", ".pyd"))]
    kernels = {name.removeprefix("thrifty/kernels/").split(".")[0] for name in compiled}
    assert kernels - {"products_avx2"} == {*COMPILED, "_cython"}
    shipped = {"thrifty/py.typed", "thrifty/report/templates/report.html"}
    shipped |= {
        f"thrifty/data/files/{name}"
        for name in ("heart.csv", "heart-prices.csv", "heart.thrifty", "README.md")
    }
    assert shipped <= set(names)
    assert {f"thrifty/kernels/{name}.py" for name in COMPILED} <= set(names)
    assert not [name for name in names if name.endswith(".c")]


@pytest.mark.slow
def test_the_wheel_runs_in_a_clean_environment_without_a_compiler(
    wheel: Path, tmp_path: Path
) -> None:
    clean = tmp_path / "clean"
    venv.EnvBuilder(symlinks=os.name != "nt", with_pip=False).create(clean)
    folder = clean / ("Scripts" if os.name == "nt" else "bin")
    python = folder / ("python.exe" if os.name == "nt" else "python")
    pip = [getattr(sys, "_base_executable", sys.executable), "-m", "pip", "--python", python]
    constraints = ROOT / "constraints.txt"
    nothing = {"PATH": str(folder), "CC": "", "PYTHONPATH": ""}
    # Python compiles what the program imports; pip would compile everything.
    install = ["install", "--quiet", "--no-compile", "--only-binary", ":all:", "-c", constraints]
    succeed(*pip, *install, wheel, **nothing)
    printed = succeed(python, ROOT / "tests" / "smoke.py", cwd=tmp_path, **nothing)
    assert "passed" in printed


@pytest.mark.slow
def test_the_source_distribution_has_what_building_and_testing_need(built: Path) -> None:
    (path,) = built.glob("thrifty-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    wanted = {"setup.py", "pyproject.toml", "constraints.txt", "dev.py", "tests/test_build.py"}
    wanted |= {"constraints-oldest.txt", "constraints-hashes.txt", "tools/sbom.py"}
    sources = [*KERNELS.rglob("*.py"), *KERNELS.rglob("*.pxd")]
    wanted |= {path.relative_to(ROOT).as_posix() for path in sources}
    assert wanted <= names
    assert not [name for name in names if name.endswith((".so", ".c", ".pyc"))]


def test_without_a_compiler_the_message_says_what_to_install(tmp_path: Path) -> None:
    build = ["setup.py", "-q", "build_ext", "--build-lib", tmp_path, "--build-temp", tmp_path]
    done = run(sys.executable, *build, CC="no-such-compiler", LDSHARED="no-such-compiler")
    assert done.returncode != 0
    for remedy in ("apt-get install gcc python3-dev", "xcode-select --install", "Build Tools"):
        assert remedy in done.stderr


# Writes to row 7 of an array of two.
OUTSIDE = """
import numpy as np
from thrifty.kernels.growth import Blocks
from thrifty.kernels.histogram import add_values
rows, zero, one = np.array([7], dtype=np.uint32), np.array([0]), np.array([1])
partial = np.empty((0, 1, 1, 256), dtype=np.int64)
blocks = Blocks(np.array([0, 1]), zero, zero, zero[None], one[None], rows, rows, partial)
left = np.array([-1], dtype=np.int32)
try:
    add_values(blocks, left, np.ones(1), np.zeros(2))
except IndexError:
    print("stopped")
"""


@pytest.mark.slow
def test_no_kernel_leaves_its_arrays(tmp_path: Path) -> None:
    checked = {"THRIFTY_BOUNDS_CHECKS": "1", "THRIFTY_OPTIMIZE": "0"}
    library = tmp_path / "lib"
    folders = ["--build-base", tmp_path, "--build-lib", library]
    succeed(sys.executable, "setup.py", "-q", "build", *folders, **checked)
    # Indexing outside an array must raise in this build, or the test below would prove nothing.
    assert succeed(sys.executable, "-c", OUTSIDE, PYTHONPATH=str(library)) == "stopped\n"
    pytest_ = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "tests/kernels"]
    succeed(sys.executable, *pytest_, PYTHONPATH=str(library), THRIFTY_COMPILED_ONLY="1")
