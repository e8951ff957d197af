"""Law 8 catches an estimator whose result depends on the order of the columns."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier
from thrifty.checks import LawError, law_columns


def test_an_estimator_that_prefers_the_first_column_is_caught(bend, frame) -> None:
    def fit(self, X, y):
        weight = np.where(X.iloc[:, 0].isna(), 1.0, 2.0 + np.arange(len(X)) % 3)
        return GreedyMiserClassifier.fit(self, X, y, sample_weight=weight)

    with pytest.raises(LawError, match="with permuted columns"):
        law_columns(bend(fit=fit), frame)


def test_used_in_the_order_of_the_model_is_caught(bend, frame) -> None:
    def used(self, X):
        return self.model_.used(self.schema_.encode(X))

    with pytest.raises(LawError, match="used with permuted columns of row"):
        law_columns(bend(used=used), frame)


def test_an_honest_estimator_passes(honest, frame) -> None:
    law_columns(honest, frame)
