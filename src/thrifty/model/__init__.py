"""Frozen models: arrays that only read, each with the faces `score`, `used` and `walk`."""

from __future__ import annotations

from thrifty.model.forest import Forest
from thrifty.model.frozen import Frozen, Walk

__all__ = ["KINDS", "Forest", "Frozen", "Walk"]

# How a model file finds the class for the kind that its header names.
KINDS: dict[str, type[Frozen]] = {Forest.kind: Forest}
