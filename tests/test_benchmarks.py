"""Every benchmark script can be imported, and what the documentation shows of them exists.

The benchmarks are too slow to run here. Importing a script finds the names that it takes from the
library and that have been renamed; it must neither read data nor start measuring.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
# Packages of the extra `bench`, which the tests must not need.
OPTIONAL = ("catboost", "lightgbm", "ortools", "xgboost")
# Exit code of the script below when an optional package is missing.
MISSING = 77
IMPORT = f"""
import importlib, sys
try:
    importlib.import_module(sys.argv[1])
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] in {OPTIONAL}:
        print(error.name)
        sys.exit({MISSING})
    raise
"""


@pytest.mark.parametrize("script", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_a_benchmark_can_be_imported_without_data(script: str, tmp_path: Path) -> None:
    # A process of its own: the scripts set the number of threads for the whole process.
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, script],
        capture_output=True,
        text=True,
        timeout=120,
        env={
            **os.environ,
            "PYTHONPATH": str(BENCHMARKS),
            "THRIFTY_DATA": str(tmp_path / "nothing"),
            "OMP_NUM_THREADS": "1",
        },
    )
    if done.returncode == MISSING:
        pytest.skip(f"{script} needs {done.stdout.strip()}")
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == ""


def test_dev_lists_the_scripts_that_can_be_run() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "dev.py", "bench"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    listed = done.stdout.split()
    assert "targets" in listed
    assert [name for name in listed if not (BENCHMARKS / f"{name}.py").is_file()] == []
    assert [name for name in listed if '__name__ == "__main__"' not in source(name)] == []


def source(name: str) -> str:
    """Return the text of a benchmark script."""
    return (BENCHMARKS / f"{name}.py").read_text()


def test_every_script_and_table_that_the_pages_name_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.rst")]
    pages += (ROOT / "docs" / "methods").glob("*.rst")
    named = {
        name for page in pages for name in re.findall(r"benchmarks/\w+\.\w+", page.read_text())
    }
    assert "benchmarks/targets.py" in named
    assert "benchmarks/targets.csv" in named
    folders = {".py": ROOT, ".csv": ROOT / "docs"}
    assert [n for n in sorted(named) if not (folders[Path(n).suffix] / n).is_file()] == []


def test_every_table_on_file_is_written_by_a_script() -> None:
    written = "".join(path.read_text() for path in BENCHMARKS.glob("*.py"))
    tables = sorted(path.stem for path in (ROOT / "docs" / "benchmarks").glob("*.csv"))
    assert [table for table in tables if f'"{table}"' not in written] == []
