"""Makes the random models of the other folders importable here."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "model"):
    sys.path.insert(0, str(folder))
