"""Time of probabilities, used features and bills, relative to scikit-learn's predict_proba."""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report, take_turns
from _sklearn_forest import freeze
from sklearn.ensemble import RandomForestClassifier

from thrifty import Prices

ROWS, FEATURES, TREES = 65_000, 50, 40


def main():
    """Score the same 40 deep trees on float32 and float64 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45_000, FEATURES))
    y = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3:10].sum(axis=1) + 2 * rng.normal(size=len(X)) > 0
    theirs = RandomForestClassifier(TREES, n_jobs=1, random_state=0).fit(X, y)
    ours = freeze(theirs, FEATURES)
    prices = Prices(rng.random(FEATURES).tolist()).bind(FEATURES)
    rows = []
    for dtype in (np.float32, np.float64):
        table = rng.normal(size=(ROWS, FEATURES)).astype(np.float32).astype(dtype)
        assert np.array_equal(ours.score(table), theirs.predict_proba(table))

        def bills(table=table):
            scores, used = ours.score_and_used(table)
            return scores, prices.bill(used)

        times = take_turns(
            {"ours": bills, "theirs": lambda table=table: theirs.predict_proba(table)}, turns=9
        )
        label = f"{ROWS} rows, {TREES} deep trees, {np.dtype(dtype).name}"
        rows.append((label, f"{times['ours'] / times['theirs']:.2f}", "<= 0.50"))
    report("scoring", ("scores + used + bills / predict_proba", "ratio", "limit"), rows)


if __name__ == "__main__":
    main()
