"""Maximum closure of a forest of splits by minimum cut, for BudgetPrune (Nan 2018, ch. 4).

A split is worth the errors it saves and needs its parent split and its *pay nodes*: a row's price
for a feature or a group, which splits of many trees share. The best pruning of a forest is the
closure, a set of nodes with everything they need, of largest worth minus cost (Picard 1976).
Maximum flow finds it, and the closures for all penalties are nested (Gallo et al. 1989).

============ ====================================================================================
`problem`    builds splits, pay nodes and arcs from a forest and the leaves that rows reach; also
             one step of the primal-dual method
`network`    `Net`, the network; `Flow`, the amounts on it; `Search`, where excess can go; and
             `measure`, exact distances to deficits
`solve`      push-relabel without source and sink (Goldberg and Tarjan 1988)
`path`       `best_closure` for one penalty, `all_closures` for every penalty
============ ====================================================================================

Order of calls: the functions of `problem` build `parent`, `first`, `head` and the weights;
`all_closures` then makes a `Net`, and alternates between `largest_flow` and dividing blocks.
"""

from __future__ import annotations

from thrifty.kernels.closure.path import all_closures, best_closure

__all__ = ["all_closures", "best_closure"]
