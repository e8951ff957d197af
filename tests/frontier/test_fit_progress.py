"""Progress of learners: shares rise from 0 to 1, and estimators do not keep the callback."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from thrifty import BudgetClassifier, GreedyMiserClassifier, LadderClassifier, progress, trace
from thrifty.frontier.fit_progress import current_report

X = np.random.default_rng(0).normal(size=(300, 4))
Y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")


@pytest.fixture
def learners():
    return {
        "ladder": LadderClassifier(effort="fast", random_state=0),
        "miser": GreedyMiserClassifier(n_estimators=10, random_state=0),
    }


def test_each_learner_rises_from_0_to_1(learners) -> None:
    reports = []
    with progress(reports.append):
        model = BudgetClassifier(budget=2, learners=learners, random_state=0).fit(X, Y)
    assert reports[0] == ("ladder", 1, 2, 0.0)
    for number, name in enumerate(learners, start=1):
        shares = [r.share for r in reports if r.learner == name and r.number == number]
        assert shares[0] == 0.0 and shares[-1] == 1.0
        assert shares == sorted(shares)
    assert len([r for r in reports if r.learner == "ladder"]) > 5  # also in between
    # Nobody listens any more, and the estimator is as usual.
    count = len(reports)
    clone(model).fit(X, Y)
    assert len(reports) == count and current_report() is None


def test_a_callback_works_through_pipelines_and_traces(learners) -> None:
    reports = []
    with progress(reports.append):
        pipeline = make_pipeline(
            StandardScaler(), BudgetClassifier(budget=2, effort="fast", random_state=0)
        )
        pipeline.fit(X, Y)
        n_fit = len(reports)
        trace(learners, X, Y)
    assert reports[0].share == 0.0 and reports[n_fit - 1].share == 1.0
    assert {r.learner for r in reports[n_fit:]} == {"ladder", "miser"}
    assert reports[-1] == ("miser", 2, 2, 1.0)


def test_an_error_in_the_callback_ends_the_fit(learners) -> None:
    def cancel(report) -> None:
        if report.share > 0.1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress(cancel):
        BudgetClassifier(budget=2, effort="fast").fit(X, Y)
    assert current_report() is None
