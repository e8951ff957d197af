"""Helper modules of this folder can be imported; coverage counts what runs uncompiled."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tracing tests of compiled kernels would take time and measure nothing."""
    for item in items:
        if item.path.is_relative_to(FOLDER) and "uncompiled" not in item.name:
            item.add_marker(pytest.mark.no_cover)
