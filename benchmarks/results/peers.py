"""Tools that also price features, and BudgetClassifier, by one rule on the same splits.

It needs CatBoost: pip install catboost.
"""

from __future__ import annotations

import csv
import json
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from _result import ROOT, Result, mean_and_error
from fresh_splits import FIRST_SEED, area_of, lightgbm_points, split_anew
from sklearn.ensemble import RandomForestClassifier
from targets import SHARES, codes_of, evaluate, known_classes, table

from thrifty import BudgetClassifier, adopt

ABOUT = """
How Thrifty compares with tools that can be installed from PyPI, by one rule: a row pays for each
feature that it reads once, and once for its group; within a budget, the point with the best
validation accuracy counts, and its accuracy on the test rows is the result. The area is the
accuracy in percent as a step function of the logarithm of the budget, from 2 to 100 % of the full
price; below the first affordable point it is that of the largest class. Leads are differences on
the same splits, with 95 % intervals of Student's t over the splits.

Peers: LightGBM with its coupled and its lazy cost penalty (CEGB), LightGBM on the cheapest
features and on those with the best gain per price, CatBoost with a penalty on the first use of a
feature, and random forests with few trees. They learn from the training rows and choose on the
validation rows. BudgetClassifier gets both parts as one table and chooses out of fold, so it
learns from a third more rows than they do. CatBoost's trees are symmetric: every row
reads every feature that is in the model. :doc:`../how-it-compares` has pystreed, AutoGluon and two
methods of AFABench on heart disease.
"""
SETS = ("heart", "hepatitis", "pima", "ionosphere", "wbcd")
SEEDS = tuple(range(FIRST_SEED, FIRST_SEED + 10))
OURS = "BudgetClassifier"
PEERS = (
    "LightGBM, coupled",
    "LightGBM, lazy",
    "LightGBM, cheapest features",
    "LightGBM, best gain per price",
    "CatBoost, first use",
    "random forests",
)
# Times the mean price, as those of LightGBM: from no effect to a single feature.
CATBOOST_PENALTIES = (0.0, *np.geomspace(0.03, 30.0, 10).round(3).tolist())
TREES = (1, 2, 3, 5, 8, 12, 20, 50, 100)
T95 = 2.262  # two-sided 95 % quantile of Student's t with 9 degrees of freedom


def ours(data: str, seed: int) -> dict[str, object]:
    """Return the test accuracies of BudgetClassifier within the shares, and its area."""
    found, y = table(data)
    train, validation, test = split_anew(found, y, seed)
    pool = np.concatenate([train, validation])
    model = BudgetClassifier(found.prices, confidence=None, random_state=seed)
    model.fit(found.X.iloc[pool], y[pool])
    within, area, _, _ = evaluate(model, found.X.iloc[test], y[test])
    return {OURS: {"within": within, "area": area}}


def lightgbm(data: str, seed: int) -> dict[str, object]:
    """Return the same for the four ways to use LightGBM."""
    found, y = table(data)
    rows = split_anew(found, y, seed)
    points = lightgbm_points(found, y, rows, seed)
    every = points.pop("all features")
    return {
        f"LightGBM, {kind}": summary([*some, *every], found, y, rows)
        for kind, some in points.items()
    }


def catboost(data: str, seed: int) -> dict[str, object]:
    """Return the same for CatBoost with a penalty on the first use of a feature."""
    from catboost import CatBoostClassifier

    found, y = table(data)
    rows = split_anew(found, y, seed)
    train, validation = rows[:2]
    X = codes_of(found.X)
    prices = found.prices.bind(list(found.X.columns))
    classes, codes, valid_rows, valid = known_classes(y, train, validation)
    points = []
    for penalty in CATBOOST_PENALTIES:
        model = CatBoostClassifier(
            iterations=300, early_stopping_rounds=20, thread_count=1, random_seed=seed,
            verbose=False, allow_writing_files=False, penalties_coefficient=penalty,
            first_feature_use_penalties=(prices.first_prices / prices.first_prices.mean()).tolist(),
        ).fit(X[train], codes, eval_set=(X[valid_rows], valid))  # fmt: skip
        bill = prices.bill(np.isin(np.arange(X.shape[1]), features_in(model))[np.newaxis])[0]
        points.append((bill, *accuracies(model, classes, X, y, rows)))
    return {"CatBoost, first use": summary(points, found, y, rows)}


