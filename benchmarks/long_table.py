"""Training on a table that is read from Parquet files: memory, time, and the same model.

20 million rows of 50 columns of float32 take 4.7 GB in a temporary folder, and 1 GB for their bins.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from _harness import report

COLUMNS, FILE_ROWS, TREES = 50, 500_000, 100
LENGTHS = (1_000_000, 20_000_000)
# The peak is asked of the process itself: that of a child counts its parent's memory, too.
RUN = """
import sys, time
from thrifty import GreedyMiserClassifier, Table
from thrifty.learn.boosting.base import GreedyMiser
start, times = GreedyMiser._start, []
def timed(*arguments):
    times.append(time.process_time())
    return start(*arguments)
GreedyMiser._start = timed
table = Table.parquet(sys.argv[1], target="y")
model = GreedyMiserClassifier(n_estimators=int(sys.argv[2]), random_state=0).fit(table)
times.append(time.process_time())
model.save(sys.argv[3])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(peak.split()[1], *times)
"""


def write_file(folder, number):
    """Write some of the rows."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(FILE_ROWS, COLUMNS)).astype(np.float32)
    frame = pd.DataFrame(X, columns=[f"x{j:02}" for j in range(COLUMNS)])
    frame["y"] = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3:10].sum(axis=1) > 0
    frame.to_parquet(folder / f"{number:03}.parquet")


def measure(folder, model):
    """Return CPU seconds to read, those of a tree, and the peak memory in GB of a fit."""
    command = [sys.executable, "-c", RUN, str(folder), str(TREES), str(model)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    peak, read, grown = map(float, result.stdout.split())
    return f"{read:.0f}", f"{(grown - read) / TREES:.2f}", f"{peak / 2**20:.2f}"


def fit_in_memory(folder, model):
    """Train on the same rows in memory."""
    from thrifty import GreedyMiserClassifier

    frame = pd.concat([pd.read_parquet(path) for path in sorted(folder.iterdir())])
    fitted = GreedyMiserClassifier(n_estimators=TREES, random_state=0)
    fitted.fit(frame.drop(columns="y"), frame["y"].to_numpy()).save(model)


def main():
    """Train on more and more files."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder, model, same = Path(name, "table"), Path(name, "a.thrifty"), Path(name, "b.thrifty")
        folder.mkdir()
        written = 0
        for length in LENGTHS:
            while written * FILE_ROWS < length:
                write_file(folder, written)
                written += 1
            rows.append((f"{length} rows", *measure(folder, model), "<= 4"))
            if length == LENGTHS[0]:
                fit_in_memory(folder, same)
                assert model.read_bytes() == same.read_bytes()
    header = ("table", "CPU s to read and bin", "CPU s a tree", "peak memory, GB", "limit")
    report("long_table", header, rows)


if __name__ == "__main__":
    main()
