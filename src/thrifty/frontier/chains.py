"""Answers of many models about the same rows, with the work that they share done once.

Points of a path are often the first trees of one and the same forest. Such a chain is descended
once; each of its models is met on the way. Ladders that share rungs send all rows through each
rung once; where rows stop is then a matter of looking up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from thrifty.model import Forest, Frozen, Stages
from thrifty.model.links import apply_link

__all__ = ["answers_of"]

Answer = tuple[int, NDArray[np.float64], NDArray[np.bool_]]


def answers_of(models: Sequence[Frozen], X: NDArray[np.floating]) -> Iterator[Answer]:
    """For each model its position, scores and used features; in the order of the chains.

    They are the same to the bit as those of `score` and `used`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier.chains import answers_of
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> forest = GreedyMiserRegressor(n_estimators=9).fit(X, X[:, 0]).model_
    >>> models = [forest, forest.prefix(4)]
    >>> all((scores == models[k].score(X)).all() for k, scores, _ in answers_of(models, X))
    True
    """
    chains: dict[object, list[int]] = {}
    for k, model in enumerate(models):
        key = _start(model) if isinstance(model, Forest) else k
        chains.setdefault(key, []).append(k)
    told = _Told(models, X)
    for members in chains.values():
        if len(members) == 1:
            yield members[0], *told(models[members[0]])
        else:
            yield from _along(members, [models[k] for k in members], X)


def _start(forest: Forest) -> object:
    """What the first trees of one forest have in common: where their arrays lie."""
    arrays = (forest.nodes, forest.values, forest.roots, forest.outputs, forest.subsets)
    places = tuple(array.__array_interface__["data"][0] for array in arrays)
    # Arrays without entries may lie anywhere, so the constant is on no chain.
    return (*places, forest.base.tobytes(), forest.link) if len(forest.roots) else id(forest)


class _Told:
    """What models tell all rows; a rung of several ladders is asked once."""

    def __init__(self, models: Sequence[Frozen], X: NDArray[np.floating]) -> None:
        self.X = X
        ladders = [model for model in models if isinstance(model, Stages)]
        rungs = chain.from_iterable((*ladder.rungs, *ladder.doubts) for ladder in ladders)
        self.rungs = {id(rung) for rung in rungs} if len(ladders) > 1 else set()
        self.known: dict[int, tuple[NDArray[np.float64], NDArray[np.bool_]]] = {}

    def __call__(self, model: Frozen) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Scores and used features."""
        if id(model) in self.known:
            return self.known[id(model)]
        if isinstance(model, Stages) and self.rungs:
            return self._climbed(model)
        both = getattr(model, "score_and_used", None)
        found = (model.score(self.X), model.used(self.X)) if both is None else both(self.X)
        if id(model) in self.rungs:
            self.known[id(model)] = found
        return found

    def _climbed(self, ladder: Stages) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        scores = self(ladder.rungs[0])[0].copy()
        used = np.zeros((len(self.X), ladder.n_features), dtype=bool)
        rows = np.arange(len(self.X))
        for rung in range(len(ladder.rungs)):
            answers = [self(model) for model in ladder.visited(rung)]
            for _, read in answers:
                used[rows] |= read[rows]
            scores[rows] = answers[0][0][rows]
            rows = rows[ladder.climbs(rung, [told[rows] for told, _ in answers])]
            if not len(rows):
                break
        return scores, used


def _along(
    members: Sequence[int], models: Sequence[Frozen], X: NDArray[np.floating]
) -> Iterator[Answer]:
    """Tree after tree of the longest forest; a stop where a shorter one ends."""
    forests = [model for model in models if isinstance(model, Forest)]
    longest = max(forests, key=lambda forest: len(forest.roots))
    ends: dict[int, list[int]] = {}
    for k, forest in zip(members, forests, strict=True):
        ends.setdefault(len(forest.roots), []).append(k)
    raw = np.tile(longest.base, (len(X), 1))
    words = np.zeros((len(X), longest.paths.shape[1]), dtype=np.uint64)
    addends, single = longest._addends, longest.values.shape[1] == 1
    for tree, leaf in enumerate(longest.leaves(X)):
        if single:
            raw[:, longest.outputs[tree]] += addends[leaf, 0]
        else:
            raw += addends[leaf]
        words |= longest.paths[leaf]
        for k in ends.get(tree + 1, ()):
            mean = raw / (tree + 1) if longest.link in ("mean", "vote") else raw
            yield k, apply_link(longest.link, mean), longest.spread(words)