def features_in(model):
    """Return the features that a CatBoost model splits on."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_model(str(file := Path(folder) / "model.json"), format="json")
        trees = json.loads(file.read_text())["oblivious_trees"]
    return sorted({split["float_feature_index"] for tree in trees for split in tree["splits"]})


def forests(data: str, seed: int) -> dict[str, object]:
    """Return the same for random forests with few trees."""
    found, y = table(data)
    rows = split_anew(found, y, seed)
    train, validation = rows[:2]
    X = codes_of(found.X)
    X = np.where(np.isnan(X), -1.0, X)
    points = []
    for trees in TREES:
        model = RandomForestClassifier(trees, random_state=seed).fit(X[train], y[train])
        priced = adopt(model, feature_names=list(found.X.columns), prices=found.prices)
        bill = priced.bill(X[validation]).mean()
        points.append((bill, *accuracies(model, None, X, y, rows)))
    return {"random forests": summary(points, found, y, rows)}


def accuracies(model, classes, X, y, rows):
    """Return validation and test accuracy in percent; labels are numbers of `classes`, if any."""
    found = []
    for part in rows[1:]:
        labels = np.asarray(model.predict(X[part])).ravel()
        found.append(100 * np.mean((labels if classes is None else classes[labels]) == y[part]))
    return found


def summary(points, found, y, rows):
    """Return the test accuracies of the best points within the shares, and their area."""
    full = found.prices.bind(list(found.X.columns)).full
    train, _, test = rows
    largest = 100 * np.mean(y[test] == np.bincount(y[train]).argmax())
    within = []
    for share in SHARES:
        cheap = [point for point in points if point[0] <= share * full * (1 + 1e-9)]
        within.append(max(cheap, key=lambda p: (p[1], -p[0]))[2] if cheap else largest)
    return {"within": within, "area": area_of(points, found, y, rows)}


def main() -> None:
    result = Result("peers", "Other tools that price features", "Tools on PyPI, by one rule", ABOUT)
    runs = {}
    for seed in SEEDS:
        for data in SETS:
            for measure in (ours, lightgbm, catboost, forests):
                for method, run in result.cell(measure, data=data, seed=seed).items():
                    runs.setdefault((data, method), []).append(run)
    areas = {key: np.array([run["area"] for run in some]) for key, some in runs.items()}
    five_sets(result, runs, areas)
    pooled_peers(result)
    result.settings(
        splits=f"60/20/20, seeds {SEEDS[0]} to {SEEDS[-1]}, all rows of a set split anew",
        prices="published (heart, hepatitis, pima), one per feature (ionosphere, wbcd)",
        CatBoost=f"{version('catboost')}, 300 trees with early stopping, 11 penalties",
        LightGBM="300 trees with early stopping, 8 penalties or 6 sets of features",
        forests=f"{', '.join(map(str, TREES))} trees",
    )
    result.write()


def five_sets(result, runs, areas) -> None:
    """Add areas, leads and curves on five small sets."""
    result.text("Each tool by itself, on five small sets\n---------------------------------------")
    panels, rows = {}, []
    for data in SETS:
        for method in (OURS, *PEERS):
            mean, error = mean_and_error(areas[data, method])
            within = np.mean([run["within"] for run in runs[data, method]], axis=0)
            panels.setdefault(data, {})[method] = ([100 * s for s in SHARES], within)
            lead = "" if method == OURS else interval(areas[data, OURS] - areas[data, method])
            shown = (f"{accuracy:.1f}" for accuracy in within)
            rows.append((data, method, *shown, f"{mean:.1f} ± {error:.1f}", lead))
    alt = "Accuracy within 5 to 100 % of the price on five sets, BudgetClassifier beside six peers"
    result.picture("curves", panels, "budget in % of the full price", "test accuracy, %", alt, True)
    shares = [f"{100 * share:g} %" for share in SHARES]
    header = ("data set", "tool", *shares, "area ± error", "our lead in area, 95 %")
    result.table("areas", header, rows)
    for method in PEERS:
        leads = np.array([areas[data, OURS] - areas[data, method] for data in SETS])
        behind = [data for data, some in zip(SETS, leads, strict=True) if some.mean() < 0]
        clear = sum(some.mean() > half_width(some) for some in leads)
        result.claim(
            f"BudgetClassifier has the larger area than {method} (five small sets)",
            "our own claim",
            f"mean lead {leads.mean():+.1f}; behind on {', '.join(behind) or 'none'}; the interval "
            f"is above 0 on {clear} of {len(SETS)}",
            not behind,
        )


def half_width(values):
    """Return half of the 95 % interval of a mean."""
    return T95 * mean_and_error(values)[1]


def interval(values):
    """Return the mean of paired differences and its 95 % interval, as text."""
    mean, half = float(np.mean(values)), half_width(values)
    return f"{mean:+.1f} ({mean - half:+.1f} to {mean + half:+.1f})"


def pooled_peers(result) -> None:
    """Add what the larger benchmarks have measured: peers pooled, all data sets."""
    result.text(
        """
        Peers pooled, on all sets
        -------------------------

        From ``benchmarks/fresh_splits.csv``: the four ways to use LightGBM as one tool that may
        choose the best of them for each budget, on splits that nothing was chosen on. The lead is
        paired, with its standard error. "Goal" is from ``benchmarks/targets.csv``: the best area
        that any tool or prototype was known to reach on the splits there, all peers above and
        pystreed included.
        """
    )
    fresh, targets = (read(name) for name in ("fresh_splits", "targets"))
    rows = []
    for name, row in targets.items():
        own = fresh.get(name, {})
        lead = f"{own['lead']} ± {own['error']}" if own.get("lead") else ""
        pooled = own.get("peers' area", "")
        shown = (own.get("splits", ""), own.get("area", ""), pooled, lead)
        rows.append((name, *shown, row["area"], row["goal"], row["verdict"]))
    header = ("data set", "fresh splits", "area", "peers' area", "lead", "area on the splits of "
              "targets", "goal", "verdict")  # fmt: skip
    result.table("pooled", header, rows)
    leads = {row[0]: float(row[4].split()[0]) for row in rows if row[4]}
    result.claim(
        "BudgetClassifier has the larger area than LightGBM at its best, on fresh splits",
        "our own claim",
        f"{sum(lead > 0 for lead in leads.values())} of {len(leads)} sets, by "
        f"{min(leads.values()):+.1f} to {max(leads.values()):+.1f}",
        min(leads.values()) > 0,
    )
    behind = [row[0] for row in rows if row[-1] == "behind"]
    result.claim(
        "It is at least level with the best area known of any tool or prototype",
        "our own claim",
        f"behind on {', '.join(behind) or 'no set'}",
        not behind,
    )


def read(name):
    """Return the rows of a table in docs/benchmarks by data set."""
    with (ROOT / "docs" / "benchmarks" / f"{name}.csv").open(newline="") as file:
        return {row["data set"]: row for row in csv.DictReader(file)}


if __name__ == "__main__":
    main()
