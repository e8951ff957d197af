"""Frozen models: what training ends in, and all that prediction needs.

A frozen model is a set of read-only arrays that knows features by position. It scores batches
(`Frozen.score`), says which features each row read (`Frozen.used`), and follows one example that
buys its features one after another (`Frozen.walk`). All three agree to the bit. Reading, walking
and scoring need only NumPy and the compiled kernels of Thrifty.

- ``base``: the interfaces `Frozen` and `Walk`, and models inside models.
- ``forest``: `Forest`, sums, averages and votes of trees. ``short_circuit``: `ShortCircuit`, a
  forest that stops as soon as the predicted class is certain. ``cascade``: `Cascade`, a forest with
  exits between its trees. ``one_vs_rest``: `OneVsRest`, one model for each class.
- ``stages``: `Stages`, a ladder of models that a row climbs until it is certain.
- ``average``: `Average`, a weighted average of models whose features are bought all at once.
- ``branch``: `Branch`, a split on one feature with a model on each side.
- ``policy``: `Policy`, which chooses the next purchase of each row from the values seen so far.
- ``blend``: `Blend`, two models with a choice for each row, so that a budget is spent exactly.
- ``linear_tree``: `LinearTree`, trees and cascades of linear models.
- ``sequential``: `Neighbors` and `LocalGaussians`, which buy one feature at a time.
- ``kernel_machine``: `KernelMachine`, a support vector machine. ``kernel_functions`` and
  ``pairwise`` hold its kernels and its class probabilities.
- ``gate``: `Gate`, which sends each row to a local or an expensive model. ``leaf_gate``:
  `LeafGate`, a gate on the trees of the local model. ``call_result``: `CallResult`, an expensive
  model that is called.
- ``edge_cloud``: `EdgeCloud`, devices that transmit to a cloud.
- ``path_bounds``: `PathBounds`, what single rows may read at most.
- ``decision``: `Decision`, which label to predict, by the costs of errors.
- ``encoding``, ``links``, ``products``, ``relay``, ``row_hash`` and ``file_checks`` are shared by
  these.
"""

from __future__ import annotations

from thrifty.model.average import Average
from thrifty.model.base import Frozen, Walk
from thrifty.model.blend import Blend
from thrifty.model.branch import Branch
from thrifty.model.call_result import CallResult
from thrifty.model.cascade import Cascade
from thrifty.model.edge_cloud import EdgeCloud
from thrifty.model.forest.forest import Forest
from thrifty.model.gate import Gate
from thrifty.model.kernel_machine import KernelMachine
from thrifty.model.leaf_gate import LeafGate
from thrifty.model.linear_tree import LinearTree
from thrifty.model.one_vs_rest import OneVsRest
from thrifty.model.policy import Policy
from thrifty.model.priced_call import PricedCall
from thrifty.model.sequential import LocalGaussians, Neighbors
from thrifty.model.short_circuit.short_circuit import ShortCircuit
from thrifty.model.stages import Stages

__all__ = [
    "KINDS",
    "Average",
    "Blend",
    "Branch",
    "CallResult",
    "Cascade",
    "EdgeCloud",
    "Forest",
    "Frozen",
    "Gate",
    "KernelMachine",
    "LeafGate",
    "LinearTree",
    "LocalGaussians",
    "Neighbors",
    "OneVsRest",
    "Policy",
    "PricedCall",
    "ShortCircuit",
    "Stages",
    "Walk",
]

#: The class of each kind of model, by the name that model files have for it.
KINDS: dict[str, type[Frozen]] = {
    kind.kind: kind
    for kind in (
        Forest,
        ShortCircuit,
        Stages,
        Average,
        Branch,
        Blend,
        KernelMachine,
        Neighbors,
        LocalGaussians,
        LinearTree,
        OneVsRest,
        Cascade,
        Gate,
        CallResult,
        LeafGate,
        EdgeCloud,
        Policy,
        PricedCall,
    )
}
