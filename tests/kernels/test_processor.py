"""Kernels for wider vectors give the same bits, and are taken where the processor has them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from uncompiled import assert_same, uncompiled

from thrifty.kernels import processor
from thrifty.kernels.processor import fastest, has_avx2

needs_avx2 = pytest.mark.skipif(not has_avx2(), reason="the processor has no AVX2")


def test_the_processor_is_asked() -> None:
    flags = Path("/proc/cpuinfo")
    if not flags.exists():
        pytest.skip("no /proc/cpuinfo")
    assert has_avx2() == (" avx2 " in flags.read_text())


@needs_avx2
def test_the_variant_for_avx2_is_taken_if_there_is_one() -> None:
    assert fastest("products").__name__ == "thrifty.kernels.products_avx2"
    assert fastest("binning").__name__ == "thrifty.kernels.binning"


@needs_avx2
@pytest.mark.parametrize("vectors", [1, 3, 4, 7, 50])
def test_products_have_the_same_bits_with_wider_vectors(vectors: int) -> None:
    rng = np.random.default_rng(vectors)
    X, across = rng.normal(size=(9, 13)), rng.normal(size=(13, vectors))
    for name in ("add_products", "add_squared_distances"):
        found = []
        for module in ("products", "products_avx2"):
            out = rng.normal(size=(9, vectors)) * 0.0 + 0.1
            getattr(import_module(f"thrifty.kernels.{module}"), name)(X, across, out)
            found.append(out)
        assert_same(*found)


def test_uncompiled_kernels_are_never_replaced() -> None:
    plain = uncompiled("processor")
    assert not plain.has_avx2()
    assert plain.fastest("products").__name__ == "thrifty.kernels.products"
    assert processor.fastest("random") is import_module("thrifty.kernels.random")
