"""Devices with gates: recovery of a planted model, and accuracy by the share of transmissions.

Planted: the regression of Nan 2018, sec. 7.1.6, two devices of two features, 2000 rows without noise; the
descent starts from the truth plus Gaussian noise times a level. Sets: satellite with its four
spectral bands as devices (nine pixels each) on the division of its source; mfeat with its six
descriptors as devices, 1400 rows to learn from and 600 to test on. Budgets are fixed beforehand,
nothing is chosen.
"""

from __future__ import annotations

import time

import numpy as np
from _harness import report
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from thrifty import EdgeCloudClassifier, Prices
from thrifty.data import load
from thrifty.learn.edge_cloud.devices import Devices, GatedSum, squared_loss
from thrifty.learn.edge_cloud.lbfgs import descend
from thrifty.learn.edge_cloud.soft_gates import direct_objective
from thrifty.model.links import ACTIVATIONS

DRAWS, ROWS = 20, 2000
LEVELS = (0.01, 0.1, 0.5, 1.0)
BUDGETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
# 649 features take their time: half of the steps that are usual.
STEPS = {"satellite": 100, "mfeat": 50}


def planted(activation, seed):
    """Devices, true parameters and targets of one draw."""
    rng = np.random.default_rng(seed)
    devices = Devices(
        rng.normal(size=(ROWS, 4)), np.array([0, 2, 4]), np.full(ROWS, 1 / ROWS), np.ones((ROWS, 2))
    )
    v, w, b = rng.normal(size=(4, 1)), rng.normal(size=4), rng.normal(size=2)
    truth = GatedSum(v, np.zeros((2, 1)), w, b, np.zeros(1))
    act = ACTIVATIONS[activation](truth.values(devices))
    return devices, truth, truth.outputs(devices, act)[:, 0]


def cosine(one, other):
    """Cosine of the angle between two lists of parameters."""
    one, other = (np.concatenate([part.ravel() for part in parts]) for parts in (one, other))
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


def recovers(activation, level, seed):
    """Whether targets are met (squared error below 1e-6), and all directions are the truth's."""
    devices, truth, y = planted(activation, seed)
    rng = np.random.default_rng(1000 + seed)
    start = GatedSum(*(part + level * rng.normal(size=part.shape) for part in truth))
    objective = direct_objective(devices, squared_loss(y), activation, 0.0, 0.0, start)
    flat, value = descend(objective, start.flat, 2000)
    found = GatedSum.unpack(flat, start)
    near = []
    for k in range(2):
        own = slice(2 * k, 2 * k + 2)
        near.append(cosine([found.v[own]], [truth.v[own]]))
        near.append(cosine([found.w[own], found.b[[k]]], [truth.w[own], truth.b[[k]]]))
    return 2 * value < 1e-6, min(near) > 0.999


def recovery():
    """Draws of the planted model that are recovered, by the noise of the start."""
    for activation in ("sigmoid", "relu"):
        for level in LEVELS:
            found = np.array([recovers(activation, level, seed) for seed in range(DRAWS)])
            met, right = found.sum(axis=0)
            yield activation, level, f"{met} of {DRAWS}", f"{right} of {DRAWS}"


def task(name):
    """Devices, and the rows to learn from and to test on."""
    table = load(name)
    columns, y = list(table.X.columns), np.asarray(table.y)
    if name == "satellite":
        devices = {f"band {b + 1}": columns[b::4] for b in range(4)}
        train, test = (np.flatnonzero(table.split == part) for part in ("train", "test"))
    else:
        devices = {group: list(members) for group, members in table.prices.groups.items()}
        train, test = train_test_split(np.arange(len(y)), test_size=600, stratify=y, random_state=0)
    return devices, (table.X.iloc[train], y[train]), (table.X.iloc[test], y[test])


def vote(make, devices, train, test):
    """Accuracy of the majority of all devices, each with its own classifier; and of the best."""
    classes = np.unique(train[1])
    said = [make().fit(train[0][own], train[1]).predict(test[0][own]) for own in devices.values()]
    counts = np.array([[np.sum(row == label) for label in classes] for row in np.array(said).T])
    best = max(np.mean(answers == test[1]) for answers in said)
    return np.mean(classes[counts.argmax(axis=1)] == test[1]), best


def accuracy(name):
    """Rows of the tables of accuracy and of rivals for one set."""
    devices, train, test = task(name)
    prices = Prices(dict.fromkeys(train[0].columns, 0.0), evaluation=1.0)
    curves, seconds = {}, []
    for gates in ("relu", "sigmoid", "relaxed"):
        model = EdgeCloudClassifier(
            prices, devices, gates=gates, max_steps=STEPS[name], random_state=0
        )
        start = time.process_time()
        points = list(model.path(*train, validation=test, budgets=BUDGETS))
        seconds.append(f"{time.process_time() - start:.0f}")
        curves[gates] = {point.knob["budget"]: point for point in points}
    rows = []
    for budget in (0.0, *BUDGETS):
        found = [curves[gates][budget] for gates in curves]
        cells = [f"{p.quality:.3f} at {100 * p.bill / len(devices):.0f} %" for p in found]
        rows.append((name, f"{100 * budget:.0f} %", *cells))

    def logistic():
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))

    def nearest():
        return make_pipeline(StandardScaler(), KNeighborsClassifier(1))

    votes = [vote(make, devices, train, test) for make in (logistic, nearest)]
    whole = [np.mean(m().fit(*train).predict(test[0]) == test[1]) for m in (logistic, nearest)]
    return (
        rows,
        [
            (name, kind, *(f"{figure:.3f}" for figure in (best, majority, full)))
            for kind, (majority, best), full in zip(("logistic", "1-NN"), votes, whole, strict=True)
        ],
        (name, *seconds),
    )


def main():
    """Recovery, then both sets."""
    report(
        "edge_cloud_planted",
        ("gates", "noise of the start", "targets met", "parameters recovered"),
        [*recovery()],
    )
    measured = [accuracy(name) for name in ("satellite", "mfeat")]
    report(
        "edge_cloud",
        ("set", "budget", "relu", "sigmoid", "relaxed"),
        [row for rows, _, _ in measured for row in rows],
    )
    report(
        "edge_cloud_votes",
        ("set", "classifier", "best device alone", "majority of all", "one on all features"),
        [row for _, rows, _ in measured for row in rows],
    )
    print("seconds of the paths", [times for _, _, times in measured])


if __name__ == "__main__":
    main()
