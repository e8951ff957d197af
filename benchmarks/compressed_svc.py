"""CVM beside the full machine and its rivals: test accuracy by share of the support vectors.

Sets of table 4.1 of Z. Xu's thesis, in its numbers of training and test rows, but for MNIST, of
which 10,000 training rows are taken. Rows are drawn at random, MNIST's from its own two parts.
20 Newsgroups are other features than the thesis has: counts of 200 words, weighted by tf-idf. C and
gamma of the full RBF machine are chosen on a fifth of the training rows, as there. DMOZ is not
available. Speed is CPU time of predict_proba of scikit-learn's SVC over that of 1 % of its vectors,
of 4000 training rows.
"""

from __future__ import annotations

import os
import sys
import warnings

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report, take_turns
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import SVC

from thrifty import CompressedSVC
from thrifty.data import load
from thrifty.learn.baselines import LeastAngleSVC, RandomSubsetSVC, ReducedSVC

SHARES = (0.01, 0.03, 0.1)
SETS = {
    "pageblocks": "Pageblocks, 2 classes",
    "magic": "Magic, 2 classes",
    "letter": "Letters, 26 classes",
    "mnist": "MNIST, 10 classes",
    "newsgroups20": "20 Newsgroups, 20 classes",
}
# Training and test rows.
ROWS = {
    "pageblocks": (4379, 1094),
    "magic": (15216, 3804),
    "letter": (16000, 4000),
    "mnist": (10000, 10000),
    "newsgroups20": (11269, 7505),
}
# Of these, as many for the speed: an SVC with probabilities is trained six times.
TIMED = 4000
METHODS = {
    "CVM": CompressedSVC,
    "LARS-SVM": LeastAngleSVC,
    "Reduced-SVM": ReducedSVC,
    "random subset": RandomSubsetSVC,
}


def rows_of(name):
    """Training and test rows, prepared as the set's values ask for."""
    table = load(name)
    X, y = table.X.to_numpy(np.float64), np.asarray(table.y)
    if name == "pageblocks":
        y = (y != np.bincount(y).argmax()).astype(int)
    train, test = drawn(table, *ROWS[name])
    if name == "mnist":
        X = X / 255.0
    elif name == "newsgroups20":
        X = tf_idf(X, X[train])
    else:
        X = StandardScaler().fit(X[train]).transform(X)
    return X[train], y[train], X[test], y[test]


def drawn(table, train, test):
    """Numbers of the rows: of the parts the set comes in, else of all."""
    order = np.random.default_rng(0).permutation(len(table.y))
    if table.split is None:
        return order[:train], order[train : train + test]
    part = np.asarray(table.split)[order]
    return order[part == "train"][:train], order[part == "test"][:test]


def tf_idf(counts, seen):
    """Logarithms of counts, rare words of the rows seen weighing more, each row of length one."""
    weight = 1.0 + np.log((1.0 + len(seen)) / (1.0 + (seen > 0).sum(axis=0)))
    return normalize(np.log1p(counts) * weight)


def full_machine(X, y):
    """The SVC with the best C and gamma on a fifth of the rows, trained on all."""
    cut = len(y) * 4 // 5
    best = (-1.0, {})
    for C in (1.0, 10.0):
        for width in (0.3, 1.0, 3.0):
            settings = {"C": C, "gamma": width / (X.shape[1] * X.var())}
            reached = SVC(**settings).fit(X[:cut], y[:cut]).score(X[cut:], y[cut:])
            best = max(best, (reached, settings), key=lambda one: one[0])
    return SVC(**best[1]).fit(X, y)


def accuracies(name, label):
    """One row of the table for each method."""
    X, y, X_test, y_test = rows_of(name)
    full = full_machine(X, y)
    vectors = len(full.support_)
    sizes = [max(1, round(share * vectors)) for share in SHARES]
    top = full.score(X_test, y_test)
    for method, kind in METHODS.items():
        points = kind(full, random_state=0).path(X, y, validation=(X_test, y_test), sizes=sizes)
        reached = {point.knob["n_vectors"]: point.quality for point in points}
        figures = [f"{100 * reached[size]:.2f}" for size in sizes]
        yield label, vectors, method, *figures, f"{100 * top:.2f}"


def speed(name, label):
    """How many times less CPU time predict_proba takes with 1 % of the vectors."""
    X, y, X_test = (rows[:TIMED] for rows in rows_of(name)[:3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        full = SVC(C=10.0, probability=True, random_state=0).fit(X, y)
        small = CompressedSVC(full, n_vectors=SHARES[0], max_moves=5).fit(X, y)
        small.predict_proba(X_test)
        times = take_turns(
            {
                "theirs": lambda: full.predict_proba(X_test),
                "ours": lambda: small.predict_proba(X_test),
            },
            turns=3,
        )
    return label, len(full.support_), f"{times['theirs'] / times['ours']:.0f}", ">= 20"


def main():
    """Accuracies of some sets or all, then speed."""
    chosen = [name for name in SETS if name in sys.argv[1:] or len(sys.argv) < 2]
    rows = []
    for name in chosen:
        for row in accuracies(name, SETS[name]):
            print(*row, flush=True)
            rows.append(row)
    shares = [f"accuracy in % at {share:.0%}" for share in SHARES]
    report("compressed_svc", ("set", "support vectors", "method", *shares, "full machine"), rows)
    header = ("predict_proba", "support vectors", "SVC's CPU time / ours at 1 %", "limit")
    report("compressed_svc_speed", header, [speed(name, SETS[name]) for name in chosen])


if __name__ == "__main__":
    main()
