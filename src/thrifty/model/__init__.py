"""Frozen models: arrays that only read, each with the faces `score`, `used` and `walk`."""

from __future__ import annotations

from thrifty.model.blend import Blend
from thrifty.model.forest import Forest
from thrifty.model.frozen import Frozen, Walk
from thrifty.model.local_gaussians import LocalGaussians
from thrifty.model.neighbors import Neighbors
from thrifty.model.short_circuit import ShortCircuit
from thrifty.model.stages import Stages
from thrifty.model.support_set import SupportSet

__all__ = [
    "KINDS",
    "Blend",
    "Forest",
    "Frozen",
    "LocalGaussians",
    "Neighbors",
    "ShortCircuit",
    "Stages",
    "SupportSet",
    "Walk",
]

# How a model file finds the class for the kind that its header names.
KINDS: dict[str, type[Frozen]] = {
    kind.kind: kind
    for kind in (Forest, ShortCircuit, Stages, Blend, SupportSet, Neighbors, LocalGaussians)
}
