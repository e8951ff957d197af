"""Law 4: a file gives back every bit or nothing; the plain twin gives the kernels' bits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from thrifty.bundle import load
from thrifty.checks.cases import Case
from thrifty.checks.faces import Faces, same_model
from thrifty.checks.verdict import law, require, same
from thrifty.errors import BundleError

__all__ = ["law_damage", "law_files", "law_twin"]

DAMAGES = 40


@law("a saved model is loaded to the same bits")
def law_files(estimator: Any, case: Case) -> None:
    """State, faces, classes and prices; and what was loaded is saved to the same bytes."""
    fitted = case.fit(estimator)
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.thrifty")
        fitted.save(path)
        loaded = load(path)
        written = path.read_bytes()
        loaded.save(path)
        require(path.read_bytes() == written, "a loaded model is saved to other bytes")
    predictor = fitted.predictor_
    same_model(predictor, loaded, "after loading")
    Faces.of(fitted, case.held_table).agree(Faces.of(loaded, case.held_table), "after loading")
    require(loaded.prices == predictor.prices, f"prices after loading: {loaded.prices}")
    require(loaded.schema == predictor.schema, f"schema after loading: {loaded.schema}")
    require(loaded.knob == predictor.knob, f"knob after loading: {loaded.knob}")
    require(loaded.labels == predictor.labels, f"classes after loading: {loaded.labels}")


@law("a damaged file is refused")
def law_damage(estimator: Any, case: Case) -> None:
    """One byte changed, or the end cut off: `BundleError`, and nothing else."""
    fitted = case.fit(estimator)
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.thrifty")
        fitted.save(path)
        for what, data in _damaged(path.read_bytes()):
            path.write_bytes(data)
            try:
                load(path)
            except BundleError:
                continue
            require(False, f"a file {what} is loaded as if nothing were wrong")


def _damaged(data: bytes) -> Iterator[tuple[str, bytes]]:
    random = np.random.default_rng(len(data))
    ends = [0, 1, len(data) - 2, len(data) - 1]
    for place in [*ends, *random.integers(len(data), size=DAMAGES).tolist()]:
        byte = data[place] ^ int(random.integers(1, 256))
        yield f"with byte {place} changed", data[:place] + bytes([byte]) + data[place + 1 :]
    for size in [*ends, *random.integers(len(data), size=DAMAGES // 4).tolist()]:
        yield f"cut to {size} bytes", data[:size]
    yield "with a byte more", data + b"\0"


@law("the plain twin gives the bits of the kernels")
def law_twin(estimator: Any, case: Case) -> None:
    """The batch faces without Numba, for models that have a plain twin."""
    fitted = case.fit(estimator)
    model, X = fitted.model_, fitted.schema_.encode(case.held_table)
    scores, used = model.score(X), model.used(X)
    with _without_numba():
        same("scores of the plain twin", scores, model.score(X))
        same("used of the plain twin", used, model.used(X))


@contextmanager
def _without_numba() -> Iterator[None]:
    """Let the frozen models believe that Numba is not installed."""
    twins = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("thrifty.model.") and hasattr(module, "find_spec")
    ]
    finders = [module.find_spec for module in twins]
    try:
        for module in twins:
            vars(module)["find_spec"] = lambda name: None
        yield
    finally:
        for module, finder in zip(twins, finders, strict=True):
            vars(module)["find_spec"] = finder
