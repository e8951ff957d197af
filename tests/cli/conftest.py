"""A small table, its prices, and a way to run `thrifty` on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import thrifty
from thrifty.cli import main

ROWS = 240
RNG = np.random.default_rng(7)
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(50, 10, size=ROWS).round(1),
        "chol": RNG.normal(size=ROWS).round(3),
        "fbs": RNG.normal(size=ROWS).round(3),
        "sex": RNG.choice(["female", "male"], size=ROWS),
    }
)
FRAME["ill"] = np.where(FRAME["chol"] + FRAME["fbs"] + (FRAME["age"] > 50) > 0.5, "yes", "no")
PRICES = """\
feature,price,group,shared
age,1.0,,
chol,5.0,blood,2.0
fbs,3.0,blood,
sex,0.5,,
"""

Run = Callable[..., Result]


@pytest.fixture
def frame() -> pd.DataFrame:
    return FRAME.copy()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with table.csv and prices.csv."""
    FRAME.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "prices.csv").write_text(PRICES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run() -> Run:
    """Run `thrifty` with some arguments and lines of input."""

    def call(*arguments: object, input: str | None = None) -> Result:
        return CliRunner().invoke(main, [str(a) for a in arguments], input=input)

    return call


@pytest.fixture
def files(folder: Path) -> Callable[[], set[str]]:
    """Names of the files in the folder."""
    return lambda: {path.name for path in folder.iterdir()}


@pytest.fixture
def refused(folder: Path) -> Callable[..., None]:
    """Assert that a call failed with one message that has some words, and wrote nothing."""

    def check(result: Result, *words: str, code: int = 3) -> None:
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        first = "Usage: " if code == 2 else "Error: "
        lines = [line for line in result.stderr.splitlines() if not line.startswith("training ")]
        assert lines[0].startswith(first)
        assert "Traceback" not in result.stderr
        for word in words:
            assert word in result.stderr
        found = {path.name for path in folder.iterdir()}
        assert found <= {"table.csv", "prices.csv", "prices.toml", "table.txt", "t.parquet"}

    return check


@pytest.fixture
def table(folder: Path, frame: pd.DataFrame) -> Callable[..., None]:
    """Write a changed table."""

    def write(**columns: object) -> None:
        frame.assign(**columns).to_csv(folder / "table.csv", index=False)

    return write


@pytest.fixture
def fresh() -> dict[str, str]:
    """Environment of a fresh interpreter that finds this package from any folder."""
    home = str(Path(thrifty.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": home}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model file, trained once."""
    folder = tmp_path_factory.mktemp("trained")
    FRAME.to_csv(folder / "table.csv", index=False)
    (folder / "prices.csv").write_text(PRICES)
    arguments = ["fit", str(folder / "table.csv"), "--target", "ill", "--budget", "20",
                 "--prices", str(folder / "prices.csv"), "--unit", "CAD",
                 "--learner", "greedy-miser", "-o", str(folder / "model.thrifty")]  # fmt: skip
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return (folder / "model.thrifty").read_bytes()


@pytest.fixture
def model(folder: Path, trained: bytes) -> Path:
    path = folder / "model.thrifty"
    path.write_bytes(trained)
    return path
