"""Greedy selection from a Gram matrix compared with QR of the rows, and the trees built on it.

Speed is measured on synthetic data of the size of the Yahoo data (141,397 x 519, same prices), one
thread. The baseline keeps an orthogonal basis of the chosen columns and updates the residual of
every column with one pass over the rows per step; the paper deflates all columns at every step.
Accuracies on real data are those of the best validation point within shares of the full price.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.model_selection import train_test_split

from thrifty import GreedyMiserClassifier, Prices, SubmodularTreeClassifier, SubmodularTreeRegressor
from thrifty.costs import BoundPrices
from thrifty.data import load
from thrifty.learn.submodular_tree.forward_selection import Explainer, Layout
from thrifty.learn.submodular_tree.gram import Gram

ROWS, COLUMNS = 141_397, 519
PRICES = (1.0, 5.0, 20.0, 50.0, 100.0, 150.0, 200.0)
COUNTS = (30, 100, 300)
SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
SETS = {"magic": 9_000, "covertype": 9_000, "cifar10_coates400": 6_000, "satellite": 6_435}


def synthetic(rows=ROWS, columns=COLUMNS):
    """Return columns that share 30 factors, a target that 30 % of them explain, and prices."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((rows, 30), dtype=np.float32)
    X = factors @ (0.3 * rng.standard_normal((30, columns), dtype=np.float32))
    X += rng.standard_normal((rows, columns), dtype=np.float32)
    X = X.astype(np.float64)
    weights = np.where(rng.random(columns) < 0.3, rng.normal(size=columns), 0.0)
    y = X @ weights + 3.0 * np.abs(X[:, 0]) + 5.0 * rng.normal(size=rows)
    return X, y, rng.choice(PRICES, columns)


def by_gram(X, y, prices: BoundPrices, count):
    """Compute the Gram matrix once, then select columns from it."""
    gram = Gram.of(X, y[:, np.newaxis])
    return select(gram, prices, count)


def select(gram, prices, count):
    """Select the columns with the best gain per price, one after the other."""
    layout = Layout(np.arange(len(prices.own)), len(prices.own))
    explainer = Explainer.of(gram, layout)
    for _ in range(count):
        rates = explainer.gains() / prices.own
        rates[explainer.chosen] = -1.0
        explainer.add(int(np.argmax(rates)))
    return explainer.chosen


def by_qr(X, y, prices: BoundPrices, count):
    """Select with an orthogonal basis of the chosen columns, one pass over the rows per step."""
    basis = np.empty((count, len(X)))
    squares, cross = np.einsum("ij,ij->j", X, X), X.T @ y
    chosen = []
    for step in range(count):
        rates = np.square(cross) / np.maximum(squares, 1e-9) / prices.own
        rates[chosen] = -1.0
        best = int(np.argmax(rates))
        column = X[:, best].copy()
        for _ in range(2):  # one repetition makes it orthogonal
            column -= (basis[:step] @ column) @ basis[:step]
        column /= np.linalg.norm(column)
        basis[step] = column
        part = X.T @ column
        squares -= np.square(part)
        cross -= part * (column @ y)
        chosen.append(best)
    return chosen


def by_deflation(X, y, prices: BoundPrices, count):
    """Select as Kusner et al. 2014 do: every column is made orthogonal to each choice."""
    residual = X.copy()
    chosen = []
    for _ in range(count):
        squares = np.einsum("ij,ij->j", residual, residual)
        rates = np.square(residual.T @ y) / np.maximum(squares, 1e-9) / prices.own
        rates[chosen] = -1.0
        best = int(np.argmax(rates))
        column = residual[:, best] / np.sqrt(squares[best])
        residual -= np.outer(column, column @ residual)
        chosen.append(best)
    return chosen


def selection():
    """Return the rows of the table of selection times."""
    X, y, own = synthetic()
    X -= X.mean(axis=0)
    y = y - y.mean()
    prices = Prices(own.tolist()).bind(COLUMNS)
    rows, least = [], {}
    for count in COUNTS:
        times, found = {}, {}
        ways = {"gram": by_gram, "qr": by_qr} | ({"deflation": by_deflation} if count == 30 else {})
        for name, way in ways.items():
            for _ in range(2 if name == "gram" else 1):
                start = time.process_time()
                found[name] = way(X, y, prices, count)
                spent = time.process_time() - start
                times[name] = min(times.get(name, np.inf), spent)
        assert all(one == found["gram"] for one in found.values())
        least[count] = times
        deflation = f"{times['deflation'] / times['gram']:.1f}" if "deflation" in times else ""
        rows.append(
            (count, f"{times['gram']:.2f}", f"{times['qr'] / times['gram']:.1f}", deflation)
        )
    gram = Gram.of(X, y[:, np.newaxis])
    start = time.process_time()
    select(gram, prices, 300)
    share = (time.process_time() - start) / least[300]["gram"]
    rows.append(("300, other prices", f"{share:.1%} of the first", "", ""))
    return rows


