"""The rows that a policy is trained on."""

from __future__ import annotations

import numpy as np


def test_the_loss_of_repeated_rows_has_their_weights(policy_table):
    table = policy_table(n=30, weight=np.arange(1.0, 31.0))
    assert table.n_folds == 3
    loss = table.loss(np.array([0, 0, 4]))
    assert loss.weight.tolist() == [1.0, 1.0, 5.0]
    assert policy_table(n=30).weights(np.array([1])) is None
