"""Law 4: a file restores every bit or is refused."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from thrifty.bundle import load, load_points
from thrifty.checks.batch_outputs import BatchOutputs, same_model
from thrifty.checks.cases import Case
from thrifty.checks.verdict import LawError, law, require
from thrifty.errors import BundleError

__all__ = ["law_damage", "law_files"]

N_CHANGED_BYTES = 40
N_CUTS = 10


@law("a saved model is loaded to the same bits")
def law_files(estimator: Any, case: Case) -> None:
    """Compare state, outputs, classes and prices; saving what was loaded gives the same bytes."""
    fitted = case.fit(estimator)
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.thrifty")
        fitted.save(path)
        loaded = load(path)
        written = path.read_bytes()
        load_points(path).save(path)  # a file may hold several operating points
        require(path.read_bytes() == written, "a loaded model is saved to other bytes")
    predictor = fitted.predictor_
    same_model(predictor, loaded, "after loading")
    outputs = BatchOutputs.of(fitted, case.test_table)
    outputs.require_same(BatchOutputs.of(loaded, case.test_table), "after loading")
    require(loaded.prices == predictor.prices, f"prices after loading: {loaded.prices}")
    require(loaded.schema == predictor.schema, f"schema after loading: {loaded.schema}")
    names = loaded.schema.table_names
    require(names == predictor.schema.table_names, f"order of the columns after loading: {names}")
    require(loaded.knob == predictor.knob, f"knob after loading: {loaded.knob}")
    require(loaded.labels == predictor.labels, f"classes after loading: {loaded.labels}")


@law("a damaged file is refused")
def law_damage(estimator: Any, case: Case) -> None:
    """Change one byte, cut off the end or add a byte: each raises `BundleError`, nothing else."""
    fitted = case.fit(estimator)
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.thrifty")
        fitted.save(path)
        data = path.read_bytes()
        rng = np.random.default_rng(len(data))
        ends = [0, 1, len(data) - 2, len(data) - 1]
        damaged = []
        for place in [*ends, *rng.integers(len(data), size=N_CHANGED_BYTES).tolist()]:
            byte = bytes([data[place] ^ int(rng.integers(1, 256))])
            changed = data[:place] + byte + data[place + 1 :]
            damaged.append((f"with byte {place} changed", changed))
        for size in [*ends, *rng.integers(len(data), size=N_CUTS).tolist()]:
            damaged.append((f"cut to {size} bytes", data[:size]))
        damaged.append(("with a byte more", data + b"\0"))
        for what, damaged_data in damaged:
            path.write_bytes(damaged_data)
            try:
                load(path)
            except BundleError:
                continue
            raise LawError(f"a file {what} is loaded as if nothing were wrong")
