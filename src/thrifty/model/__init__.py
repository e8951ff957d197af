"""Frozen models: arrays that only read, each with the faces `score`, `used` and `walk`."""

from __future__ import annotations

from thrifty.model.answer import Answer
from thrifty.model.blend import Blend
from thrifty.model.cascade import Cascade
from thrifty.model.forest import Forest
from thrifty.model.frozen import Frozen, Walk
from thrifty.model.gate import Gate
from thrifty.model.leaf_gate import LeafGate
from thrifty.model.linear_tree import LinearTree
from thrifty.model.local_gaussians import LocalGaussians
from thrifty.model.mixture import Mixture
from thrifty.model.neighbors import Neighbors
from thrifty.model.one_vs_rest import OneVsRest
from thrifty.model.short_circuit import ShortCircuit
from thrifty.model.stages import Stages
from thrifty.model.support_set import SupportSet

__all__ = [
    "KINDS",
    "Answer",
    "Blend",
    "Cascade",
    "Forest",
    "Frozen",
    "Gate",
    "LeafGate",
    "LinearTree",
    "LocalGaussians",
    "Mixture",
    "Neighbors",
    "OneVsRest",
    "ShortCircuit",
    "Stages",
    "SupportSet",
    "Walk",
]

# How a model file finds the class for the kind that its header names.
KINDS: dict[str, type[Frozen]] = {
    kind.kind: kind
    for kind in (
        Forest,
        ShortCircuit,
        Stages,
        Blend,
        SupportSet,
        Neighbors,
        LocalGaussians,
        LinearTree,
        OneVsRest,
        Cascade,
        Gate,
        Answer,
        LeafGate,
        Mixture,
    )
}
