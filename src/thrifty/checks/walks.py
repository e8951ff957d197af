"""Law 1: a walk says what the batch says, in whatever order the values arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from thrifty.bundle import NamedWalk
from thrifty.checks.cases import Case
from thrifty.checks.faces import Faces
from thrifty.checks.verdict import law, require, same

__all__ = ["check_walks", "law_known", "law_rows_alone", "law_walks"]

ROWS = 12

Example = Mapping[Any, Any]
Random = np.random.Generator
Start = Callable[[], NamedWalk]
# Brings a new walk to its end by telling it the values of an example.
Telling = Callable[[Start, Example, Random], NamedWalk]


@law("a walk says what the batch says")
def law_walks(estimator: Any, case: Case) -> None:
    """Answer, scores, used set, bill and receipt, in six orders of telling."""
    check_walks(case.fit(estimator), case, range(ROWS))


@law("values known before a walk are free, and change no answer")
def law_known(estimator: Any, case: Case) -> None:
    """A walk that starts with half of the values pays for the others that it reads."""
    fitted = case.fit(estimator)
    batch = Faces.of(fitted, case.held_table)
    evaluations = fitted.predictor_.evaluations(case.held_table)
    for row in range(ROWS):
        example = case.example(row)
        at_hand = [(row + j) % 2 == 0 for j in range(len(example))]
        known = {name: x for free, (name, x) in zip(at_hand, example.items(), strict=True) if free}
        walk = _follow(fitted.walk(known), example, lambda asks: asks)
        paid = batch.used[row] & ~np.array(at_hand)
        due = fitted.prices_.bill(paid[np.newaxis], int(evaluations[row]))[0]
        same(f"scores (row {row})", np.atleast_1d(batch.scores[row]), walk.scores)
        _expect(row, "total with known values", due.item(), walk.receipt.total)


@law("a row alone is what it is in its batch")
def law_rows_alone(estimator: Any, case: Case) -> None:
    """Every face of a table of one row is the row of the whole table."""
    fitted = case.fit(estimator)
    batch = Faces.of(fitted, case.held_table)
    alone = [Faces.of(fitted, case.table(case.held.values[row : row + 1])) for row in range(ROWS)]
    for name in ("answers", "scores", "used", "bill"):
        rows = np.concatenate([getattr(faces, name) for faces in alone])
        same(f"{name} alone", getattr(batch, name)[:ROWS], rows)


def check_walks(speaker: Any, case: Case, rows: Iterable[int]) -> None:
    """Hold the walks of an estimator or a predictor to its batch, on held-out rows of a case."""
    batch = Faces.of(speaker, case.held_table)
    for row in rows:
        for telling in TELLINGS:
            walk = telling(speaker.walk, case.example(row), np.random.default_rng(row))
            _compare(walk, batch, row, case, f"told {telling.__name__.strip('_')}")


def _one_by_one(start: Start, example: Example, random: Random) -> NamedWalk:
    return _follow(start(), example, lambda asks: asks[:1])


def _last_first(start: Start, example: Example, random: Random) -> NamedWalk:
    return _follow(start(), example, lambda asks: asks[-1:])


def _together(start: Start, example: Example, random: Random) -> NamedWalk:
    return _follow(start(), example, lambda asks: asks)


def _shuffled(start: Start, example: Example, random: Random) -> NamedWalk:
    """In an order of its own, to the last value, asked for or not."""
    walk = start()
    names = list(example)
    for j in random.permutation(len(names)):
        walk.tell({names[j]: example[names[j]]})
    return walk


def _at_once(start: Start, example: Example, random: Random) -> NamedWalk:
    walk = start()
    walk.tell(example)
    return walk


def _resumed(start: Start, example: Example, random: Random) -> NamedWalk:
    """Stored after every value and taken up again from what it was told."""
    walk = start()
    while walk.asks:
        walk.tell({walk.asks[0]: example[walk.asks[0]]})
        again = start()
        again.tell(walk.told)
        require(again.asks == walk.asks, f"resumed, a walk asks {again.asks}, not {walk.asks}")
        require(
            _features(again) == _features(walk) and again.receipt.total == walk.receipt.total,
            f"resumed, a walk has bought {again.receipt}, not {walk.receipt}",
        )
        same("scores of a resumed walk", walk.scores, again.scores)
        walk = again
    return walk


TELLINGS: tuple[Telling, ...] = (
    _one_by_one,
    _last_first,
    _together,
    _shuffled,
    _at_once,
    _resumed,
)


def _follow(
    walk: NamedWalk, example: Example, choose: Callable[[tuple[Any, ...]], tuple[Any, ...]]
) -> NamedWalk:
    """Tell only what is asked for: nothing is asked twice, and all of it is read."""
    while walk.asks:
        require(len(set(walk.asks)) == len(walk.asks), f"a walk asks {walk.asks}")
        again = [feature for feature in walk.asks if feature in walk.told]
        require(not again, f"a walk asks again for {again}")
        require(walk.answer is None, f"a walk answers {walk.answer!r} and still asks {walk.asks}")
        walk.tell({feature: example[feature] for feature in choose(walk.asks)})
    require(not walk.receipt.unread, f"a walk asked for {walk.receipt.unread} and read none of it")
    return walk


def _compare(walk: NamedWalk, batch: Faces, row: int, case: Case, how: str) -> None:
    """Hold a walk that has been told all it asked for to its row of the batch."""
    used = {name for name, on in zip(case.names, batch.used[row], strict=True) if on}
    receipt = walk.receipt
    same(f"scores {how} (row {row})", np.atleast_1d(batch.scores[row]), walk.scores)
    _expect(row, f"answer {how}", batch.answers[row].item(), walk.answer)
    _expect(row, f"best answer {how}", batch.answers[row].item(), walk.best)
    _expect(row, f"features read {how}", used, _features(walk))
    _expect(row, f"total {how}", batch.bill[row].item(), receipt.total)
    _expect(row, f"features unread {how}", walk.told.keys() - used, set(receipt.unread))
    _expect(row, f"end {how}", "complete", receipt.stopped)


def _features(walk: NamedWalk) -> set[Any]:
    return {purchase.feature for purchase in walk.receipt.purchases}


def _expect(row: int, what: str, due: object, found: object) -> None:
    require(found == due, f"{what} of row {row}: {found!r} where the batch has {due!r}")
