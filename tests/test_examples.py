"""Every script in examples/ runs, prints its results and saves a picture."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_prints_its_results_and_saves_a_picture(
    script: Path, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path)])
    runpy.run_path(str(script), run_name="__main__")
    plt.close("all")

    assert len(capsys.readouterr().out.splitlines()) >= 3
    assert [path.name for path in tmp_path.iterdir()] == [f"{script.stem}.png"]
    with Image.open(tmp_path / f"{script.stem}.png") as picture:
        assert picture.format == "PNG"
        picture.verify()


def test_the_gallery_shows_every_example() -> None:
    page = (ROOT / "docs" / "examples" / "index.rst").read_text()
    missing = [path.stem for path in SCRIPTS if f"generated/{path.stem}\n" not in page]
    assert missing == []
