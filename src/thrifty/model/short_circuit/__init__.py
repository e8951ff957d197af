"""Short-circuit evaluation: a forest that stops once no unread tree can change its prediction.

===============  ==================================================================================
`short_circuit`  `ShortCircuit`: the forest, the order of its trees, and its three faces
`bounds`         `Bounds`: what unfinished trees can still add, and the rule that settles a row
`walk`           `ShortCircuitWalk`: one example, which requests one feature at a time
===============  ==================================================================================

`thrifty.short_circuit` builds the model from a trained forest and chooses the order of the trees.
"""

from __future__ import annotations

from thrifty.model.short_circuit.short_circuit import ShortCircuit
from thrifty.model.short_circuit.walk import ShortCircuitWalk

__all__ = ["ShortCircuit", "ShortCircuitWalk"]
