"""CVM: the steps of the method against their definitions, the machine against scikit-learn's."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import lars_path_gram
from sklearn.svm import SVC, LinearSVC, NuSVC

from thrifty import CompressedSVC, Prices, load
from thrifty.data import ring
from thrifty.errors import DataError
from thrifty.learn.baselines import LeastAngleSVC, RandomSubsetSVC, ReducedSVC
from thrifty.learn.calibration import pair_slopes
from thrifty.learn.svm import classifier as compressed_svc
from thrifty.learn.svm import moving as vector_moving
from thrifty.learn.svm.moving import Fit, is_crowded, move, sample_of
from thrifty.learn.svm.selection import least_angle, select
from thrifty.learn.svm.source import machine_of
from thrifty.model.kernel_functions import (
    KERNELS,
    KernelFunction,
    PolynomialKernel,
    RBFKernel,
    register_kernel,
)
from thrifty.model.products import squared_distances

RIVALS = [LeastAngleSVC, RandomSubsetSVC, ReducedSVC]
RANDOM = np.random.RandomState(0)


def draw(n=240, classes=3, seed=0):
    """Clusters on a circle, one class each, and two columns of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    angle = 2 * np.pi * y / classes
    X = rng.normal(size=(n, 4))
    X[:, :2] += 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X, y


def machine(classes=3, gamma=0.2, **settings):
    X, y = draw(classes=classes)
    svc = SVC(gamma=gamma, **settings).fit(X, y)
    return machine_of(svc, svc.support_vectors_, RBFKernel(gamma))


@dataclass(frozen=True)
class Cauchy(KernelFunction):
    width: float
    name = "cauchy"

    def value(self, X, V):
        return 1.0 / (1.0 + squared_distances(X, V) / self.width**2)

    def gradient(self, X, V, weights):
        pull = weights * 2.0 * self.value(X, V) ** 2 / self.width**2
        return pull.T @ X - pull.sum(axis=0)[:, None] * V


@pytest.fixture
def cauchy():
    yield register_kernel(Cauchy)(2.0)
    del KERNELS["cauchy"]


# --- the known answer ---------------------------------------------------------


def test_eight_vectors_decide_as_the_whole_machine_on_the_ring() -> None:
    table = ring(random_state=0)
    full = SVC(C=1.0, gamma=0.5).fit(table.X.to_numpy(), table.y)
    assert 200 < len(full.support_) < 300
    small = CompressedSVC(full, n_vectors=8).fit(table.X.to_numpy(), table.y)
    side = np.linspace(-5.0, 5.0, 101)
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])
    agreed = np.mean(small.predict(grid) == full.predict(grid))
    assert agreed >= 0.97
    still = LeastAngleSVC(full, n_vectors=8).fit(table.X.to_numpy(), table.y)
    assert np.mean(still.predict(grid) == full.predict(grid)) < agreed


# --- the steps ----------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_machine_decides_as_the_svc_it_was_read_from(classes) -> None:
    X, y = draw(classes=classes)
    svc = SVC(gamma=0.2, decision_function_shape="ovo").fit(X, y)
    theirs = svc.decision_function(X).reshape(len(X), -1) * (-1 if classes == 2 else 1)
    found = machine_of(svc, svc.support_vectors_, RBFKernel(0.2))
    np.testing.assert_allclose(found.values(X), theirs, atol=1e-9)
    pair = found.pair(0)
    np.testing.assert_allclose(pair.values(X), theirs[:, :1], atol=1e-9)


def test_least_angles_of_one_response_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(60, 20)), rng.normal(size=60)
    _, order, _ = lars_path_gram(
        A.T @ y, A.T @ A, n_samples=60, max_iter=12, method="lar", alpha_min=0
    )
    assert least_angle(A.T @ A, (A.T @ y)[:, np.newaxis], 12).tolist() == list(order)


