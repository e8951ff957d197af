"""Gates in front of expensive models: Letters by mean bill, and speed.

Letters (Nan 2018, figure 5.5): A-M against N-Z, 12000/4000/4000 rows, unit prices. The expensive
models are an RBF SVM, tuned on the validation set, and a forest of 500 trees. The operating point
is the best on the validation set among those that save as much as published, and it is reported on
the test set.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import RESULTS, report, take_turns
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from thrifty import BoostedFamily, Call, GatedClassifier, GreedyMiserClassifier, LinearFamily
from thrifty.data import load, synthetic_1

FOLDS = 3
# The published saving, and a seed of the split that no hyperparameter was tried on.
PUBLISHED_SAVING = 0.31
FRESH_SEED = 1
PENALTIES = (0.002, 0.001)


def split(X, y, sizes, seed=0):
    """Split rows into parts of the given sizes."""
    order = np.random.default_rng(seed).permutation(len(y))[: sum(sizes)]
    ends = np.cumsum([0, *sizes])
    return [(X[order[a:b]], y[order[a:b]]) for a, b in pairwise(ends)]


def letters():
    """Yield a row of the results table for each expensive model."""
    table = load("letter")
    y = np.asarray(table.y)
    late = (y > np.sort(np.unique(y))[12]).astype(int)
    train, validation, test = split(table.X.to_numpy(float), late, (12000, 4000, 4000), FRESH_SEED)
    svms = [SVC(C=10.0, gamma=gamma) for gamma in (0.05, 0.1)]
    best_svm = max(svms, key=lambda svm: svm.fit(*train).score(*validation))
    forest = RandomForestClassifier(500, n_jobs=1, random_state=0)
    for name, big in (("RBF SVM", best_svm), ("forest of 500 trees", forest)):
        call = Call("big", fn=big, folds=FOLDS)
        model = GatedClassifier(
            call, family=BoostedFamily(200, 0.3), alternations=3, random_state=0
        )
        points = list(
            model.path(*train, validation=validation, shares=(0.1, 0.3), penalties=PENALTIES)
        )
        full = points[0].model.prices.full
        cheap = [point for point in points if point.bill <= (1.0 - PUBLISHED_SAVING) * full]
        best = max(cheap, key=lambda point: point.quality)
        X, y = test
        accuracy, bill = np.mean(best.model.predict(X) == y), best.model.bill(X).mean()
        alone = clone(big).fit(*train).score(X, y)
        print(name, alone, accuracy, bill, best.knob, flush=True)
        yield (
            name, f"{alone:.4f}", f"{full:.2f}", f"{accuracy:.4f}", f"{bill:.2f}",
            f"{100 * (1.0 - bill / full):.0f} %", f"{100 * (alone - accuracy):.2f} %",
        )  # fmt: skip


def speed():
    """Yield the CPU time of a gate of 100 + 100 trees relative to one plain fit of 200 trees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45_000, 50))
    signal = X[:, 0] * np.where(X[:, 1] > 0, 1.5, -0.5) + X[:, 2] + 0.3 * X[:, 3:20].sum(axis=1)
    y = (signal + rng.normal(size=len(X)) > 0).astype(int)
    p = 1.0 / (1.0 + np.exp(-2.0 * signal))
    proba = np.column_stack([1.0 - p, p])
    plain = GreedyMiserClassifier(n_estimators=200).fit(X, y)
    call = Call("big", fn=plain, folds=None)
    rounds = {}

    def gate(distance):
        model = GatedClassifier(call, share=0.3, penalty=0.0005, distance=distance, random_state=0)
        rounds[distance] = len(model.fit(X, y, expensive_proba=proba).history_) // 2

    times = take_turns(
        {
            "plain": lambda: GreedyMiserClassifier(n_estimators=200).fit(X, y),
            "kl": lambda: gate("kl"),
            "symmetric": lambda: gate("symmetric"),
        },
        turns=1,
    )
    for distance in ("kl", "symmetric"):
        ratio = times[distance] / times["plain"]
        yield f"gate, {distance}", rounds[distance] + 1, f"{ratio:.1f}", "<= 12"


def picture():
    """Draw figure 5.2 of Nan 2018: local model and rows sent, before and after the search."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import ListedColormap

    table = synthetic_1()
    X, y = table.X.to_numpy(float), np.asarray(table.y)
    svm = SVC(C=10.0, gamma=1.0).fit(X, y)
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 121).T), axis=-1)
    families = {"ADAPT-LIN": LinearFamily(), "ADAPT-GBRT": BoostedFamily(5, 0.5, 2)}
    panels = {"RBF SVM": (svm, None)}
    for name, family in families.items():
        for share, when in ((0.0, "start"), (0.6, "after the search")):
            model = GatedClassifier(svm, share=share, family=family, random_state=0).fit(X, y)
            title = (
                f"{name}, {when}: {model.sent(X).mean():.0%} sent, accuracy {model.score(X, y):.3f}"
            )
            panels[title] = (model, model)
    some = np.random.default_rng(0).permutation(len(y))[:250]
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), sharex=True, sharey=True)
    axes = axes.ravel()[[0, 1, 2, 4, 5]]
    figure.axes[3].set_axis_off()
    for axis, (title, (model, gate)) in zip(axes, panels.items(), strict=True):
        flat = grid.reshape(-1, 2)
        local = (
            model.predict(flat) if gate is None else model.model_.local.score(flat).argmax(axis=1)
        )
        shape = grid.shape[:2]
        axis.contour(grid[..., 0], grid[..., 1], local.reshape(shape), [0.5], colors="black")
        if gate is not None and gate.sent(X).any():
            sends = gate.sent(flat).reshape(shape).astype(float)
            axis.contourf(grid[..., 0], grid[..., 1], sends, [0.5, 1.5], colors=["wheat"])
        axis.scatter(*X[some].T, c=y[some], s=5, cmap=ListedColormap(["tab:blue", "tab:red"]))
        axis.set_title(title, fontsize=8)
    figure.tight_layout()
    figure.savefig(RESULTS.parent / "_static" / "gates.png", dpi=90)


def main():
    """Run all benchmarks, or those named: letters, speed, picture."""
    chosen = sys.argv[1:] or ["letters", "speed", "picture"]
    if "picture" in chosen:
        picture()
    if "letters" in chosen:
        header = ("expensive model", "its accuracy", "its bill", "gated accuracy", "gated bill",
                  "saved", "lost")  # fmt: skip
        report("gates_letters", header, list(letters()))
    if "speed" in chosen:
        header = ("45,000 x 50, 100 + 100 trees", "rounds until convergence (of 10)",
                  "CPU time / plain fit of 200 trees", "goal")  # fmt: skip
        report("gates_speed", header, list(speed()))


if __name__ == "__main__":
    main()
