"""Frozen models: arrays that only read, each with the faces `score`, `used` and `walk`."""

from __future__ import annotations

from thrifty.model.forest import Forest
from thrifty.model.frozen import Frozen, Walk
from thrifty.model.short_circuit import ShortCircuit

__all__ = ["KINDS", "Forest", "Frozen", "ShortCircuit", "Walk"]

# How a model file finds the class for the kind that its header names.
KINDS: dict[str, type[Frozen]] = {kind.kind: kind for kind in (Forest, ShortCircuit)}
