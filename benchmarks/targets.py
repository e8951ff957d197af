"""The budget estimators compared with existing tools and plain models, with one protocol.

Classification: test accuracies within 5, 10, 25, 50 and 100 % of the full price, and the area:
accuracy as a step function of log(budget) from 2 % to 100 %, divided by log 50. Splits are
60/20/20, stratified and seeded (data sets with a test set of their own keep it, the rest is split
75/25; covertype is split 36603/15688/58101). BudgetClassifier gets the first two parts as one
table; it chooses the point for each budget out of fold.

"Goal" is the best area known for these sets by the same protocol on other splits: of LightGBM's two
cost penalties, CatBoost's first-use penalty, plain boosting on the cheapest features and on the
best gain per price, small random forests and pystreed, pooled; of two prototypes; and of the last
release. Only means are known, so "level" means within one standard error of ours. "Plain" is the
best of four plain models on all features in the same run, on the same test rows: a random forest
and extra-trees of 300 trees, LightGBM with early stopping, and logistic regression, fitted on the
first part; the column after it is our lead at the full price, with its paired standard error: over
splits or, where all have the same test set, over its rows. The calibration errors are those of the
model for 100 % and of that plain model. CPU time is a multiple of one plain fit with early stopping
of scikit-learn's HistGradientBoosting.

Regression and ranking: R2 on random 80/20 splits at unit prices, and NDCG@5 on random 80/20 splits
of the queries, where queries without a relevant row count 0.

    python benchmarks/targets.py [SET ...]
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
from _harness import RESULTS, report
from sklearn.model_selection import train_test_split

from thrifty import BudgetClassifier, BudgetRanker, BudgetRegressor, Prices
from thrifty.data import load
from thrifty.frontier.curve import area
from thrifty.frontier.evaluate import score_together

SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
# The best area known for each set, in points, and the largest CPU time, in plain fits.
GOALS = {
    "heart": (81.2, 30),
    "thyroid": (95.1, 30),
    "pima": (70.2, 30),
    "hepatitis": (85.8, 30),
    "letter": (75.4, 30),
    "satellite": (78.7, 30),
    "magic": (76.1, 30),
    "pageblocks": (94.1, 30),
    "mfeat": (91.5, 30),
    "dna": (94.3, 30),
    "ionosphere": (89.0, 30),
    "wbcd": (91.0, 30),
    "soybean": (69.6, 30),
    "covertype": (81.6, 10),
}
VALUES = {"boston_housing": "R2", "diabetes": "R2", "friedman1": "R2", "mq2008": "NDCG@5"}
HEADER = (
    "data set", *(f"{100 * share:g} %" for share in SHARES), "area", "error", "goal", "verdict",
    "plain", "lead", "error of lead", "ECE", "plain ECE", "CPU / plain fit", "limit",
)  # fmt: skip
VALUES_HEADER = (
    "data set", "measure", *(f"{100 * share:g} %" for share in SHARES), "error at 100 %", "plain",
)  # fmt: skip
# The goals were measured on these splits. The defaults were chosen on others.
SEEDS = {"covertype": 2}
COVERTYPE = (36603, 15688, 58101)
CALIBRATION_BINS = 15


def table(name):
    """Return a data set and its labels, in two classes for letter and pageblocks."""
    found = load(name)
    y = found.y
    if name == "letter":
        y = (y > 12).astype(int)
    elif name == "pageblocks":
        y = (y > 0).astype(int)
    return found, y


def split(found, y, seed):
    """Return the indices of the training, validation and test rows."""
    rows = np.arange(len(y))
    if found.name == "covertype":
        rows = np.random.default_rng(seed).permutation(len(y))[: sum(COVERTYPE)]
        return np.split(rows, np.cumsum(COVERTYPE)[:2])
    if found.split is not None:
        rest, test = rows[found.split == "train"], rows[found.split == "test"]
    else:
        rest, test = train_test_split(rows, test_size=0.2, stratify=y, random_state=seed)
    # A class with few rows cannot be in every part: its rows are drawn with the largest class.
    counts = np.bincount(y[rest])
    strata = np.where(counts[y[rest]] < 5, counts.argmax(), y[rest])
    train, validation = train_test_split(rest, test_size=0.25, stratify=strata, random_state=seed)
    return train, validation, test


def known_classes(y, train, validation):
    """Return the classes, the codes of the training rows, and the validation rows with theirs."""
    # A class without training rows cannot stop boosting early.
    validation = validation[np.isin(y[validation], y[train])]
    classes, codes = np.unique(y[train], return_inverse=True)
    return classes, codes, validation, np.searchsorted(classes, y[validation])


def seconds_of_plain_fit(X, y, rows):
    """Return the CPU seconds of one plain fit, HistGradientBoosting with early stopping."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    train = rows[0]
    _, codes, validation, valid = known_classes(y, *rows[:2])
    start = time.process_time()
    HistGradientBoostingClassifier(max_iter=500, early_stopping=True, n_iter_no_change=20).fit(
        X[train], codes, X_val=X[validation], y_val=valid
    )
    return time.process_time() - start


