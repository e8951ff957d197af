"""What the README promises runs as it stands; the pages in docs/ run as doctests."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest

from thrifty import Prices

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_the_quick_start_of_the_readme_runs(tmp_path, monkeypatch, capsys) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "heart.thrifty").exists()
    answer, receipt = capsys.readouterr().out.split("\n", 1)
    assert answer in ("ill", "well")
    assert "CAD" in receipt


def test_the_price_files_of_the_page_are_the_prices_of_the_page(tmp_path) -> None:
    page = (ROOT / "docs" / "prices.rst").read_text()
    blocks = dict(re.findall(r"code-block:: (text|toml)\n\n((?:    .*\n|\n)+)", page))
    for kind, name in {"text": "prices.csv", "toml": "prices.toml"}.items():
        (tmp_path / name).write_text(dedent(blocks[kind]))
    told = Prices(
        {"age": 1.0, "chol": 7.27, "fbs": 5.20, "thal": 102.9},
        groups={"blood": ["chol", "fbs"]},
        shared={"blood": 2.10},
        unit="CAD",
    )
    assert Prices.read(tmp_path / "prices.toml") == told
    assert Prices.read(tmp_path / "prices.csv", unit="CAD") == told


def test_the_pages_name_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "install.rst").read_text()
    assert [extra for extra in project["optional-dependencies"] if f"``{extra}``" not in page] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_and_pictures_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / name).read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []
