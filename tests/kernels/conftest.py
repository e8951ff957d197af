"""Lets the tests of this room import `reference`, the plain version of the tree engine."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
