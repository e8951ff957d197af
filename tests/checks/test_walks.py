from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thrifty.bundle import NamedWalk
from thrifty.checks import LawError, law_known, law_reasons, law_rows_alone, law_walks
from thrifty.model import Forest
from thrifty.model.forest.walk import ForestWalk
from thrifty.model.links import apply_link


def test_a_walk_that_forgets_a_feature_is_caught(bend_walk, numbers) -> None:
    touched = property(lambda self: ForestWalk.touched.fget(self)[1:])
    with pytest.raises(LawError, match=r"case numbers\]: a walk asked for .* and read none"):
        law_walks(bend_walk(touched=touched), numbers)


def test_a_walk_that_never_asks_for_a_feature_is_caught(bend_walk, numbers) -> None:
    asks = property(lambda self: tuple(j for j in ForestWalk.asks.fget(self) if j != 1))
    with pytest.raises(LawError, match="told one_by_one"):
        law_walks(bend_walk(asks=asks), numbers)


def test_a_walk_that_asks_for_what_it_does_not_read_is_caught(bend_walk, numbers) -> None:
    def tell(self, values):
        self.seen = getattr(self, "seen", set()) | set(values)
        ForestWalk.tell(self, {j: x for j, x in values.items() if j != 6})

    def asks(self):
        asked = ForestWalk.asks.fget(self)
        return (*asked, 6) if asked and 6 not in getattr(self, "seen", ()) else asked

    with pytest.raises(LawError, match=r"a walk asked for \(6,\) and read none of it"):
        law_walks(bend_walk(asks=property(asks), tell=tell), numbers)


def test_scores_that_differ_in_the_last_bit_are_caught(bend_walk, next_bit, numbers) -> None:
    scores = property(lambda self: next_bit(ForestWalk.scores.fget(self)))
    with pytest.raises(LawError, match=r"scores told one_by_one \(row 0\)"):
        law_walks(bend_walk(scores=scores), numbers)


def test_a_walk_that_depends_on_the_order_of_the_values_is_caught(
    bend_walk, next_bit, numbers
) -> None:
    def tell(self, values):
        self.seen = [*getattr(self, "seen", []), *values]
        ForestWalk.tell(self, values)

    def scores(self):
        honest, seen = ForestWalk.scores.fget(self), getattr(self, "seen", [])
        return next_bit(honest) if seen[:1] == [3] else honest

    with pytest.raises(LawError, match="scores told"):
        law_walks(bend_walk(scores=property(scores), tell=tell), numbers)


def test_a_walk_that_cannot_be_resumed_is_caught(bend_walk, numbers) -> None:
    def tell(self, values):
        self.tells = getattr(self, "tells", 0) + 1
        ForestWalk.tell(self, values)

    def asks(self):
        honest = ForestWalk.asks.fget(self)
        return honest[::-1] if getattr(self, "tells", 0) % 2 else honest

    with pytest.raises(LawError, match="resumed, a walk asks"):
        law_walks(bend_walk(tell=tell, asks=property(asks)), numbers)


def test_a_walk_that_answers_another_class_is_caught(bend_walk, frame, monkeypatch) -> None:
    monkeypatch.setattr(NamedWalk, "best", property(lambda self: self._labels[-1]))
    with pytest.raises(LawError, match="answer told one_by_one of row"):
        law_walks(bend_walk(), frame)


def test_a_walk_that_counts_evaluations_otherwise_is_caught(bend_walk, numbers) -> None:
    with pytest.raises(LawError, match="total told one_by_one of row 0"):
        law_walks(bend_walk(evaluations=property(lambda self: 1)), numbers)


def test_charging_what_was_known_is_caught(honest, numbers, monkeypatch) -> None:
    receipt = NamedWalk.receipt.fget

    def dearer(self):
        prices = [self._prices.own[j] for j in self.known]
        return replace(receipt(self), total=receipt(self).total + sum(prices))

    monkeypatch.setattr(NamedWalk, "receipt", property(dearer))
    with pytest.raises(LawError, match="total with known values of row"):
        law_known(honest, numbers)


def test_a_row_that_depends_on_its_batch_is_caught(bend_model, numbers) -> None:
    def score(self, X):
        raw = Forest.raw(self, X)
        return apply_link(self.link, raw - raw.mean(axis=0))

    with pytest.raises(LawError, match="scores alone of row 0|predictions alone of row"):
        law_rows_alone(bend_model(score=score), numbers)


def test_used_that_depends_on_the_batch_is_caught(bend_model, numbers) -> None:
    def used(self, X):
        used = Forest.used(self, X)
        return used | used.any(axis=0)

    with pytest.raises(LawError, match="used alone of row"):
        law_rows_alone(bend_model(used=used), numbers)
    with pytest.raises(LawError, match="features read told one_by_one of row"):
        law_walks(bend_model(used=used), numbers)


def test_walks_of_a_bent_class_are_otherwise_honest(bend_walk, numbers, frame) -> None:
    for case in (numbers, frame):
        law_walks(bend_walk(), case)
        law_known(bend_walk(), case)
        law_rows_alone(bend_walk(), case)
        law_reasons(bend_walk(), case)
    assert np.isnan(numbers.table(numbers.test.values)[0]).all()


def test_a_reason_that_changes_is_caught(bend_walk, numbers) -> None:
    def motive(self):
        self.reads = getattr(self, "reads", 0) + 1
        return ForestWalk.motive.fget(self)._replace(gain=float(self.reads))

    with pytest.raises(LawError, match="becomes"):
        law_reasons(bend_walk(motive=property(motive)), numbers)


def test_a_reason_for_what_is_not_asked_is_caught(bend_walk, numbers) -> None:
    def motive(self):
        return ForestWalk.motive.fget(self)._replace(features=self.asks[::-1][:1])

    with pytest.raises(LawError, match="features of a reason of row"):
        law_reasons(bend_walk(motive=property(motive)), numbers)


def test_a_reason_that_moves_the_walk_is_caught(bend_walk, numbers) -> None:
    def motive(self):
        found = ForestWalk.motive.fget(self)
        self._position = [0] * len(self._position)
        return found

    with pytest.raises(LawError):
        law_reasons(bend_walk(motive=property(motive)), numbers)


def test_a_bound_that_a_bill_exceeds_is_caught(bend_walk, numbers) -> None:
    with pytest.raises(LawError, match="a bill of .* where at most .* was due"):
        law_reasons(bend_walk(evaluations_after=lambda self, features: 0), numbers)


def test_an_end_that_is_none_is_caught(bend_walk, numbers, monkeypatch) -> None:
    monkeypatch.setattr(NamedWalk, "end", ("cap", "cap"))
    with pytest.raises(LawError, match="asks for nothing more says 'cap'"):
        law_walks(bend_walk(), numbers)
