"""Train the model that `thrifty serve --demo` serves, and write it to the package.

    .venv/bin/python tools/demo_model.py

A small forest, pruned for its prices, that stops asking as soon as its answer is certain: patients
take different paths, from four questions to a scan.
"""

from __future__ import annotations

from pathlib import Path

from thrifty import Predictor, PrunedForestClassifier, short_circuit
from thrifty.data import heart

FILE = Path(__file__).resolve().parents[1] / "src" / "thrifty" / "data" / "files" / "heart.thrifty"


def train() -> Predictor:
    """Return the model."""
    table = heart()
    forest = PrunedForestClassifier(
        prices=table.prices, n_estimators=20, penalty=0.00065, random_state=0
    )
    return short_circuit(forest.fit(table.X, table.y).predictor_)


if __name__ == "__main__":
    train().save(FILE)
    print(f"{FILE}: {FILE.stat().st_size} bytes")
