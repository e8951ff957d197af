"""Policies: the next purchase of a row depends on the values that it has seen.

==============  ===================================================================================
`policy`        `Policy`: the two forests, the items and their prices; scores and used features
`wallets`       `Wallets`: what rows have bought and spent, and what they can still afford
`walk`          `PolicyWalk`: one example that buys one item after another
==============  ===================================================================================

A batch goes through `Policy.run`, all rows one step at a time; a walk takes the same steps with a
table of one row. Policies are trained in `thrifty.learn.policy`.
"""

from __future__ import annotations

from thrifty.model.policy.policy import Policy, Start, Visit
from thrifty.model.policy.walk import PolicyWalk

__all__ = ["Policy", "PolicyWalk", "Start", "Visit"]