def test_along_least_angles_the_active_are_equally_correlated() -> None:
    from thrifty.learn.svm.selection import _Path

    rng = np.random.default_rng(1)
    A, Y = rng.normal(size=(50, 15)), rng.normal(size=(50, 3))
    path = _Path(A.T @ A, A.T @ Y, 10)
    for _ in range(10):
        assert path.enter()
        # What the least squares of the active leave, and what some mixture of them does.
        active = A[:, path.active]
        best = A.T @ (Y - active @ np.linalg.lstsq(active, Y)[0])
        np.testing.assert_allclose(path.best, best, atol=1e-9)
        path.advance()
        said = np.linalg.solve(active.T @ active, active.T @ Y - path.left[path.active])
        np.testing.assert_allclose(path.left, A.T @ (Y - active @ said), atol=1e-9)
        lengths = np.linalg.norm(path.left, axis=1)
        np.testing.assert_allclose(lengths[path.active], lengths[path.active[0]], rtol=1e-8)
        assert lengths[path.open].max() <= lengths[path.active[0]] * (1 + 1e-8)


def test_what_lies_in_the_span_of_others_never_enters() -> None:
    A = np.random.default_rng(0).normal(size=(30, 3))
    A = np.column_stack([A, A[:, 0] + A[:, 1], A[:, 2]])
    order = least_angle(A.T @ A, A.T @ np.arange(30.0)[:, np.newaxis], 5)
    assert len(order) == 3


