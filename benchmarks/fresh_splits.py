"""BudgetClassifier on splits that nothing was chosen on, beside those of targets.py.

The splits of targets.py have been looked at many times. Here all rows of a data set, test sets of
its own included, are split anew, 60/20/20 (covertype 36603/15688/58101), by seeds that nothing was
designed on: 100 to 109 for data sets below 1,000 rows, 100 and 101 for covertype, 100 to 104 for
the others. Ours, the plain models and the peers get the same splits in the same run, with the
protocol of targets.py.

Peers are LightGBM with its coupled and its lazy cost penalty, LightGBM on the cheapest features,
and LightGBM on those with the best gain per price; the point for each budget is the one with the
best validation accuracy of all of them. Every row pays for the features that it reads, and once for
their groups. They are left out for covertype and mfeat, where they would take hours.

Leads are means of paired differences, with their standard errors over the splits. The columns
"targets" repeat the leads of targets.py: over its goals, which were measured on its splits, and
over the best plain model. Calibration errors are taken on the test rows of all splits together: 15
bins of the 31 rows of one split are mostly noise.

The peers take most of the time, and do not depend on Thrifty: with --keep-peers they are not run
again, and their columns stay as they are on file, provided that our area is still the same.

    python benchmarks/fresh_splits.py [--keep-peers] [SET ...]
"""

from __future__ import annotations

import argparse
import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"

import lightgbm
import numpy as np
from _harness import report
from sklearn.model_selection import train_test_split
from targets import (
    GOALS,
    calibration_error,
    codes_of,
    known_classes,
    previous_rows,
    run,
    split,
    table,
)
from targets import HEADER as TARGETS_HEADER

from thrifty import adopt
from thrifty.frontier.curve import area

FIRST_SEED = 100
WITHOUT_PEERS = ("covertype", "mfeat")
# Penalties, times the mean price, and numbers of features: both in geometric progression.
PENALTIES = np.geomspace(0.1, 3000, 8)
N_SUBSETS = 6
PEERS_COLUMNS = ("peers' area", "lead", "error")
HEADER = (
    "data set", "splits", "area", "peers' area", "lead", "error", "targets: lead", "at 100 %",
    "plain", "lead at 100 %", "error at 100 %", "targets: lead at 100 %", "ECE", "plain ECE",
    "difference", "limit",
)  # fmt: skip


def seeds_of(name, n):
    """Return the seeds of a data set of n rows."""
    count = 10 if n < 1000 else 2 if name == "covertype" else 5
    return range(FIRST_SEED, FIRST_SEED + count)


def split_anew(found, y, seed):
    """Return the indices of the training, validation and test rows, of all rows."""
    if found.name == "covertype":
        return split(found, y, seed)
    counts = np.bincount(y)
    # A class with few rows cannot be in every part: its rows are drawn with the largest class.
    strata = np.where(counts[y] < 5, counts.argmax(), y)
    rows = np.arange(len(y))
    rest, test = train_test_split(rows, test_size=0.2, stratify=strata, random_state=seed)
    train, validation = train_test_split(
        rest, test_size=0.25, stratify=strata[rest], random_state=seed
    )
    return train, validation, test


def lightgbm_points(found, y, rows, seed):
    """Return points of LightGBM by what keeps it cheap: bill, validation and test accuracy."""
    train, validation, test = rows
    X = codes_of(found.X)
    X = np.where(np.isnan(X), -1.0, X)
    first = found.prices.bind(list(found.X.columns)).first_prices
    classes, codes, valid_rows, valid = known_classes(y, train, validation)

    def fit(features, **penalty):
        table = np.zeros_like(X)
        table[:, features] = X[:, features]
        model = lightgbm.LGBMClassifier(
            n_estimators=300, verbose=-1, n_jobs=1, random_state=seed, **penalty
        ).fit(
            table[train], codes, eval_X=table[valid_rows], eval_y=valid,
            callbacks=[lightgbm.early_stopping(20, verbose=False)],
        )  # fmt: skip
        priced = adopt(model, feature_names=list(found.X.columns), prices=found.prices)
        bill = priced.bill(table[validation]).mean()
        right = [100 * np.mean(classes[model.predict(table[part])] == y[part])
                 for part in (validation, test)]  # fmt: skip
        return model, (bill, *right)

    every = np.arange(X.shape[1])
    plain, point = fit(every)
    gain = plain.booster_.feature_importance("gain")
    points = {"all features": [point]}
    for kind in ("coupled", "lazy"):
        scale = 1.0 if kind == "coupled" else 1.0 / len(train)
        penalties = [(p * scale / first.mean() * first).tolist() for p in PENALTIES]
        name = f"cegb_penalty_feature_{kind}"
        points[kind] = [fit(every, **{name: penalty})[1] for penalty in penalties]
    orders = {
        "cheapest features": np.argsort(first, kind="stable"),
        "best gain per price": np.argsort(-gain / np.maximum(first, 1e-9)),
    }
    for name, order in orders.items():
        counts = np.unique(np.geomspace(1, len(order), N_SUBSETS).round().astype(int))
        points[name] = [fit(order[:count])[1] for count in counts]
    return points


