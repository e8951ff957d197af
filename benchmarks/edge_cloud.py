"""Edge/cloud models: recovery of a planted model, and accuracy by the share of transmissions.

The planted model is the regression of Nan 2018, sec. 7.1.6: two devices of two features, 2,000
rows without noise. Training starts from the truth plus Gaussian noise of several levels, or, with
`EdgeCloudRegressor`, knows nothing of the truth. The data sets are satellite, whose four spectral
bands (nine pixels each) are the devices, with the training and test sets of its source, and mfeat,
whose six descriptors are the devices, with 1,400 training and 600 test rows. The shares of
transmissions are fixed in advance; nothing is chosen on the test rows.
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

from thrifty import EdgeCloudClassifier, EdgeCloudRegressor, Prices
from thrifty.data import load
from thrifty.learn.edge_cloud.devices import DeviceRows
from thrifty.learn.edge_cloud.direct import direct_objective
from thrifty.learn.edge_cloud.gated_sum import GatedSum
from thrifty.learn.edge_cloud.lbfgs import minimize_lbfgs
from thrifty.learn.edge_cloud.losses import squared_loss
from thrifty.model.links import ACTIVATIONS

DRAWS, ROWS = 20, 2000
GATES = ("relu", "sigmoid", "relaxed", "projected")
NOISE_LEVELS = (0.01, 0.1, 0.5, 1.0)
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
# mfeat has 649 features and gets half of the default steps.
MAX_STEPS = {"satellite": 100, "mfeat": 50}


def planted(activation, seed):
    """Draw rows, true parameters and targets."""
    rng = np.random.default_rng(seed)
    rows = DeviceRows(
        rng.normal(size=(ROWS, 4)), np.array([0, 2, 4]), np.full(ROWS, 1 / ROWS), np.ones((ROWS, 2))
    )
    v, w, b = rng.normal(size=(4, 1)), rng.normal(size=4), rng.normal(size=2)
    truth = GatedSum(v, np.zeros((2, 1)), w, b, np.zeros(1))
    act = ACTIVATIONS[activation](truth.gate_values(rows))
    return rows, truth, truth.outputs(rows, act)[:, 0]


def cosine(one, other):
    """Return the cosine of the angle between two lists of parameters."""
    one, other = (np.concatenate([part.ravel() for part in parts]) for parts in (one, other))
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


def recovers(activation, level, seed):
    """Return whether the targets are met (squared error below 1e-6), and the truth is found."""
    rows, truth, y = planted(activation, seed)
    rng = np.random.default_rng(1000 + seed)
    start = GatedSum(*(part + level * rng.normal(size=part.shape) for part in truth))
    objective = direct_objective(rows, squared_loss(y), activation, 0.0, 0.0, start)
    flat, value = minimize_lbfgs(objective, start.flat, 2000)
    found = GatedSum.unpack(flat, start)
    cosines = []
    for k in range(2):
        own = slice(2 * k, 2 * k + 2)
        cosines.append(cosine([found.v[own]], [truth.v[own]]))
        cosines.append(cosine([found.w[own], found.b[[k]]], [truth.w[own], truth.b[[k]]]))
    return 2 * value < 1e-6, min(cosines) > 0.999


def recovery():
    """Count the draws of the planted model that are recovered, by the noise of the start."""
    for activation in ("sigmoid", "relu"):
        for level in NOISE_LEVELS:
            found = np.array([recovers(activation, level, seed) for seed in range(DRAWS)])
            met, right = found.sum(axis=0)
            yield activation, level, f"{met} of {DRAWS}", f"{right} of {DRAWS}"


def regressions():
    """Yield R2 on 2,000 new rows of regressors that know nothing of the planted model, by share."""
    for activation in ("sigmoid", "relu"):
        for gates in GATES:
            found = []
            for seed in range(100, 112):
                rows, truth, y = planted(activation, seed)
                new = np.random.default_rng(2000 + seed).normal(size=(ROWS, 4))
                new_rows = DeviceRows(new, rows.starts, rows.weights, rows.present)
                act = ACTIVATIONS[activation](truth.gate_values(new_rows))
                new_y = truth.outputs(new_rows, act)[:, 0]
                model = EdgeCloudRegressor(
                    devices={"a": [0, 1], "b": [2, 3]}, gates=gates, C=1e3, random_state=seed
                )
                points = list(
                    model.path(rows.Z, y, validation=(new, new_y), transmit_shares=(0.25, 0.5, 1.0))
                )
                found.append([point.quality for point in points[1:]])
            means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / 12**0.5
            cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True)]
            yield activation, gates, *cells, f"{np.sum(np.array(found)[:, -1] > 0.999)} of 12"


def load_devices(name):
    """Return the devices, the training rows and the test rows of a data set."""
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
    """Return the accuracies of the majority of one classifier per device, and of the best one."""
    classes = np.unique(train[1])
    predictions = [
        make().fit(train[0][own], train[1]).predict(test[0][own]) for own in devices.values()
    ]
    counts = np.array(
        [[np.sum(row == label) for label in classes] for row in np.array(predictions).T]
    )
    best = max(np.mean(labels == test[1]) for labels in predictions)
    return np.mean(classes[counts.argmax(axis=1)] == test[1]), best


def accuracy(name):
    """Return the rows of the tables of accuracy and of majority votes, and the CPU times."""
    devices, train, test = load_devices(name)
    prices = Prices(dict.fromkeys(train[0].columns, 0.0), evaluation=1.0)
    curves, seconds = {}, []
    for gates in GATES:
        model = EdgeCloudClassifier(
            prices, devices, gates=gates, max_steps=MAX_STEPS[name], random_state=0
        )
        start = time.process_time()
        points = list(model.path(*train, validation=test, transmit_shares=SHARES))
        seconds.append(f"{time.process_time() - start:.0f}")
        curves[gates] = {point.knob["transmit_share"]: point for point in points}
    rows = []
    for share in (0.0, *SHARES):
        found = [curves[gates][share] for gates in curves]
        cells = [f"{p.quality:.3f} at {100 * p.bill / len(devices):.0f} %" for p in found]
        rows.append((name, f"{100 * share:.0f} %", *cells))

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
    """Measure recovery, then accuracy on both data sets."""
    report(
        "edge_cloud_planted",
        ("gates", "noise of the start", "targets met", "parameters recovered"),
        [*recovery()],
    )
    report(
        "edge_cloud_regression",
        ("planted gates", "gates", "R2 at 25 %", "at 50 %", "at 100 %", "R2 above 0.999 at 100 %"),
        [*regressions()],
    )
    measured = [accuracy(name) for name in ("satellite", "mfeat")]
    report(
        "edge_cloud",
        ("data set", "transmit_share", *GATES),
        [row for rows, _, _ in measured for row in rows],
    )
    report(
        "edge_cloud_votes",
        ("data set", "classifier", "best device alone", "majority of all", "one on all features"),
        [row for _, rows, _ in measured for row in rows],
    )
    print("CPU seconds of the paths", [times for _, _, times in measured])


if __name__ == "__main__":
    main()
