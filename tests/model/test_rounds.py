"""Rounds by positions in a larger table; `tests/structure` compares all models with walks."""

from __future__ import annotations

import numpy as np

from thrifty.model.rounds import Round


def test_rounds_of_some_rows_are_found_in_the_whole_table():
    wanted = np.array([True, False])
    found = Round(np.array([0, 2]), wanted).of(np.array([5, 6, 9]))
    assert found.rows.tolist() == [5, 9]
    assert found.wanted is wanted