@pytest.mark.parametrize("kernel", [RBFKernel(0.3), PolynomialKernel(2, 0.5, 1.0), Cauchy(1.5)])
@pytest.mark.parametrize(("classes", "others"), [(2, 0.0), (4, 0.0), (4, 0.1), (4, 1.0)])
def test_the_gradient_of_the_move_equals_finite_differences(kernel, classes, others) -> None:
    X, y = draw(90, classes)
    svc = SVC(kernel=kernel).fit(X, y)
    full = machine_of(svc, X[svc.support_], kernel)
    fit = Fit(full, sample_of(full), others, closeness=1e-3, ridge=1e-6)
    V = full.vectors[:: len(full.vectors) // 3].copy()
    _, gradient = fit.loss(V)
    h = 1e-5
    for place in [(0, 0), (1, 2), (len(V) - 1, 3)]:
        step = np.zeros_like(V)
        step[place] = h
        slope = (fit.loss(V + step)[0] - fit.loss(V - step)[0]) / (2 * h)
        assert gradient[place] == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("others", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_coefficients_of_a_fit_are_the_best_for_its_vectors(classes, others) -> None:
    full = machine(classes)
    fit = Fit(full, sample_of(full), others, closeness=0.0, ridge=1e-12)
    V = full.vectors[:6]
    K = np.column_stack([full.kernel.matrix(full.vectors, V), np.ones(len(full.vectors))])
    found = fit.solve(V)
    for pair, values in enumerate(full.values(full.vectors).T):
        weight = np.sqrt(np.where(full.labels[:, pair] != 0, 1.0, others))
        due = np.linalg.lstsq(K * weight[:, np.newaxis], values * weight)[0]
        np.testing.assert_allclose(found.coefficients[:, pair], due[:-1], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(found.intercepts[pair], due[-1], rtol=1e-3, atol=1e-4)


def test_other_classes_count_where_vectors_are_as_many_as_rows(monkeypatch) -> None:
    counted = []

    class Watched(Fit):
        def __init__(self, machine, sample, others, *weights):
            counted.append(others)
            super().__init__(machine, sample, others, *weights)

    monkeypatch.setattr(vector_moving, "Fit", Watched)
    full = machine(4)
    rows = len(full.vectors) // 2  # of the two classes of a pair, in the mean
    move(full, full.vectors[: rows // 2], 1, RANDOM)
    move(full, full.vectors[:rows], 1, RANDOM)
    assert counted == [0.0, 0.0, 1.0, vector_moving.OTHERS]


@pytest.mark.parametrize("least", [0.1, 0.0, -0.1])
def test_equations_are_solved_definite_or_not(least) -> None:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    equations = turn @ np.diag([5.0, 4.0, 3.0, 2.0, 1.0, least]) @ turn.T
    right = equations @ np.arange(6.0)
    found = vector_moving._solution(equations.copy(), right)
    np.testing.assert_allclose(equations @ found, right, atol=1e-9)


def test_moving_comes_closer_to_the_machine() -> None:
    full = machine(4)
    start = full.vectors[select(full, 8, RANDOM)]
    apart = []
    for moves in (0, 5, 50):
        found = move(full, start, moves, RANDOM)
        said = full.kernel.matrix(full.vectors, found.vectors) @ found.coefficients
        apart.append(
            np.square((said + found.intercepts - full.values(full.vectors)) * full.labels).mean()
        )
    assert apart[0] > apart[1] > apart[2]


def test_vectors_that_were_moved_by_another_measure_start_anew(monkeypatch) -> None:
    X, y = draw(200, 4)
    svc = SVC(kernel="rbf", C=1.0).fit(X, y)
    starts = []

    def noted(machine, V, moves, random):
        starts.append(V)
        return move(machine, V, moves, random)

    monkeypatch.setattr(compressed_svc, "move", noted)
    full = machine_of(svc, X[svc.support_], RBFKernel(svc._gamma))
    few = len(full.vectors) // 2  # of the two classes of a pair, in the mean
    sizes = [few // 4, few // 2, few, few + 1]
    assert [is_crowded(full, size) for size in sizes] == [False, False, True, True]
    list(CompressedSVC(svc, max_moves=3).path(X, y, validation=(X, y), sizes=sizes))
    rows = {row.tobytes() for row in full.vectors}
    moved = [sum(row.tobytes() not in rows for row in start) for start in starts]
    assert [count > 0 for count in moved] == [False, True, False, True]


def test_many_support_vectors_are_compared_in_draws(monkeypatch) -> None:
    full = machine(3)
    start = full.vectors[select(full, 6, RANDOM)]
    monkeypatch.setattr(vector_moving, "BATCH", 40)
    sizes = [
        len(sample.rows)
        for sample, _ in vector_moving._batches(sample_of(full), 20, np.random.RandomState(0))
    ]
    assert len(sizes) == vector_moving.ROUNDS and max(sizes) <= 43
    found = move(full, start, 20, np.random.RandomState(0))
    again = move(full, start, 20, np.random.RandomState(0))
    assert np.array_equal(found.vectors, again.vectors)
    assert not np.array_equal(found.vectors, start)


def test_slopes_make_decisions_log_odds() -> None:
    rng = np.random.default_rng(0)
    f = rng.normal(size=4000)
    codes = (rng.random(4000) > 1.0 / (1.0 + np.exp(-3.0 * f))).astype(np.int64)
    assert pair_slopes(f[:, np.newaxis], codes, 2)[0] == pytest.approx(3.0, rel=0.1)
    double = pair_slopes(f[:, np.newaxis], codes, 2, np.full(4000, 2.0))
    assert double[0] == pytest.approx(pair_slopes(f[:, np.newaxis], codes, 2)[0], rel=0.01)
    assert pair_slopes(-f[:, np.newaxis], codes, 2)[0] > 0


# --- the estimator ------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"kernel": "poly", "coef0": 1.0}, {"kernel": "linear"}])
def test_all_vectors_are_the_svc_itself(classes, settings) -> None:
    X, y = draw(classes=classes)
    svc = SVC(**settings).fit(X, y)
    model = CompressedSVC(svc, n_vectors=1.0).fit(X, y)
    assert len(model.model_.vectors) == len(svc.support_)
    if classes == 2:
        np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-9)
    assert np.mean(model.predict(X) == svc.predict(X)) > 0.98


@pytest.mark.parametrize("settings", [{}, {"kernel": "poly"}, {"per_pair": True, "n_vectors": 4}])
def test_few_vectors_predict_nearly_as_well_as_all(settings) -> None:
    X, y = draw(400)
    Xt, yt = draw(400, seed=1)
    full = CompressedSVC(**{**settings, "n_vectors": 1.0}).fit(X, y).score(Xt, yt)
    few = CompressedSVC(**settings).fit(X, y)
    assert few.score(Xt, yt) > full - 0.03
    if settings.get("per_pair"):
        assert few.model_.most_evaluations == 12
        assert set(np.count_nonzero(few.model_.coefficients, axis=1)) == {1}


def test_features_and_evaluations_are_billed() -> None:
    X, y = draw()
    prices = Prices([1.0, 2.0, 0.5, 0.25], evaluation=0.1)
    model = CompressedSVC(n_vectors=7, prices=prices).fit(X, y)
    assert model.bill(X) == pytest.approx(3.75 + 0.7)


def test_what_no_vector_reads_is_not_paid_for() -> None:
    X, y = draw()
    X[:, 3] = 5.0
    assert CompressedSVC().fit(X, y).used(X)[0].tolist() == [True, True, True, False]
    X[:, 3] = 0.0
    svc = SVC(kernel="poly", coef0=1.0).fit(X, y)
    assert CompressedSVC(svc).fit(X, y).used(X)[0].tolist() == [True, True, True, False]
    assert CompressedSVC(SVC().fit(X, y)).fit(X, y).used(X)[0].all()


def test_scales_and_units_of_the_table_do_not_matter() -> None:
    X, y = draw()
    first = CompressedSVC().fit(X, y)
    other = CompressedSVC().fit(X * [1e3, 1e-3, 1.0, 8.0] + 5.0, y)
    same = first.predict(X) == other.predict(X * [1e3, 1e-3, 1.0, 8.0] + 5.0)
    assert same.mean() > 0.98


def test_a_path_has_every_size_and_grows_better() -> None:
    X, y = draw(300)
    prices = Prices([1.0] * 4, evaluation=0.01)
    model = CompressedSVC(prices=prices)
    points = list(model.path(X, y, validation=draw(300, seed=1), sizes=range(1, 9)))
    assert [point.knob["n_vectors"] for point in points] == list(range(9))
    assert [point.bill for point in points] == pytest.approx(
        [0, *(4 + k / 100 for k in range(1, 9))]
    )
    assert points[0].quality < 0.5 < points[-1].quality - 0.2
    assert points[-1].quality > points[1].quality


def test_each_size_of_a_path_starts_from_the_one_before(monkeypatch) -> None:

    starts, ends = [], []

    def watched(machine, V, moves, random):
        starts.append(V)
        found = move(machine, V, moves, random)
        ends.append(found.vectors)
        return found

    monkeypatch.setattr(compressed_svc, "move", watched)
    X, y = draw()
    list(CompressedSVC().path(X, y, validation=(X, y), sizes=[2, 5]))
    assert np.array_equal(starts[1][:2], ends[0]) and len(starts[1]) == 5


def test_a_kernel_of_ones_own_is_learned_saved_and_loaded(cauchy, tmp_path) -> None:
    X, y = draw()
    svc = SVC(kernel=cauchy).fit(X, y)
    for model in (CompressedSVC(kernel=cauchy).fit(X, y), CompressedSVC(svc).fit(X, y)):
        assert model.score(X, y) > 0.8
        model.save(tmp_path / "m.thrifty")
        loaded = load(tmp_path / "m.thrifty")
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
        with pytest.raises(DataError, match="LibSVM has no kernel 'cauchy'"):
            model.export_libsvm(tmp_path / "m.model")


def test_a_table_with_categories_and_holes_is_read_as_it_is() -> None:
    X, y = draw()
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["town"] = np.where(y == 0, "ulm", "bonn")
    frame.loc[::7, "town"] = None
    frame.loc[::5, "a"] = np.nan
    model = CompressedSVC(n_vectors=0.3).fit(frame, y)
    assert model.score(frame, y) > 0.8
    assert model.used(frame).all()


def test_held_out_rows_tell_the_probabilities_and_not_the_answers() -> None:
    X, y = draw(classes=2)
    noisy = np.where(np.random.default_rng(0).random(240) < 0.3, 1 - y, y)
    sure = CompressedSVC().fit(X, y)
    unsure = CompressedSVC().fit(X, y, validation=(X, noisy))
    assert np.array_equal(sure.predict(X), unsure.predict(X))
    assert sure.predict_proba(X).max(axis=1).mean() > unsure.predict_proba(X).max(axis=1).mean()


def test_a_wrapped_svc_survives_a_clone() -> None:
    X, y = draw()
    svc = NuSVC(nu=0.2).fit(X, y)
    model = clone(CompressedSVC(FrozenEstimator(svc), n_vectors=5)).fit(X, y)
    assert len(model.model_.vectors) == 5


# --- the LibSVM file ----------------------------------------------------------


def read_libsvm(path):
    """A reader of its own, as svm.cpp reads and svm_predict_values decides."""
    head, _, body = path.read_text().partition("SV\n")
    entries = dict(line.split(" ", 1) for line in head.splitlines() if line)
    k = int(entries["nr_class"])
    coefficients, vectors = [], []
    for line in body.splitlines():
        cells = line.split()
        coefficients.append([float(cell) for cell in cells[: k - 1]])
        vectors.append({int(j): float(x) for j, x in (c.split(":") for c in cells[k - 1 :])})
    assert len(vectors) == int(entries["total_sv"])
    return entries, k, np.array(coefficients), vectors


def libsvm_decisions(path, rows):
    entries, k, coefficients, vectors = read_libsvm(path)
    V = np.array([[vector.get(j, 0.0) for j in range(1, rows.shape[1] + 1)] for vector in vectors])
    gamma = float(entries["gamma"])
    if entries["kernel_type"] == "rbf":
        K = np.exp(-gamma * np.square(rows[:, np.newaxis] - V).sum(axis=2))
    else:
        K = (gamma * rows @ V.T + float(entries["coef0"])) ** int(entries["degree"])
    sizes = [int(size) for size in entries["nr_sv"].split()]
    starts = np.cumsum([0, *sizes])
    rho = [float(cell) for cell in entries["rho"].split()]
    decisions = []
    for i in range(k):
        for j in range(i + 1, k):
            a, b = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            total = K[:, a] @ coefficients[a, j - 1] + K[:, b] @ coefficients[b, i]
            decisions.append(total - rho[len(decisions)])
    return np.column_stack(decisions)


def scaled(path, rows):
    """As svm-scale -r does."""
    lines = path.read_text().splitlines()
    assert lines[0] == "x"
    low, high = map(float, lines[1].split())
    ranges = np.array([[float(x) for x in line.split()[1:]] for line in lines[2:]])
    share = (rows - ranges[:, 0]) / (ranges[:, 1] - ranges[:, 0])
    return low + (high - low) * share


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "settings", [{}, {"kernel": "poly"}, {"per_pair": True, "n_vectors": 3}], ids=str
)
def test_a_libsvm_file_decides_as_the_model(classes, settings, tmp_path) -> None:
    X, y = draw(classes=classes)
    path = tmp_path / "m.model"
    model = CompressedSVC(**settings).fit(X, y + 3)
    model.export_libsvm(path)
    rows = scaled(tmp_path / "m.model.range", X)
    due = model.model_.decisions(X)
    np.testing.assert_allclose(libsvm_decisions(path, rows), due, rtol=1e-6, atol=1e-8)
    entries, *_ = read_libsvm(path)
    assert entries["label"].split() == [str(3 + label) for label in range(classes)]
    assert entries["svm_type"] == "c_svc" and len(entries["probA"].split()) == due.shape[1]
    if settings.get("per_pair"):
        assert int(entries["total_sv"]) == model.model_.most_evaluations


def test_a_given_svc_needs_no_ranges_in_its_libsvm_file(tmp_path) -> None:
    X, y = draw()
    model = CompressedSVC(SVC().fit(X, np.array(["a", "b", "c"])[y])).fit(X, np.array([*"abc"])[y])
    model.export_libsvm(tmp_path / "m.model")
    assert [file.name for file in tmp_path.iterdir()] == ["m.model"]
    found = libsvm_decisions(tmp_path / "m.model", X)
    np.testing.assert_allclose(found, model.model_.decisions(X), rtol=1e-6, atol=1e-8)
    assert re.search(r"^label 0 1 2$", (tmp_path / "m.model").read_text(), flags=re.MULTILINE)


# --- bad input ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda X, y: SVC(), "not fitted"),
        (lambda X, y: SVC(kernel="precomputed").fit(X @ X.T, y), "precomputed"),
        (lambda X, y: SVC(kernel="sigmoid").fit(X, y), "'sigmoid' has no known gradient"),
        (lambda X, y: SVC(kernel=lambda A, B: A @ B.T).fit(X, y), "no known gradient"),
        (lambda X, y: LinearSVC().fit(X, y), "keeps no support vectors"),
        (lambda X, y: "svc.joblib", "a str cannot be compressed"),
        (lambda X, y: SVC().fit(X[:, :3], y), "trained on 3 columns, the table has 4"),
        (lambda X, y: SVC().fit(X, y + 1), r"\[0\] are not classes of the svc \[1, 2, 3\]"),
    ],
)
def test_an_svc_that_cannot_be_compressed_is_refused(make, told) -> None:
    X, y = draw()
    with pytest.raises(DataError, match=told):
        CompressedSVC(make(X, y)).fit(X, y)


def test_a_class_without_support_vectors_is_refused(monkeypatch) -> None:
    X, y = draw()
    svc = SVC().fit(X, y)
    monkeypatch.setattr(SVC, "n_support_", np.array([9, 0, len(svc.support_) - 9]))
    with pytest.raises(DataError, match="class 1 has no support vectors"):
        CompressedSVC(svc).fit(X, y)


def test_other_columns_than_the_svc_has_seen_are_all_told() -> None:
    X, y = draw()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    svc = SVC().fit(frame, y)
    with pytest.raises(DataError, match="column 1 was 'b' .* it is 'e'"):
        CompressedSVC(svc).fit(frame.rename(columns={"b": "e"}), y)
    with pytest.raises(DataError, match="column 'b' holds categories"):
        CompressedSVC(svc).fit(frame.assign(b=np.where(y == 0, "x", "z")), y)


def test_tables_and_settings_that_make_no_sense_are_refused() -> None:
    X, y = draw()
    with pytest.raises(DataError, match="no column varies"):
        CompressedSVC().fit(np.ones((240, 2)), y)
    with pytest.raises(DataError, match="every class needs a row of positive weight"):
        CompressedSVC().fit(X, y, sample_weight=(y > 0).astype(float))
    with pytest.raises(DataError, match="sizes"):
        CompressedSVC().path(X, y, validation=(X, y), sizes=[0, 3])
    for bad in ({"n_vectors": 0}, {"n_vectors": 1.5}, {"kernel": "sigmoid"}, {"C": 0.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            CompressedSVC(**bad).fit(X, y)


# --- the rivals ---------------------------------------------------------------


@pytest.mark.parametrize("rival", RIVALS)
def test_a_rival_has_the_face_of_the_method(rival, tmp_path) -> None:
    X, y = draw()
    model = rival(n_vectors=12, random_state=0).fit(X, y)
    assert len(model.model_.vectors) == 12 and model.score(X, y) > 0.8
    model.save(tmp_path / "m.thrifty")
    assert np.array_equal(load(tmp_path / "m.thrifty").predict(X), model.predict(X))
    points = list(rival(random_state=0).path(X, y, validation=(X, y), sizes=[2, 6]))
    assert [point.knob["n_vectors"] for point in points] == [0, 2, 6]
    pairs = rival(n_vectors=3, per_pair=True, random_state=0).fit(X, y)
    assert pairs.model_.most_evaluations == 9


@pytest.mark.parametrize("rival", RIVALS)
def test_the_vectors_of_a_rival_are_rows_of_the_table(rival) -> None:
    X, y = draw()
    model = rival(n_vectors=9, random_state=0).fit(X, y)
    Z = model.model_.encoding.apply(X)
    assert all((vector == Z).all(axis=1).any() for vector in model.model_.vectors)
    moved = CompressedSVC(n_vectors=9).fit(X, y).model_.vectors
    assert not any((vector == Z).all(axis=1).any() for vector in moved)


def test_reduced_svm_is_at_the_optimum_of_its_squared_hinge() -> None:
    X, y = draw(classes=2)
    svc = SVC(gamma=0.2, C=2.0).fit(X, y)
    model = ReducedSVC(svc, n_vectors=6, random_state=0).fit(X, y).model_
    K = model.kernel.matrix(X, model.vectors)
    sign = np.where(y == 0, 1.0, -1.0)
    said = K @ model.coefficients[:, 0] + model.intercepts[0]
    short = np.maximum(1.0 - sign * said, 0.0) * sign
    among = model.kernel.matrix(model.vectors, model.vectors) @ model.coefficients[:, 0]
    np.testing.assert_allclose(among / 2.0 - K.T @ short, 0.0, atol=1e-4)
    assert abs(short.sum()) < 1e-4


def test_a_column_whose_values_are_all_in_rows_without_weight_is_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y, weight = (X[:, 0] > 0).astype(int), np.ones(40)
    X[:30, 2], weight[30:] = np.nan, 0.0
    model = CompressedSVC(max_moves=5, random_state=0).fit(X, y, sample_weight=weight)
    assert not model.used(X)[:, 2].any()
