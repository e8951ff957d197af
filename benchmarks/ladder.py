"""LadderClassifier by itself, under the rule of targets.py, and against the rungs it is made of.

Test accuracy at shares of the full price and the area, in points; for Letters and Satellite also
at the budgets that the ladder must meet. "Rungs alone" is the same choice among the rungs by
themselves. CPU time of the whole path is a multiple of one plain LightGBM fit on the same rows.

    python benchmarks/ladder.py [SET ...] [--seeds N]
"""

from __future__ import annotations

import argparse
import os
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report
from targets import PEERS, SEEDS, SHARES, plain_seconds, split, table

from thrifty import LadderClassifier

# Mean bill and the accuracy, in points, that must be reached there.
MUST = {"letter": ((4.0, 88.0), (8.0, 95.5)), "satellite": ((7.2, 88.5),)}
GRID = np.geomspace(0.02, 1.0, 400)


class Choice:
    """Points chosen on validation, measured on test rows."""

    def __init__(self, points, test):
        self.points, self.test, self.known = points, test, {}

    def at(self, budget):
        """Test accuracy in points of the best point within a budget; the cheaper of equals."""
        within = [point for point in self.points if point.bill <= budget * (1 + 1e-9)]
        best = max(within, key=lambda point: (point.quality, -point.bill))
        if id(best) not in self.known:
            X, y = self.test
            self.known[id(best)] = 100 * float(np.mean(best.model.predict(X) == y))
        return self.known[id(best)]

    def figures(self, full):
        """Accuracy at each share, and the area."""
        area = np.mean([self.at(share * full) for share in GRID])
        return [*(self.at(share * full) for share in SHARES), area]


def run(name, seed):
    """Figures of the ladder and of its rungs, at the budgets of MUST, and the CPU ratio."""
    found, y = table(name)
    train, validation, test = [(found.X.iloc[rows], y[rows]) for rows in split(found, y, seed)]
    start = time.process_time()
    points = list(
        LadderClassifier(found.prices, random_state=seed).path(*train, validation=validation)
    )
    cpu = time.process_time() - start
    full = found.prices.bind(list(found.X.columns)).full
    ladder = Choice(points, test)
    rungs = Choice([point for point in points if "rung" in point.knob], test)
    must = [ladder.at(budget) for budget, _ in MUST.get(name, ())]
    return ladder.figures(full), rungs.figures(full), must, cpu / plain_seconds(train, validation)


def main():
    """Run the sets asked for, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(PEERS))
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    rows = []
    for name in asked.sets:
        results = [run(name, seed) for seed in range(min(asked.seeds, SEEDS.get(name, 5)))]
        ladder, rungs, must, cpu = (np.mean(part, axis=0) for part in zip(*results, strict=True))
        met = [
            f"{reached:.1f} at {budget:g} (must {least:g})"
            for reached, (budget, least) in zip(must, MUST.get(name, ()), strict=True)
        ]
        rows.append((name, len(results), " / ".join(f"{x:.1f}" for x in ladder),
                     " / ".join(f"{x:.1f}" for x in rungs), *PEERS[name], f"{cpu:.1f}",
                     ", ".join(met)))  # fmt: skip
        print(*rows[-1], sep="  ", flush=True)
    header = ("set", "seeds", "ladder", "rungs alone", "peers' area", "prototype's area",
              "CPU / plain fit", "must")  # fmt: skip
    if set(asked.sets) == set(PEERS):
        report("ladder", header, rows)


if __name__ == "__main__":
    main()
