"""The frozen kernel machine: its decisions, what it reads, walks, and the model file."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest

from thrifty.errors import BundleError
from thrifty.model import KINDS, KernelMachine
from thrifty.model.encoding import Encoding
from thrifty.model.kernel_functions import (
    KERNELS,
    KernelFunction,
    PolynomialKernel,
    RBFKernel,
    register_kernel,
)

KERNEL_FUNCTIONS = [RBFKernel(0.7), PolynomialKernel(3, 0.5, 1.0), PolynomialKernel(1)]


def machine(kernel=KERNEL_FUNCTIONS[0], m=5, n_classes=3, seed=0):
    """Reads a number in column 0 and two categories in column 2, of four columns."""
    rng = np.random.default_rng(seed)
    encoding = Encoding(
        np.array([0, 2, 2]), np.array([-1, 0, 1]), np.array([1.0, 0.0, 0.0]),
        np.array([2.0, 1.0, 1.0]), np.array([0.0, 0.25, 0.75]),
    )  # fmt: skip
    pairs = n_classes * (n_classes - 1) // 2
    return KernelMachine(
        rng.normal(size=(m, 3)), rng.normal(size=(m, pairs)), rng.normal(size=pairs),
        rng.uniform(0.5, 2.0, size=pairs), encoding, kernel, n_classes, 4,
    )  # fmt: skip


def table(n=50, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2] = rng.integers(0, 2, size=n)
    X[rng.random((n, 4)) < 0.1] = np.nan
    return X


# --- scores and walks ------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNEL_FUNCTIONS, ids=repr)
def test_decisions_are_the_weighted_sum_of_kernel_values(kernel) -> None:
    model, X = machine(kernel), table()
    Z = model.encoding.apply(X)
    expected = kernel.matrix(Z, model.vectors) @ model.coefficients + model.intercepts
    np.testing.assert_allclose(model.decisions(X), expected, rtol=1e-10, atol=1e-12)


def test_missing_values_are_encoded_by_their_fills() -> None:
    Z = machine().encoding.apply(np.array([[np.nan] * 4, [3.0, 9.0, 1.0, 9.0]]))
    assert Z.tolist() == [[0.0, 0.25, 0.75], [1.0, 0.0, 1.0]]


def test_every_row_reads_the_encoded_columns_and_evaluates_every_vector() -> None:
    model, X = machine(), table()
    assert np.array_equal(model.used(X), np.tile([True, False, True, False], (len(X), 1)))
    assert set(model.evaluations(X)) == {5} and model.most_evaluations == 5


@pytest.mark.parametrize("kernel", KERNEL_FUNCTIONS, ids=repr)
@pytest.mark.parametrize("rows", [1, 3, 700])
def test_a_row_alone_gets_the_bits_of_the_batch(kernel, rows) -> None:
    model, X = machine(kernel, m=9), table(700)
    whole = model.score(X)
    assert np.array_equal(whole[:rows], model.score(X[:rows]))


def test_blocks_of_rows_give_the_bits_of_one_block() -> None:
    model, X = machine(), table(5000)
    parts = [model.decisions(X[first : first + 1000]) for first in range(0, 5000, 1000)]
    assert np.array_equal(model.decisions(X), np.concatenate(parts))


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


def test_the_more_probable_of_two_classes_is_the_decision() -> None:
    model = machine(n_classes=2)
    X = table(300)
    assert np.array_equal(model.score(X).argmax(axis=1) == 0, model.decisions(X)[:, 0] > 0)


def test_huge_values_still_give_probabilities() -> None:
    for kernel in KERNEL_FUNCTIONS:
        scores = machine(kernel).score(np.full((6, 4), 1e300))
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(scores.sum(axis=1), 1.0)


def test_a_table_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="reads 4 columns"):
        machine().score(np.zeros((2, 3)))


# --- the model file ----------------------------------------------------------------


def test_a_copy_and_a_rebuilt_model_are_the_same_and_read_only() -> None:
    model, X = machine(), table()
    for other in (copy.deepcopy(model), KernelMachine.build(*model.state())):
        assert np.array_equal(model.score(X), other.score(X))
        assert not other.vectors.flags.writeable and not other.encoding.fills.flags.writeable
    assert KINDS["support"] is KernelMachine


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("vectors", np.full((5, 3), np.inf), "vectors must be finite"),
        ("coefficients", np.zeros((4, 3)), "coefficients has shape"),
        ("columns", np.array([0, 2, 4]), "beyond the 4"),
        ("columns", np.array([0.0, 2.0, 2.0]), "columns must be 1-d"),
        ("codes", np.array([-2, 0, 1]), "category that does not exist"),
        ("scales", np.zeros(3), "scales must be positive"),
        ("slopes", np.full(3, -1.0), "slopes must be positive"),
        ("fills", np.zeros(2), "fills has shape"),
    ],
)
def test_a_damaged_array_is_refused(name, value, message) -> None:
    plain, arrays = machine().state()
    with pytest.raises(BundleError, match=message):
        KernelMachine.build(plain, {**arrays, name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": "telepathy"}, "not known here"),
        ({"parameters": {}}, "needs the parameters"),
        ({"parameters": {"gamma": -1.0}}, "positive"),
        ({"parameters": {"gamma": "1"}}, "must be numbers"),
        ({"n_classes": 1}, "n_classes is 1"),
        ({"n_classes": 4}, "has shape"),
        ({"n_features": True}, "n_features is True"),
        ({"more": 1}, "expected the entries"),
    ],
)
def test_a_damaged_entry_is_refused(change, message) -> None:
    plain, arrays = machine().state()
    with pytest.raises(BundleError, match=message):
        KernelMachine.build({**plain, **change}, arrays)
    with pytest.raises(BundleError, match="expected the arrays"):
        KernelMachine.build(plain, {**arrays, "more": np.zeros(1)})


def test_a_custom_kernel_must_be_registered_before_its_model_is_read() -> None:
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
        KernelMachine.build(*model.state())
    try:
        register_kernel(Constant)
        assert KernelMachine.build(*model.state()).kernel == Constant(2.0)
        with pytest.raises(ValueError, match="already"):
            register_kernel(type("Other", (Constant,), {}))
    finally:
        del KERNELS["constant"]
