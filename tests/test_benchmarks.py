"""Every benchmark script can be imported, and what the documentation shows of them exists.

The benchmarks are too slow to run here. Importing a script finds the names that it takes from the
library and that have been renamed; it must neither read data nor start measuring.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = BENCHMARKS / "results"
# Packages that scripts may compare with; the tests need none of them.
OPTIONAL = ("autogluon", "catboost", "fastapi", "lightgbm", "ortools", "torch", "xgboost")
# All scripts are imported in one new process, because they set the number of threads, and because
# one process has to import the library only once.
IMPORT_ALL = f"""
import importlib, json, sys, traceback
errors = {{}}
for script in sys.argv[1:]:
    try:
        importlib.import_module(script)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {OPTIONAL}:
            errors[script] = traceback.format_exc()
    except BaseException:
        errors[script] = traceback.format_exc()
print(json.dumps(errors))
"""


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the modules of the results importable."""
    monkeypatch.syspath_prepend(str(RESULTS))


def test_every_benchmark_can_be_imported_without_data(tmp_path: Path) -> None:
    scripts = sorted(path.stem for path in (*BENCHMARKS.glob("*.py"), *RESULTS.glob("*.py")))
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *scripts],
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (BENCHMARKS, RESULTS))),
            "THRIFTY_DATA": str(tmp_path / "missing"),
            "OMP_NUM_THREADS": "1",
        },
    )
    assert done.returncode == 0, done.stderr[-2000:]
    # A script that prints on import has started measuring, and its output is no JSON.
    errors = json.loads(done.stdout)
    assert not errors, "\n".join(errors.values())


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
    pages += (ROOT / "docs").glob("[!_]*/*.rst")
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


SCRIPT = """
from helper import double, unused
TEXT = "What a page says."
SEEDS = (1, 2)
def measure(seed):
    return [double(seed) for seed in SEEDS]
def judge():
    return TEXT
"""
HELPER = """
FACTOR = 2
def double(x):
    return FACTOR * x
def unused(x):
    return x
"""


@pytest.mark.parametrize(
    ("old", "new", "is_measured_again"),
    [
        ("What a page says.", "What it also says.", False),
        ("return TEXT", "return TEXT + TEXT", False),
        ("return x", "return -x", False),
        ("def double(x):", 'def double(x):  # a comment\n    """A docstring."""', False),
        ("SEEDS = (1, 2)", "SEEDS = (1, 3)", True),
        ("FACTOR = 2", "FACTOR = 3", True),
        ("double(seed)", "double(seed + 1)", True),
        ("import double, unused", "import unused as double", True),
    ],
)
def test_a_cell_depends_on_the_code_that_its_function_uses(
    results, tmp_path, old, new, is_measured_again
) -> None:
    from _fingerprint import used_code

    found = []
    for folder, change in ((tmp_path / "a", (old, old)), (tmp_path / "b", (old, new))):
        folder.mkdir()
        (folder / "script.py").write_text(SCRIPT.replace(*change))
        (folder / "helper.py").write_text(HELPER.replace(*change))
        found.append(used_code(folder / "script.py", "measure"))
    assert found[0] and (found[0] != found[1]) == is_measured_again


def test_a_cell_is_measured_once_and_again_when_its_code_has_changed(
    results, tmp_path, monkeypatch, capsys
) -> None:
    import _result

    codes, seeds = iter("aab"), []
    monkeypatch.setattr(_result, "CELLS", tmp_path)
    monkeypatch.setattr(_result, "fingerprint", lambda measure: next(codes))

    def measure(seed: int) -> int:
        seeds.append(seed)
        return 10 * seed + len(seeds)

    found = [_result.Result("name", "", "", "").cell(measure, seed=7) for _ in range(3)]
    assert (found, seeds) == ([71, 71, 72], [7, 7])
    assert capsys.readouterr().out.splitlines() == [
        "name: measure {'seed': 7}",
        "name: measure {'seed': 7} (again: the code has changed)",
    ]


def test_a_change_of_the_library_changes_every_fingerprint(results, tmp_path, monkeypatch) -> None:
    import _fingerprint

    (tmp_path / "learn").mkdir()
    monkeypatch.setattr(_fingerprint, "LIBRARY", tmp_path)
    found = []
    for text in ("x = 1", "x = 1  # why", "x = 2"):
        (tmp_path / "learn" / "method.py").write_text(text)
        _fingerprint._library_code.cache_clear()
        _fingerprint.fingerprint.cache_clear()
        found.append(_fingerprint.fingerprint(_fingerprint.used_code))
    _fingerprint._library_code.cache_clear()
    assert found[0] == found[1] != found[2]


def test_every_page_of_results_is_written_by_a_script() -> None:
    scripts = {path.stem for path in RESULTS.glob("[!_]*.py")}
    pages = {path.stem for path in (ROOT / "docs" / "results").glob("*.rst")}
    assert pages == scripts | {"index"}
