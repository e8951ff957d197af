"""A predictor whose walk has several rounds, and sources that do as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes
from thrifty.serve import AsyncSource, Terms

NAMES = ["age", "chol", "fbs", "thal"]


def chain_predictor(names: list[str] = NAMES, **prices: Any) -> Predictor:
    """Asks for age, chol, fbs and thal one after the other, while they are above 0."""
    nodes = empty_nodes(9)
    values = np.zeros((9, 1))
    for depth in range(4):
        node = 2 * depth
        nodes[node] = (0.0, node + 1, depth)
        values[node] = depth / 10
        values[node + 1] = -1.0 - depth
    values[8] = 5.0
    tree = Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), "sigmoid", 4)
    schema = Schema.of({name: [0.5, -0.5] for name in names})
    listed = Prices(dict(zip(names, (1.0, 5.0, 3.0, 10.0), strict=True)), unit="CAD", **prices)
    return Predictor(tree, schema, listed.bind(names), classes=["well", "ill"])


class Scripted(AsyncSource):
    """A source that does what a function says, and records what it was asked."""

    def __init__(self, terms: Terms, act: Callable[[Any], Any] | None = None) -> None:
        super().__init__(terms)
        self.act = act
        self.asked: list[Any] = []
        self.closed = False

    async def fetch(self, query):
        self.asked.append(query)
        if self.act is None:
            return dict.fromkeys(query.features, 1.0)
        result = self.act(query)
        return await result if asyncio.iscoroutine(result) else result

    async def close(self) -> None:
        self.closed = True


def each(name: str, *features: str, act: Any = None, **terms: Any) -> Scripted:
    return Scripted(Terms(name, features, **terms), act)


class Late:
    """What a source does that answers only when it is released; `seconds` pass as it is asked."""

    def __init__(self, clock: Any, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self.release = asyncio.Event()

    async def __call__(self, query):
        self._clock.now += self._seconds
        await self.release.wait()
        return dict.fromkeys(query.features, 1.0)


def asked(state):
    return [question.feature for question in state.asks]


def where(state):
    """What must be the same after a step was taken back."""
    receipt = state.receipt
    return state.asks, state.done, state.left, receipt.answer, receipt.spent, receipt.total
