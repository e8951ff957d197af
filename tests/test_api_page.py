"""docs/reference/api.rst shows every public name, and nothing that does not exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "reference" / "api.rst").read_text()
PACKAGES = (
    "thrifty",
    "thrifty.bundle",
    "thrifty.checks",
    "thrifty.client",
    "thrifty.costs",
    "thrifty.data",
    "thrifty.errors",
    "thrifty.frontier",
    "thrifty.learn",
    "thrifty.learn.baselines",
    "thrifty.model",
    "thrifty.report",
    "thrifty.report.displays",
    "thrifty.serve",
    "thrifty.wire",
)


@pytest.fixture(scope="module")
def shown() -> list[Any]:
    """Return the objects that the page lists."""
    names = re.findall(r"^   (thrifty\S*)\.(\w+)$", PAGE, flags=re.MULTILINE)
    assert len(names) == len(set(names))
    return [getattr(import_module(module), name) for module, name in names]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_on_the_page(package: str, shown: list[Any]) -> None:
    module = import_module(package)
    identities = {id(value) for value in shown}
    missing = [name for name in module.__all__ if id(getattr(module, name)) not in identities]
    assert [name for name in missing if name != "__version__"] == []
