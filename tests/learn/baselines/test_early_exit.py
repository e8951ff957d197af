"""Early exits: the whole ensemble without a threshold, and the first exit that applies."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier
from thrifty.learn.baselines import EarlyExitClassifier, ProximityExitClassifier
from thrifty.learn.baselines.early_exit import exits_after, slack_schedule
from thrifty.model import Cascade

SMALL = {"n_estimators": 12, "max_depth": 2, "min_samples_leaf": 5, "random_state": 0}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "without_exits",
    [EarlyExitClassifier(threshold=1.0, every=4), ProximityExitClassifier(slack=None, every=4)],
)
def test_without_a_threshold_every_row_takes_the_whole_ensemble(
    without_exits, classes, draw, new_rows
):
    if classes == 3 and isinstance(without_exits, ProximityExitClassifier):
        pytest.skip("one-vs-rest is another ensemble")
    train = draw(0, classes=classes)
    model = without_exits.set_params(**SMALL).fit(*train)
    full = GreedyMiserClassifier(**SMALL).fit(*train)
    assert isinstance(model.model_, Cascade)
    np.testing.assert_array_equal(model.predict_proba(new_rows), full.predict_proba(new_rows))
    np.testing.assert_array_equal(model.used(new_rows), full.used(new_rows))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_leaves_at_the_first_exit_where_it_is_confident(classes, draw, new_rows):
    train, threshold = draw(0, classes=classes), 0.75
    model = EarlyExitClassifier(threshold=threshold, every=4, learning_rate=0.5, **SMALL)
    full = GreedyMiserClassifier(learning_rate=0.5, **SMALL).fit(*train).model_
    ends = 4 * np.arange(1, 4) * len(full.base)
    np.testing.assert_array_equal(exits_after(full, every=4), ends)
    stages = [full.prefix(end).score(new_rows) for end in ends]
    confident = np.array([stage.max(axis=1) > threshold for stage in stages])
    stop = np.where(confident.any(axis=0), confident.argmax(axis=0), 2)
    assert len(np.unique(stop)) == 3
    np.testing.assert_array_equal(model.fit(*train).model_.block(new_rows), stop)
    expected = np.array(stages)[stop, np.arange(len(stop))]
    np.testing.assert_allclose(model.predict_proba(new_rows), expected)


def test_the_slack_decreases_from_exit_to_exit(train):
    np.testing.assert_allclose(slack_schedule(5), [1.0, 0.75, 0.5, 0.25, 0.0])
    assert slack_schedule(1).tolist() == [0.0]
    model = ProximityExitClassifier(slack=2.0, top=0.1, every=4, **SMALL).fit(*train).model_
    scores = Cascade.of(model.forest, model.ends).exit_scores(train[0])
    top_scores = np.sort(scores, axis=1)[:, int(0.9 * len(train[1])) - 1]
    np.testing.assert_allclose(model.low, top_scores - np.array([2.0, 1.0, 0.0]))


def test_rows_close_to_the_best_stay(train):
    X, y = train
    model = ProximityExitClassifier(slack=0.0, top=0.2, every=4, **SMALL).fit(X, y)
    stays = model.model_.block(X) == 2
    assert 0.05 < stays.mean() < 0.3
    assert y[stays].mean() > y.mean() + 0.3
