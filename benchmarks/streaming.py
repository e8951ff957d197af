"""Peak memory of `thrifty predict` as tables get longer, and its rate.

The tables are written to a temporary folder: 50 columns of float32, about 1.2 GB of Parquet and
2.4 GB of CSV for the longest one.
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
import pyarrow as pa
from _harness import report
from pyarrow.parquet import ParquetWriter

from thrifty import GreedyMiserClassifier

COLUMNS, PART = 50, 50_000
# The peak is asked of the process itself: that of a child counts its parent's memory, too.
RUN = """
import sys, time
from thrifty.cli import main
main(sys.argv[1:], standalone_mode=False)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(peak.split()[1], time.process_time())
"""
LENGTHS = (250_000, 1_000_000, 5_000_000)


def make_part(seed):
    """Return some rows and their label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(PART, COLUMNS)).astype(np.float32)
    frame = pd.DataFrame(X, columns=[f"x{j:02}" for j in range(COLUMNS)])
    frame["customer"] = [f"{seed:03}-{i:05}" for i in range(PART)]
    return frame, X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3:10].sum(axis=1) > 0


def write_tables(folder, rows):
    """Write the same rows to a CSV file and a Parquet file, in row groups of a million rows."""
    parts = [make_part(seed)[0] for seed in range(20)]
    tables = [pa.Table.from_pandas(part, preserve_index=False) for part in parts]
    with ParquetWriter(folder / f"{rows}.parquet", tables[0].schema) as writer:
        for _ in range(0, rows, 20 * PART):
            writer.write_table(pa.concat_tables(tables[: rows // PART]), row_group_size=20 * PART)
    lines = parts[0].to_csv(index=False, float_format="%.6g")
    header, lines = lines.split("\n", 1)
    with open(folder / f"{rows}.csv", "w") as file:
        file.write(header + "\n")
        for _ in range(0, rows, PART):
            file.write(lines)


def measure(folder, name, output):
    """Return the peak memory in MB and the CPU seconds of a prediction of a file."""
    arguments = [
        "predict",
        "model.thrifty",
        name,
        "--id",
        "customer",
        "--bill",
        "--used",
        "--proba",
    ]
    command = [sys.executable, "-c", RUN, *arguments, "-o", output]
    result = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    peak, seconds = result.stdout.splitlines()[-1].split()
    return float(peak) / 1024, float(seconds)


def main():
    """Predict tables of growing length."""
    rows = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        X, y = make_part(1000)
        model = GreedyMiserClassifier(n_estimators=100, random_state=0)
        model.fit(X.drop(columns="customer"), y).save(folder / "model.thrifty")
        peaks = {}
        for length in LENGTHS:
            write_tables(folder, length)
            for kind in ("parquet", "csv"):
                peak, seconds = measure(folder, f"{length}.{kind}", f"out.{kind}")
                peaks.setdefault(kind, peak)
                rows.append((
                    f"{kind}, {length} rows", f"{length / seconds:.0f}", f"{peak:.0f}",
                    f"{peak / peaks[kind]:.3f}", "<= 1.05",
                ))  # fmt: skip
                (folder / f"{length}.{kind}").unlink()
    header = ("table", "rows per CPU second", "peak memory, MB", "of the shortest's", "limit")
    report("streaming", header, sorted(rows))


if __name__ == "__main__":
    main()
