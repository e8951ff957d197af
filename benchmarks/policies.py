"""Tasks where the next feature depends on the row: branches and policies of BudgetClassifier.

Accuracies in % on 4000 test rows, means over seeds, at budgets of k features of unit price: for the
mean bill, with the choice made out of fold, or as a cap on every bill. Limits are what the best
neural policy or prototype had on other draws of the same tasks; the context task is our own. CPU
time is the median fit divided by the median of plain fits, scikit-learn's HistGradientBoosting with
early stopping; at most 30 of them are allowed.

    python benchmarks/policies.py [TASK ...]
"""

from __future__ import annotations

import argparse
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report
from sklearn.ensemble import HistGradientBoostingClassifier
from targets import previous_rows

from thrifty import BudgetClassifier
from thrifty.data import context_blocks, cube, switched_logits

TASKS = {
    "CUBE": (cube, 5000, {3: 61, 5: 79, 7: 82}, {3: 60, 5: 74}),
    "Syn1": (lambda n, seed: switched_logits("syn1", n, seed), 10_000, {4: 80}, {}),
    "Syn3": (lambda n, seed: switched_logits("syn3", n, seed), 10_000, {4: 81}, {}),
    "context": (context_blocks, 6000, {3: 60, 7: 90}, {}),
}
SEEDS = 5
# How many rounds a plain fit takes depends on the rows that stop it early: several are fitted.
PLAIN_FITS = 3
MAX_PLAIN_FITS = 30
TEST_ROWS = 4000
# Test rows are drawn with seeds that no training rows have.
TEST_SEED = 10_000
HEADER = ("task", "budget", "features", "mean bill", "CPU / plain fit", "error", "accuracy, %",
          "limit")  # fmt: skip


def run(make, n, budgets, caps, seed):
    """Return accuracies and mean bills at budgets and caps, and CPU seconds of ours and plain."""
    train, test = make(n, seed), make(TEST_ROWS, TEST_SEED + seed)
    start = time.process_time()
    model = BudgetClassifier(confidence=None, random_state=seed).fit(train.X, train.y)
    cpu = time.process_time() - start
    plain = []
    for plain_seed in range(PLAIN_FITS):
        start = time.process_time()
        HistGradientBoostingClassifier(
            max_iter=500, early_stopping=True, n_iter_no_change=20, random_state=plain_seed
        ).fit(train.X, train.y)
        plain.append(time.process_time() - start)
    models = [model.at_budget(budget) for budget in budgets]
    models += [
        BudgetClassifier(cap=cap, confidence=None, random_state=seed).fit(train.X, train.y)
        for cap in caps
    ]
    figures = [(100 * m.score(test.X, test.y), m.bill(test.X)) for m in models]
    for (_, bills), cap in zip(figures[len(budgets) :], caps, strict=True):
        assert bills.max() <= cap
    return [(accuracy, bills.mean()) for accuracy, bills in figures], cpu, plain


def main():
    """Run the tasks named as arguments, or all; the table keeps its rows of the others."""
    parser = argparse.ArgumentParser(description="Branches and policies.")
    parser.add_argument("tasks", nargs="*", choices=[*TASKS, []])
    rows, slow = previous_rows("policies", HEADER, key=3), []
    for name in parser.parse_args().tasks or TASKS:
        make, n, budgets, caps = TASKS[name]
        runs = [run(make, n, budgets, caps, seed) for seed in range(SEEDS)]
        figures = np.array([found[0] for found in runs])
        cpu = np.median([found[1] for found in runs]) / np.median([found[2] for found in runs])
        if cpu > MAX_PLAIN_FITS:
            slow.append(f"{name}: {cpu:.1f} plain fits, limit {MAX_PLAIN_FITS}")
        for (kind, k, least), (accuracy, bill), spread in zip(
            goals_of(name), figures.mean(axis=0), figures[:, :, 0].std(axis=0, ddof=1), strict=True
        ):
            error = spread / np.sqrt(SEEDS)
            rows[name, kind, str(k)] = (name, kind, k, f"{bill:.2f}", f"{cpu:.0f}", f"{error:.1f}",
                                        f"{accuracy:.1f}", f">= {least}")  # fmt: skip
    order = [(name, kind, str(k)) for name in TASKS for kind, k, _ in goals_of(name)]
    report("policies", HEADER, [rows[each] for each in order if each in rows])
    return "\n".join(slow) or None


def goals_of(name):
    """Return the kind of budget, its number of features, and the least accuracy, line by line."""
    _, _, budgets, caps = TASKS[name]
    return [(kind, k, least) for kind, goals in (("mean", budgets), ("cap", caps))
            for k, least in goals.items()]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
