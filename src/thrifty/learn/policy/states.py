"""States: rows of which only some items are bought.

The forests of a policy are fitted to states. At first these are drawn at random, with many small
sets of items and a few large ones; later most are those that the policy itself leads to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.policy.items import Items
from thrifty.model import Policy

__all__ = ["States", "draw_states", "visit_states"]

Bools = NDArray[np.bool_]

# Share of random states with a number of items that is uniform instead of log-uniform.
SPREAD_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class States:
    """Some rows, each with the items that it has bought.

    Parameters
    ----------
    rows : int array of shape (s,)
        Positions of the rows in the training table; a row may occur many times.
    bought : bool array of shape (s, m)
    """

    rows: NDArray[np.intp]
    bought: Bools

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: NDArray[np.intp] | Bools | slice) -> Self:
        """Keep some of the states."""
        return type(self)(self.rows[chosen], self.bought[chosen])

    def share(self, share: float) -> Self:
        """Keep the first part of the states."""
        return self.take(slice(max(1, round(share * len(self)))))

    def __add__(self, other: States) -> States:
        """Join two sets of states."""
        rows = np.concatenate([self.rows, other.rows])
        return States(rows, np.concatenate([self.bought, other.bought]))

    def keep_items(self, kept: NDArray[np.int64]) -> Self:
        """Keep some of the items; see `Items.keep`."""
        return type(self)(self.rows, np.ascontiguousarray(self.bought[:, kept]))


def draw_states(n: int, items: Items, count: int, random: np.random.Generator) -> States:
    """Draw `count` states of n rows; all rows occur equally often, as far as possible.

    The number of items is log-uniform from none to all; what is bought is uniform.
    """
    rows = np.concatenate([random.permutation(n) for _ in range(-(-count // n))])[:count]
    most = len(items)
    size = np.floor(np.exp(random.random(count) * np.log(most + 2))).astype(np.int64) - 1
    spread = random.random(count) < SPREAD_SHARE
    size = np.where(spread, random.integers(0, most + 1, count), np.minimum(size, most))
    rank = random.random((count, most)).argsort(axis=1).argsort(axis=1)
    return States(rows, rank < size[:, np.newaxis])


def visit_states(
    policy: Policy,
    X: NDArray[np.floating],
    rows: NDArray[np.intp],
    max_steps: int,
    exploration: float,
    random: np.random.Generator,
) -> States:
    """Let rows buy what a policy chooses, as long as it can, and return every state on the way.

    Parameters
    ----------
    policy : Policy
        Its cost weight and its cap are ignored.
    X : array of shape (n, d)
        The training table.
    rows : int array
        The rows to follow.
    max_steps : int
        Largest number of purchases.
    exploration : float
        Share of purchases that are drawn at random instead.
    random : numpy Generator
    """
    values = X[rows].astype(np.float64)
    table = np.where(policy.known, values, np.nan)
    bought = np.tile(~policy.members.any(axis=1), (len(rows), 1))
    visited = [States(rows, bought)]
    for _ in range(max_steps):
        open_items = ~bought
        if not open_items.any():
            break
        price = policy.own + np.append(policy.shared, 0.0)[policy.group]
        rate = np.where(open_items, policy.value.raw(table) / price, -np.inf)
        drawn = np.where(open_items, random.random(rate.shape), -1.0).argmax(axis=1)
        explores = random.random(len(rows)) < exploration
        item = np.where(explores, drawn, rate.argmax(axis=1))
        going = open_items.any(axis=1, keepdims=True)
        table = np.where(policy.reads[item] & going, values, table)
        bought = np.asarray(bought | policy.bundle(item))
        visited.append(States(rows, bought))
    joined = visited[0]
    for states in visited[1:]:
        joined = joined + states
    return joined
