from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier
from thrifty.checks import LawError, law_unused
from thrifty.model import Forest


@pytest.mark.parametrize("feature", [0, 1, 2])
def test_used_that_leaves_out_a_feature_is_caught(bend_model, numbers, frame, feature) -> None:
    def used(self, X):
        used = Forest.used(self, X)
        used[:, feature] = False
        return used

    for case in (numbers, frame):
        with pytest.raises(LawError, match=r"with (filler|values of other rows).* of row \d+"):
            law_unused(bend_model(used=used), case)


def test_scores_that_peek_at_other_columns_are_caught(bend_model, numbers) -> None:
    def score(self, X):
        scores = Forest.score(self, X)
        return np.where(np.isnan(X[:, 6:7]), scores[:, ::-1], scores)

    with pytest.raises(LawError, match="predictions with filler 0 .* of row|scores with filler 0"):
        law_unused(bend_model(score=score), numbers)


def test_a_bill_that_follows_what_is_not_used_is_caught(bend, numbers) -> None:
    def bill(self, X):
        return GreedyMiserClassifier.bill(self, X) + (X[:, 6] > 1e9)

    with pytest.raises(LawError, match="bill with filler 1"):
        law_unused(bend(bill=bill), numbers)


@pytest.mark.filterwarnings("ignore:categories never seen")
def test_most_rows_of_a_case_leave_values_unused(honest, numbers, frame) -> None:
    for case in (numbers, frame):
        idle = ~case.fit(honest).used(case.test_table)
        assert idle.any(axis=1).mean() > 0.5