def peers_area(found, y, rows, seed):
    """Return the area of the peers, pooled."""
    by_kind = lightgbm_points(found, y, rows, seed)
    return area_of([point for points in by_kind.values() for point in points], found, y, rows)


def area_of(points, found, y, rows):
    """Return the area of the best points on the validation rows, from the largest class on."""
    train, validation, test = rows
    majority = np.bincount(y[train]).argmax()
    constant = (0.0, *(100 * np.mean(y[part] == majority) for part in (validation, test)))
    bills, steps, best = [], [], -np.inf
    for bill, on_validation, on_test in sorted([*points, constant], key=lambda p: (p[0], -p[1])):
        if on_validation > best:
            best = on_validation
            bills.append(bill)
            steps.append(on_test)
    return area(bills, steps, found.prices.bind(list(found.X.columns)).full)


def with_peers_on_file(row, previous):
    """Return a row with the columns of the peers on file; an error if our area has changed."""
    ours, kept = (dict(zip(HEADER, each, strict=True)) for each in (row, previous))
    if ours["area"] != kept["area"]:
        raise SystemExit(f"{row[0]}: area {ours['area']}, on file {kept['area']}: run the peers")
    return tuple({**ours, **{column: kept[column] for column in PEERS_COLUMNS}}.values())


def summarize(name, runs, peers):
    """Return one row of the table."""
    areas = np.array([found["area"] for found in runs])
    plain = {each: [found["plain"][each] for found in runs] for each in runs[0]["plain"]}
    best = max(plain, key=lambda each: np.mean(plain[each]))
    ours = np.array([found["right"] for found in runs])
    lead = ours - np.array(plain[best])
    ece = [pooled_calibration_error(runs, each) for each in ("ours", best)]
    ahead = areas - np.array(peers) if peers else None
    target = previous_rows("targets", TARGETS_HEADER).get(name)
    known = dict(zip(TARGETS_HEADER, target, strict=True)) if target else {}
    over_goal = f"{float(known['area']) - float(known['goal']):+.1f}" if known else ""
    at_full = f"{known['lead']} ± {known['error of lead']}" if known else ""
    return (
        name, len(runs), f"{areas.mean():.1f}", f"{np.mean(peers):.1f}" if peers else "",
        f"{ahead.mean():+.1f}" if peers else "", f"{_error(ahead):.1f}" if peers else "",
        over_goal, f"{ours.mean():.1f}", f"{np.mean(plain[best]):.1f} {best}",
        f"{lead.mean():+.1f}", f"{_error(lead):.1f}", at_full, *(f"{each:.3f}" for each in ece),
        f"{ece[0] - ece[1]:.3f}", "<= 0.01",
    )  # fmt: skip


def pooled_calibration_error(runs, model):
    """Return the calibration error on the test rows of all splits together."""
    return calibration_error(
        *(np.concatenate(part) for part in zip(*(r["answers"][model] for r in runs), strict=True))
    )


def _error(values):
    return values.std(ddof=1) / np.sqrt(len(values))


def main():
    """Run the data sets named as arguments, or all; the table keeps its rows of the others."""
    parser = argparse.ArgumentParser(description="BudgetClassifier on fresh splits.")
    parser.add_argument("sets", nargs="*", choices=[*GOALS, []])
    parser.add_argument("--keep-peers", action="store_true")
    options = parser.parse_args()
    failure = None
    for name in options.sets or list(GOALS):
        found, y = table(name)
        runs, peers = [], []
        for seed in seeds_of(name, len(y)):
            rows = split_anew(found, y, seed)
            runs.append(run(found, y, rows, seed))
            if name not in WITHOUT_PEERS and not options.keep_peers:
                peers.append(peers_area(found, y, rows, seed))
        kept = previous_rows("fresh_splits", HEADER)
        row = summarize(name, runs, peers)
        kept[name] = with_peers_on_file(row, kept[name]) if options.keep_peers else row
        try:
            report("fresh_splits", HEADER, [kept[each] for each in GOALS if each in kept])
            failure = None
        except SystemExit as error:  # the other sets are run all the same
            failure = error
    return None if failure is None else str(failure)


if __name__ == "__main__":
    sys.exit(main())