def price_lists():
    """Return the rows of the table of further price lists."""
    X, y, own = synthetic()
    rng = np.random.default_rng(1)
    lists = [Prices(own.tolist()), *(Prices(rng.choice(PRICES, COLUMNS).tolist()) for _ in "ab")]
    rows = []
    for depth, budget in ((1, 50.0), (1, 200.0), (5, 50.0)):
        fits = SubmodularTreeRegressor(node_budget=budget, max_depth=depth).fit_each(X, y, lists)
        spent, features = [], []
        for _ in lists:
            start = time.process_time()
            features.append(int(next(fits).model_.support.sum()))
            spent.append(time.process_time() - start)
        ratio = min(spent[1:]) / spent[0]
        rows.append((depth, f"{budget:g}", features[0], f"{spent[0]:.1f}", f"{100 * ratio:.1f} %"))
    return rows


def against_cstc(penalties=(4e-3, 2e-2)):
    """Return the rows of the table of trees and one sweep of CSTC at a similar bill."""
    from thrifty.learn.cost_tree.estimators import CostTreeRegressor

    X, y, own = synthetic()
    prices = Prices(own.tolist())
    rows = []
    for penalty in penalties:
        spent = []
        for sweeps in (0, 1):
            start = time.process_time()
            other = CostTreeRegressor(prices, penalty, max_depth=4, max_sweeps=sweeps).fit(X, y)
            spent.append(time.process_time() - start)
        bill = other.bill(X).mean()
        for budget in (25, 50, 100, 200, 400):
            start = time.process_time()
            tree = SubmodularTreeRegressor(prices, budget, max_depth=5).fit(X, y)
            ours = time.process_time() - start
            if tree.bill(X).mean() >= bill:
                break
        figures = [
            f"{x:.3g}" for x in (bill, other.score(X, y), tree.bill(X).mean(), tree.score(X, y))
        ]
        rows.append((*figures, f"{(spent[1] - spent[0]) / ours:.0f}", f"{spent[1] / ours:.0f}"))
    return rows


def split(name, most):
    """Return the prices, and training, validation and test set, of `most` rows in total."""
    table = load(name)
    y = np.asarray(table.y)
    kept = np.random.default_rng(0).permutation(len(y))[:most]
    rest, test = train_test_split(kept, test_size=0.25, random_state=0)
    train, validation = train_test_split(rest, test_size=0.25, random_state=0)
    return table.prices, *[(table.X.iloc[rows], y[rows]) for rows in (train, validation, test)]


def within(points, budget, test):
    """Return the test accuracy of the best point within a budget."""
    best = max((p for p in points if p.bill <= budget), key=lambda p: p.quality)
    return f"{np.mean(best.model.predict(test[0]) == test[1]):.3f}"


def accuracy(name, most):
    """Return the rows of the table of accuracies."""
    prices, train, validation, test = split(name, most)
    learners = {
        "hard": SubmodularTreeClassifier(prices, max_depth=5),
        "soft": SubmodularTreeClassifier(prices, max_depth=5, routing="soft"),
        "linear": SubmodularTreeClassifier(prices, max_depth=1),
        "miser": GreedyMiserClassifier(prices, random_state=0),
    }
    paths = {
        name: list(learner.path(*train, validation=validation))
        for name, learner in learners.items()
    }
    full = paths["hard"][0].model.prices.full
    return [
        (
            name,
            f"{100 * share:.0f} %",
            *(within(paths[k], share * full + 1e-9, test) for k in paths),
        )
        for share in SHARES
    ]


def main():
    """Measure selection, price lists, whole trees and accuracies."""
    from _harness import report

    report(
        "submodular_tree_speed",
        ("features", "Gram, CPU s", "QR over Gram", "deflation over Gram"),
        selection(),
    )
    report(
        "submodular_tree_prices",
        ("depth", "node budget", "features", "first fit, CPU s", "another price list"),
        price_lists(),
    )
    report(
        "submodular_tree_cstc",
        (
            "CSTC bill", "CSTC R2", "ASTC bill", "ASTC R2", "one sweep over the tree",
            "start and one sweep over the tree",
        ),
        against_cstc(),
    )  # fmt: skip
    report(
        "submodular_tree",
        ("data set", "budget", "hard", "soft", "one linear model", "GreedyMiser"),
        [row for name, most in SETS.items() for row in accuracy(name, most)],
    )


if __name__ == "__main__":
    main()