def plain_models(X, y, rows, seed):
    """Return test probabilities of the plain models, with a column for each class, and these.

    They are the classes of the training rows.
    """
    import lightgbm
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    train, _, test = rows
    classes, codes, validation, valid = known_classes(y, *rows[:2])
    filled = np.where(np.isnan(X), -1.0, X)
    every = {"max_features": None} if len(train) > 20_000 else {}
    models = {
        "forest": RandomForestClassifier(300, random_state=seed).fit(filled[train], codes),
        "extra-trees": ExtraTreesClassifier(
            200 if every else 300, random_state=seed, **every
        ).fit(filled[train], codes),
        "boosting": lightgbm.LGBMClassifier(
            n_estimators=500, verbose=-1, n_jobs=1, random_state=seed
        ).fit(
            filled[train], codes, eval_X=filled[validation], eval_y=valid,
            callbacks=[lightgbm.early_stopping(20, verbose=False)],
        ),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)).fit(
            filled[train], codes
        ),
    }  # fmt: skip
    return {name: m.predict_proba(filled[test]) for name, m in models.items()}, classes


def codes_of(X):
    """Return a table as numbers; text becomes codes."""
    return X.apply(lambda column: column.astype("category").cat.codes
                   if column.dtype == object else column).to_numpy(dtype=float)  # fmt: skip


