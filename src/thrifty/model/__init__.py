"""Frozen models: arrays that only read, each with the faces `score`, `used` and `walk`."""

from __future__ import annotations

from thrifty.model.base import Frozen, Walk
from thrifty.model.blend import Blend
from thrifty.model.call_result import Answer
from thrifty.model.cascade import Cascade
from thrifty.model.edge_cloud import Mixture
from thrifty.model.forest.forest import Forest
from thrifty.model.gate import Gate
from thrifty.model.kernel_machine import SupportSet
from thrifty.model.leaf_gate import LeafGate
from thrifty.model.linear_tree.linear_tree import LinearTree
from thrifty.model.one_vs_rest import OneVsRest
from thrifty.model.sequential.gaussians import LocalGaussians
from thrifty.model.sequential.neighbors import Neighbors
from thrifty.model.short_circuit.short_circuit import ShortCircuit
from thrifty.model.stages import Stages

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
