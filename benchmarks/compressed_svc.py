"""Test accuracy of CVM, the full SVM and the baselines by share of the support vectors.

The data sets are those of Xu 2014, table 4.1, with its numbers of training and test rows, except
that 10,000 training rows of MNIST are used and that DMOZ is not available. Rows are drawn at
random, for MNIST within its own training and test sets. 20 Newsgroups has other features than in
the thesis: counts of 200 words, weighted by tf-idf. As in the thesis, C and gamma of the full SVM
with RBF kernel are chosen on a fifth of the training rows. Speed is the CPU time of predict_proba
of scikit-learn's SVC, trained on 4,000 rows, divided by that of an SVM with 1 % of its vectors.
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
# Numbers of training and test rows.
ROWS = {
    "pageblocks": (4379, 1094),
    "magic": (15216, 3804),
    "letter": (16000, 4000),
    "mnist": (10000, 10000),
    "newsgroups20": (11269, 7505),
}
# Speed is measured on fewer rows: an SVC with probabilities is trained six times.
TIMED_ROWS = 4000
METHODS = {
    "CVM": CompressedSVC,
    "LARS-SVM": LeastAngleSVC,
    "Reduced-SVM": ReducedSVC,
    "random subset": RandomSubsetSVC,
}


def rows_of(name, seed=0, counts=None):
    """Return training and test rows, scaled in a way that suits the data set."""
    table = load(name)
    X, y = table.X.to_numpy(np.float64), np.asarray(table.y)
    if name == "pageblocks":
        y = (y != np.bincount(y).argmax()).astype(int)
    train, test = draw_rows(table, *(counts or ROWS[name]), seed)
    if name == "mnist":
        X = X / 255.0
    elif name == "newsgroups20":
        X = tf_idf(X, X[train])
    else:
        X = StandardScaler().fit(X[train]).transform(X)
    return X[train], y[train], X[test], y[test]


def draw_rows(table, train, test, seed):
    """Draw training and test rows, within the sets of the source if it has them."""
    order = np.random.default_rng(seed).permutation(len(table.y))
    if table.split is None:
        return order[:train], order[train : train + test]
    part = np.asarray(table.split)[order]
    return order[part == "train"][:train], order[part == "test"][:test]


def tf_idf(counts, seen):
    """Weight log counts by the rarity of the words among the rows seen; normalize the rows."""
    weight = 1.0 + np.log((1.0 + len(seen)) / (1.0 + (seen > 0).sum(axis=0)))
    return normalize(np.log1p(counts) * weight)


def train_full_svm(X, y):
    """Choose C and gamma on a fifth of the rows, then train an SVC on all."""
    cut = len(y) * 4 // 5
    best = (-1.0, {})
    for C in (1.0, 10.0):
        for width in (0.3, 1.0, 3.0):
            settings = {"C": C, "gamma": width / (X.shape[1] * X.var())}
            accuracy = SVC(**settings).fit(X[:cut], y[:cut]).score(X[cut:], y[cut:])
            best = max(best, (accuracy, settings), key=lambda one: one[0])
    return SVC(**best[1]).fit(X, y)


def accuracies(name, label):
    """Yield one row of the table for each method."""
    X, y, X_test, y_test = rows_of(name)
    full = train_full_svm(X, y)
    vectors = len(full.support_)
    sizes = [max(1, round(share * vectors)) for share in SHARES]
    full_accuracy = full.score(X_test, y_test)
    for method, kind in METHODS.items():
        points = kind(full, random_state=0).path(X, y, validation=(X_test, y_test), sizes=sizes)
        accuracy = {point.knob["n_vectors"]: point.quality for point in points}
        figures = [f"{100 * accuracy[size]:.2f}" for size in sizes]
        yield label, vectors, method, *figures, f"{100 * full_accuracy:.2f}"


def speed(name, label):
    """Measure how many times faster predict_proba is with 1 % of the vectors."""
    X, y, X_test = (rows[:TIMED_ROWS] for rows in rows_of(name)[:3])
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
    """Measure accuracy, then speed, on all data sets or those named as arguments."""
    chosen = [name for name in SETS if name in sys.argv[1:] or len(sys.argv) < 2]
    rows = []
    for name in chosen:
        for row in accuracies(name, SETS[name]):
            print(*row, flush=True)
            rows.append(row)
    shares = [f"accuracy in % at {share:.0%}" for share in SHARES]
    report("compressed_svc", ("data set", "support vectors", "method", *shares, "full SVM"), rows)
    header = ("predict_proba", "support vectors", "SVC's CPU time / ours at 1 %", "limit")
    report("compressed_svc_speed", header, [speed(name, SETS[name]) for name in chosen])


if __name__ == "__main__":
    main()
