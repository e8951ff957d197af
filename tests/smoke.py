"""Fit, predict, save, load and walk with an installed Thrifty: run as a script, without pytest."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from thrifty import BudgetForestClassifier, GreedyMiserClassifier, Prices, load

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
y = (X[:, 0] + X[:, 1] > 0).astype(int)
prices = Prices([1.0, 2.0, 3.0, 4.0])
for model in (
    GreedyMiserClassifier(prices=prices, n_estimators=20, random_state=0),
    BudgetForestClassifier(prices=prices, n_estimators=5, random_state=0),
):
    model.fit(X, y)
    predicted = model.predict(X)
    assert np.mean(predicted == y) > 0.9
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.thrifty")
        loaded = load(Path(folder) / "model.thrifty")
    np.testing.assert_array_equal(loaded.predict(X), predicted)
    for row in range(5):
        walk = loaded.walk()
        while walk.asks:
            walk.tell(
                {
                    name: X[row, int(name)] if isinstance(name, int) else X[row, int(name[1:])]
                    for name in walk.asks
                }
            )
        assert walk.answer == predicted[row]
print("fit, predict, save, load and walk: passed")
