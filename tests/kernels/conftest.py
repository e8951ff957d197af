"""Helper modules of this folder can be imported; coverage is not measured here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Kernels run compiled: tracing their tests would take time and measure nothing."""
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker(pytest.mark.no_cover)