def calibration_error(confidence, right):
    """Return the expected calibration error of the predicted class."""
    place = np.minimum((confidence * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    gaps = np.bincount(place, right - confidence, CALIBRATION_BINS)
    return np.abs(gaps).sum() / len(right)


def run(found, y, rows, seed):
    """Return what one split gives, ours and the plain models."""
    pool, test = np.concatenate(rows[:2]), rows[2]
    start = time.process_time()
    model = BudgetClassifier(found.prices, confidence=None, random_state=seed)
    model.fit(found.X.iloc[pool], y[pool])
    cpu = time.process_time() - start
    within, area_found, right, confidence = evaluate(model, found.X.iloc[test], y[test])
    lead_rows = {}
    X = codes_of(found.X)
    seconds = seconds_of_plain_fit(X, y, rows)
    plain, classes = plain_models(X, y, rows, seed)
    hits = {each: classes[p.argmax(axis=1)] == y[test] for each, p in plain.items()}
    answers = {each: (p.max(axis=1), hits[each]) for each, p in plain.items()}
    if found.split is not None:
        lead_rows = {each: 100.0 * right - 100.0 * hit for each, hit in hits.items()}
    return {
        "within": within, "area": area_found, "right": 100 * right.mean(),
        "answers": {"ours": (confidence, right), **answers},
        "lead by row": lead_rows,
        "plain": {each: hit.mean() * 100 for each, hit in hits.items()},
        "cpu": cpu / seconds,
    }  # fmt: skip


def evaluate(model, X, y):
    """Return test accuracies at the shares and the area; for 100 %, hits and confidence by row."""
    curve = model.frontier_
    bills = sorted({0.0, *(point.bill for point in curve.points if point.bill <= curve.full)})
    along = [curve.choose(bill) for bill in bills]
    within = [curve.choose(share * curve.full) for share in SHARES]
    points = list({id(point): point for point in (*along, *within)}.values())
    encoded = points[0].model.schema.encode(X)
    known, hits, confidence = {}, np.empty(0), np.empty(0)
    # Ladders share rungs, which are evaluated once for all of them.
    for k, scores, _ in score_together([point.model.model for point in points], encoded):
        right = points[k].model.classes[scores.argmax(axis=1)] == y
        known[id(points[k])] = 100 * right.mean()
        if points[k] is within[-1]:
            hits, confidence = right, scores.max(axis=1)
    accuracies, steps = ([known[id(point)] for point in some] for some in (within, along))
    return accuracies, area(bills, steps, curve.full), hits, confidence


def summarize(name, runs):
    """Return one row of the table."""
    goal, limit = GOALS[name]
    within = np.mean([found["within"] for found in runs], axis=0)
    areas = np.array([found["area"] for found in runs])
    error = _error(areas)
    gap = areas.mean() - goal
    verdict = "level" if abs(gap) <= error else ("ahead" if gap > 0 else "behind")
    plain = {each: [found["plain"][each] for found in runs] for each in runs[0]["plain"]}
    best = max(plain, key=lambda each: np.mean(plain[each]))
    lead = np.array([found["right"] for found in runs]) - np.array(plain[best])
    by_row = [found["lead by row"][best] for found in runs if found["lead by row"]]
    lead_error = _error(np.mean(by_row, axis=0)) if by_row else _error(lead)
    return [
        name, *(f"{value:.1f}" for value in within), f"{areas.mean():.1f}", f"{error:.1f}", goal,
        verdict, f"{np.mean(plain[best]):.1f} {best}", f"{lead.mean():+.1f}", f"{lead_error:.1f}",
        *(f"{np.mean([calibration_error(*found['answers'][each]) for found in runs]):.3f}"
          for each in ("ours", best)),
        f"{np.median([found['cpu'] for found in runs]):.1f}", f"<= {limit}",
    ]  # fmt: skip


def _error(values):
    return values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")


# --- regression and ranking ---------------------------------------------------


def values_of(name, seed):
    """Return training and test parts (X, y, queries), and the score of the best plain model."""
    from sklearn.datasets import load_diabetes, make_friedman1
    from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "mq2008":
        found = load(name)
        order = np.random.default_rng(seed).permutation(np.unique(found.qid))
        test = np.isin(found.qid, order[: len(order) // 5])
        return [(found.X[part], found.y[part], found.qid[part]) for part in (~test, test)], None
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    elif name == "friedman1":
        X, y = make_friedman1(4000, noise=1.0, random_state=0)
    else:
        found = load(name)
        X, y = found.X.to_numpy(dtype=float), np.asarray(found.y, dtype=float)
    A, B, a, b = train_test_split(X, y, test_size=0.2, random_state=seed)
    plain = (
        ExtraTreesRegressor(300, random_state=seed), HistGradientBoostingRegressor(),
        make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 3, 20))),
    )  # fmt: skip
    return [(A, a, None), (B, b, None)], [each.fit(A, a).score(B, b) for each in plain]


def run_values(name, seed):
    """Return test scores at the shares, and those of the plain models."""
    (X, y, qid), (Xt, yt, qt) = (parts := values_of(name, seed))[0]
    if qid is not None:
        from lightgbm import LGBMRanker

        model = BudgetRanker(Prices(), confidence=None, random_state=seed).fit(X, y, qid=qid)
        order = np.argsort(qid, kind="stable")
        counts = np.unique(qid, return_counts=True)[1]
        plain = LGBMRanker(verbose=-1, n_jobs=1).fit(X.iloc[order], y[order], group=counts)
        relevant = np.mean([np.any(yt[qt == q] > 0) for q in np.unique(qt)])
        ours = [model.at_budget(share * X.shape[1]).score(Xt, yt, qt) for share in SHARES]
        from thrifty.learn.ndcg import ndcg

        theirs = ndcg(yt, plain.predict(Xt), np.unique(qt, return_inverse=True)[1])
        return 100 * relevant * np.array(ours), 100 * relevant * np.array([theirs])
    model = BudgetRegressor(Prices(), confidence=None, random_state=seed).fit(X, y)
    ours = [model.at_budget(share * X.shape[1]).score(Xt, yt) for share in SHARES]
    return 100 * np.array(ours), 100 * np.array(parts[1])


def summarize_values(name, runs):
    """Return one row of the table of regression and ranking."""
    ours = np.array([found[0] for found in runs])
    plain = np.mean([found[1] for found in runs], axis=0).max()
    return [name, VALUES[name], *(f"{value:.1f}" for value in ours.mean(axis=0)),
            f"{_error(ours[:, -1]):.1f}", f"{plain:.1f}"]  # fmt: skip


def main():
    """Run the data sets named as arguments, or all; the tables keep their rows of the others."""
    parser = argparse.ArgumentParser(description="Budget estimators against existing tools.")
    parser.add_argument("sets", nargs="*", choices=[*GOALS, *VALUES, []])
    chosen = parser.parse_args().sets or [*GOALS, *VALUES]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=["a", "b", "c"])
    BudgetClassifier().fit(X, np.asarray(X["a"] > 0))  # imports, before time is measured
    failures = []
    for name in chosen:
        seeds = range(SEEDS.get(name, 5))
        is_class = name in GOALS
        file, header, known = (
            ("targets", HEADER, GOALS) if is_class else ("targets_values", VALUES_HEADER, VALUES)
        )
        if is_class:
            found, y = table(name)
            runs = [run(found, y, split(found, y, seed), seed) for seed in seeds]
        else:
            runs = [run_values(name, seed) for seed in seeds]
        row = (summarize if is_class else summarize_values)(name, runs)
        rows = {**previous_rows(file, header), name: row}
        try:
            report(file, header, [rows[each] for each in known if each in rows])
        except SystemExit as error:  # the other sets are run all the same
            failures.append(error)
    return "\n".join(sorted({str(error) for error in failures})) or None


def previous_rows(name, header, key=1):
    """Return the rows of the table on file, by data set, or by the first `key` columns."""
    file = RESULTS / f"{name}.csv"
    if not file.exists():
        return {}
    with file.open(newline="") as lines:
        found, *rows = csv.reader(lines)
    if tuple(found) != header:
        return {}
    return {row[0] if key == 1 else tuple(row[:key]): row for row in rows}


if __name__ == "__main__":
    sys.exit(main())
