"""The frozen kernel machine: what it decides, what it reads, and what a file may hold."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import BundleError
from thrifty.model import KINDS, SupportSet
from thrifty.model import products as products_module
from thrifty.model.encoding import Encoding
from thrifty.model.kernel_functions import (
    KERNELS,
    KernelFunction,
    PolynomialKernel,
    RBFKernel,
    build_kernel,
    register_kernel,
)
from thrifty.model.pairwise import couple, pair_classes

KERNEL_FUNCTIONS = [RBFKernel(0.7), PolynomialKernel(3, 0.5, 1.0), PolynomialKernel(1)]


def machine(kernel=KERNEL_FUNCTIONS[0], m=5, n_classes=3, seed=0):
    """Slots: a number, a category of two labels, and nothing of the last column."""
    rng = np.random.default_rng(seed)
    slots = Encoding(
        np.array([0, 2, 2]), np.array([-1, 0, 1]), np.array([1.0, 0.0, 0.0]),
        np.array([2.0, 1.0, 1.0]), np.array([0.0, 0.25, 0.75]),
    )  # fmt: skip
    pairs = n_classes * (n_classes - 1) // 2
    return SupportSet(
        rng.normal(size=(m, 3)), rng.normal(size=(m, pairs)), rng.normal(size=pairs),
        rng.uniform(0.5, 2.0, size=pairs), slots, kernel, n_classes, 4,
    )  # fmt: skip


def table(n=50, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2] = rng.integers(0, 2, size=n)
    X[rng.random((n, 4)) < 0.1] = np.nan
    return X


@pytest.mark.parametrize("kernel", KERNEL_FUNCTIONS, ids=repr)
def test_decisions_are_the_weighted_sum_of_kernel_values(kernel) -> None:
    model, X = machine(kernel), table()
    Z = model.encoding.apply(X)
    due = kernel.matrix(Z, model.vectors) @ model.coefficients + model.intercepts
    np.testing.assert_allclose(model.decisions(X), due, rtol=1e-10, atol=1e-12)


def test_missing_values_have_numbers_of_their_own() -> None:
    Z = machine().encoding.apply(np.array([[np.nan] * 4, [3.0, 9.0, 1.0, 9.0]]))
    assert Z.tolist() == [[0.0, 0.25, 0.75], [1.0, 0.0, 1.0]]


def test_every_row_reads_the_columns_of_the_slots_and_every_vector() -> None:
    model, X = machine(), table()
    assert np.array_equal(model.used(X), np.tile([True, False, True, False], (len(X), 1)))
    assert set(model.evaluations(X)) == {5} and model.most_evaluations == 5


@pytest.mark.parametrize("kernel", KERNEL_FUNCTIONS, ids=repr)
@pytest.mark.parametrize("rows", [1, 3, 700])
def test_the_plain_twin_and_a_row_alone_give_the_bits_of_the_batch(
    kernel, rows, monkeypatch
) -> None:
    model, X = machine(kernel, m=9), table(700)
    whole = model.score(X)
    assert np.array_equal(whole[:rows], model.score(X[:rows]))
    monkeypatch.setattr(products_module, "find_spec", lambda name: None)
    assert np.array_equal(whole[:rows], model.score(X[:rows]))


def test_a_walk_asks_for_all_at_once_the_cheapest_first() -> None:
    model = machine()
    walk = model.walk({0: 5.0, 2: 1.0}.__getitem__)
    assert walk.asks == (2, 0)
    walk.tell({1: 7.0, 2: 1.0})
    assert walk.touched == (2,) and walk.asks == (0,) and walk.evaluations == 0
    assert np.array_equal(walk.scores, model.score(np.array([[np.nan, np.nan, 1.0, np.nan]]))[0])
    walk.tell({0: 0.5})
    assert walk.asks == () and walk.evaluations == 5
    assert np.array_equal(walk.scores, model.score(np.array([[0.5, 7.0, 1.0, 7.0]]))[0])


@given(st.integers(2, 6), st.integers(0, 1000))
def test_pairs_that_agree_are_coupled_to_the_distribution_they_come_from(k, seed) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(k), size=4) + 1e-9
    p /= p.sum(axis=1, keepdims=True)
    first, second = pair_classes(k)
    found = couple(np.log(p[:, first] / p[:, second]), k)
    np.testing.assert_allclose(found, p, rtol=1e-7)


def test_the_most_probable_of_two_is_the_one_decided_for() -> None:
    model = machine(n_classes=2)
    X = table(300)
    assert np.array_equal(model.score(X).argmax(axis=1) == 0, model.decisions(X)[:, 0] > 0)


def test_values_out_of_all_bounds_still_give_probabilities() -> None:
    for kernel in KERNEL_FUNCTIONS:
        scores = machine(kernel).score(np.full((6, 4), 1e300))
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(scores.sum(axis=1), 1.0)


@pytest.mark.parametrize("kernel", KERNEL_FUNCTIONS, ids=repr)
def test_gradients_of_the_kernels_equal_finite_differences(kernel) -> None:
    rng = np.random.default_rng(3)
    X, V, weights = rng.normal(size=(6, 2)), rng.normal(size=(3, 2)), rng.normal(size=(6, 3))
    gradient, h = kernel.gradient(X, V, weights), 1e-6
    for place in np.ndindex(V.shape):
        step = np.zeros_like(V)
        step[place] = h
        change = kernel.value(X, V + step) - kernel.value(X, V - step)
        assert gradient[place] == pytest.approx((weights * change).sum() / (2 * h), abs=1e-6)


def test_a_copy_and_a_rebuilt_model_are_the_same_and_sealed() -> None:
    model, X = machine(), table()
    for other in (copy.deepcopy(model), SupportSet.build(*model.state())):
        assert np.array_equal(model.score(X), other.score(X))
        assert not other.vectors.flags.writeable and not other.encoding.fills.flags.writeable
    assert KINDS["support"] is SupportSet


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("vectors", np.full((5, 3), np.inf), "vectors must be finite"),
        ("coefficients", np.zeros((4, 3)), "coefficients have shape"),
        ("columns", np.array([0, 2, 4]), "beyond the 4"),
        ("columns", np.array([0.0, 2.0, 2.0]), "columns must be 1-d"),
        ("codes", np.array([-2, 0, 1]), "category that does not exist"),
        ("scales", np.zeros(3), "scales must be positive"),
        ("slopes", np.full(3, -1.0), "slopes must be positive"),
        ("fills", np.zeros(2), "fills have shape"),
    ],
)
def test_arrays_that_are_not_sound_are_refused(name, value, told) -> None:
    plain, arrays = machine().state()
    with pytest.raises(BundleError, match=told):
        SupportSet.build(plain, {**arrays, name: value})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kernel": "telepathy"}, "not known here"),
        ({"parameters": {}}, "needs the parameters"),
        ({"parameters": {"gamma": -1.0}}, "positive"),
        ({"parameters": {"gamma": "1"}}, "must be numbers"),
        ({"n_classes": 1}, "n_classes is 1"),
        ({"n_classes": 4}, "have shape"),
        ({"n_features": True}, "n_features is True"),
        ({"more": 1}, "expected the entries"),
    ],
)
def test_entries_that_are_not_sound_are_refused(change, told) -> None:
    plain, arrays = machine().state()
    with pytest.raises(BundleError, match=told):
        SupportSet.build({**plain, **change}, arrays)
    with pytest.raises(BundleError, match="expected the arrays"):
        SupportSet.build(plain, {**arrays, "more": np.zeros(1)})


def test_a_kernel_of_ones_own_must_be_registered_to_be_read() -> None:
    @dataclass(frozen=True)
    class Constant(KernelFunction):
        height: float
        name = "constant"

        def value(self, X, V):
            return np.full((len(X), len(V)), self.height)

        def gradient(self, X, V, weights):
            return np.zeros_like(V)

    model = replace(machine(), kernel=Constant(2.0))
    with pytest.raises(BundleError, match="register_kernel"):
        SupportSet.build(*model.state())
    try:
        register_kernel(Constant)
        assert SupportSet.build(*model.state()).kernel == Constant(2.0)
        with pytest.raises(ValueError, match="already"):
            register_kernel(type("Other", (Constant,), {}))
    finally:
        del KERNELS["constant"]


@pytest.mark.parametrize(
    "settings", [{"degree": 0}, {"degree": 2.5}, {"gamma": 0.0}, {"coef0": np.nan}]
)
def test_parameters_that_make_no_kernel_are_refused(settings) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        PolynomialKernel(**settings)
    with pytest.raises(BundleError):
        build_kernel("rbf", {"gamma": 0.0})


def test_a_table_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="reads 4 columns"):
        machine().score(np.zeros((2, 3)))
