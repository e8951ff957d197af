"""The scripts in examples/: building the documentation runs them and shows what they draw."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_enough_examples_to_browse() -> None:
    assert len(SCRIPTS) >= 12


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_asks_a_question_and_answers_it_with_text_and_a_picture(script: Path) -> None:
    source = script.read_text()
    title, underline, *_ = (ast.get_docstring(ast.parse(source)) or "").splitlines()
    assert title.endswith("?") and underline == "=" * len(title)
    assert re.search(r"^# %%\n# [A-Z`]", source, re.MULTILINE), "no text between the code"
    assert re.search(r"\bprint\(", source) and source.endswith("plt.show()\n")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_needs_only_tables_that_are_installed(script: Path) -> None:
    imported = re.findall(r"^from thrifty\.data import (.+)$", script.read_text(), re.MULTILINE)
    assert imported and "load" not in imported[0].split(", ")
