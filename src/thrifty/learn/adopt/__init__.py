"""Models that other libraries have fitted, adopted as frozen forests."""

from __future__ import annotations

from thrifty.learn.adopt.adopting import adopt, adopt_forest

__all__ = ["adopt", "adopt_forest"]
