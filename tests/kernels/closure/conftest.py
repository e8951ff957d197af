"""Let the tests in this folder import its helper module, `plain_closure`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
