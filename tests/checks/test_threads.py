from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier
from thrifty.checks import LawError, law_threads
from thrifty.checks.threads import BATCH_ROWS
from thrifty.kernels import threads
from thrifty.learn.boosting import grower
from thrifty.model import Forest


def test_a_model_that_depends_on_the_number_of_threads_is_caught(bend, large_case) -> None:
    def fit(self, X, y):
        self.learning_rate = 0.1 + 1e-9 * threads.thread_count()
        return GreedyMiserClassifier.fit(self, X, y)

    with pytest.raises(LawError, match=r"model array '\w+' with 2 threads of row \d+"):
        law_threads(bend(fit=fit), large_case)


def test_scores_that_depend_on_the_number_of_threads_are_caught(
    bend_model, next_bit, large_case
) -> None:
    calls = []

    def score(self, X):
        calls.append(len(X))
        scores = Forest.score(self, X)
        if threads.thread_count() == 3:
            scores[len(X) // 3] = next_bit(scores[len(X) // 3])
        return scores

    with pytest.raises(LawError, match="scores with 3 threads of row 2000"):
        law_threads(bend_model(score=score), large_case)
    assert set(calls) == {BATCH_ROWS}


def test_hidden_randomness_is_caught(bend, large_case) -> None:
    draw = np.random.default_rng(0)

    def fit(self, X, y):
        return GreedyMiserClassifier.fit(self, X, y, sample_weight=draw.uniform(0.5, 1, len(y)))

    with pytest.raises(LawError, match="with 1 threads"):
        law_threads(bend(fit=fit), large_case)


def test_a_second_fit_that_goes_on_from_the_first_is_caught(bend, large_case) -> None:
    def fit(self, X, y):
        self.n_estimators += hasattr(self, "classes_")
        return GreedyMiserClassifier.fit(self, X, y)

    with pytest.raises(LawError, match="in a second fit"):
        law_threads(bend(fit=fit), large_case)


def test_the_trees_of_the_case_are_shared_among_threads(honest, large_case, monkeypatch) -> None:
    before = grower.INLINE_WORK
    shares = []
    run = threads.run

    def counted(task, ranges) -> None:
        shares.append((threads.thread_count(), len(ranges)))
        run(task, ranges)

    monkeypatch.setattr(threads, "run", counted)
    monkeypatch.setattr(grower, "run", counted)
    law_threads(honest, large_case)
    for count in (2, 3):
        # More than the roots of the trees alone.
        assert sum(n > 1 for threads, n in shares if threads == count) > 3 * 6
    assert before == grower.INLINE_WORK
