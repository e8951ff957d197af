"""What a tree costs on a Dask cluster: a model of it, checked on 1, 2 and 4 local workers.

CPU time is measured in the processes of the workers, and in the one of the head and the scheduler,
as the difference of fits with few and with more trees. The model has a constant for each part of
the work; it is fitted to the runs, and then asked for a billion rows.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import logging
import time
from itertools import product

import numpy as np
import pandas as pd
from _harness import report

ROWS, PARTITIONS = 1_000_000, 8
WORKERS, COLUMNS = (1, 2, 4), (10, 50)
FEW, MORE = 3, 23
# What the model is asked for: rows, columns, workers; bytes a second, and seconds a message.
LARGE, BANDWIDTH, LATENCY = (1_000_000_000, 500, 100), 1.25e9, 0.001
# Messages of a tree of depth 4 for each worker, and histograms among their answers.
MESSAGES, HISTOGRAMS, BYTES = 11, 8, 2048


def rows_of(number, width):
    """Return the rows of a partition."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(ROWS // PARTITIONS, width)).astype(np.float32)
    frame = pd.DataFrame(X, columns=[f"x{j:02}" for j in range(width)])
    return frame.assign(y=X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3:10].sum(axis=1) > 0)


def measure(client, columns):
    """Return CPU seconds of a worker and of the head, seconds, messages and bytes of a tree."""
    import dask.dataframe as dd
    from distributed import wait

    from thrifty import GreedyMiserClassifier
    from thrifty.learn.cluster.parts import Parts

    frame = dd.from_map(rows_of, range(PARTITIONS), width=columns, meta=rows_of(0, columns)[:0])
    frame = frame.persist()
    wait(frame)
    call, answered = Parts.call, []

    def counting(self, name, *arguments):
        answers = call(self, name, *arguments)
        answered.append((len(answers), size_of(answers)))
        return answers

    def used(trees):
        answered.clear()
        model = GreedyMiserClassifier(n_estimators=trees, random_state=0)
        before = client.run(time.process_time)
        head, began = time.process_time(), time.perf_counter()
        model.fit(frame.drop(columns="y"), frame["y"])
        own = time.process_time() - head, time.perf_counter() - began
        after = client.run(time.process_time)
        busy = max(after[name] - before[name] for name in before)
        return np.array([busy, *own, *np.sum(answered, axis=0)])

    Parts.call = counting
    try:
        used(1)
        found = (used(MORE) - used(FEW)) / (MORE - FEW)
    finally:
        Parts.call = call
    print(len(client.nthreads()), columns, found, f"load {os.getloadavg()[0]:.1f}", flush=True)
    return found


def size_of(answer):
    """Return the bytes of the arrays in an answer."""
    if isinstance(answer, (tuple, list)):
        return sum(map(size_of, answer))
    return getattr(answer, "nbytes", 8)


def main():
    """Measure, fit the constants, compare, and ask for a table that no machine here could hold."""
    from distributed import Client

    runs, figures = list(product(WORKERS, COLUMNS)), []
    for workers in WORKERS:
        with Client(
            n_workers=workers, threads_per_worker=1, direct_to_workers=True,
            dashboard_address=":0", silence_logs=logging.CRITICAL,
        ) as client:  # fmt: skip
            figures += [measure(client, columns) for columns in COLUMNS]
    figures = np.array(figures)
    shape = np.array(runs, dtype=float)
    share = ROWS / shape[:, 0]
    # A worker: its rows times columns, its rows, its messages. The head: workers times columns, and
    # workers.
    terms = np.stack([share * shape[:, 1], share, np.ones(len(runs))], 1)
    per_row, *_ = np.linalg.lstsq(terms, figures[:, 0])
    per_part, *_ = np.linalg.lstsq(np.stack([shape.prod(1), shape[:, 0]], 1), figures[:, 1])

    def predict(rows, columns, workers):
        worker = rows / workers * (per_row[0] * columns + per_row[1]) + per_row[2]
        head = workers * (per_part[0] * columns + per_part[1])
        return worker, head, workers * HISTOGRAMS * columns * BYTES

    table = []
    for (workers, columns), found in zip(runs, figures, strict=True):
        worker, head, size = predict(ROWS, columns, workers)
        table.append((
            f"{ROWS} x {columns}, {workers}", f"{1e3 * found[0]:.0f}", f"{1e3 * worker:.0f}",
            f"{1e3 * found[1]:.0f}", f"{1e3 * head:.0f}", f"{found[4] / 1e6:.2f}",
            f"{size / 1e6:.2f}", f"{found[3]:.0f}", f"{1e3 * found[2]:.0f}",
        ))  # fmt: skip
    rows, columns, workers = LARGE
    worker, head, size = predict(rows, columns, workers)
    seconds = worker + head + size / BANDWIDTH + MESSAGES * LATENCY
    table.append((
        f"{rows} x {columns}, {workers}", "", f"{1e3 * worker:.0f}", "", f"{1e3 * head:.0f}", "",
        f"{size / 1e6:.0f}", f"{MESSAGES * workers}", f"{1e3 * seconds:.0f} (predicted)",
    ))  # fmt: skip
    header = (
        "rows x columns, workers", "worker, CPU ms", "model", "head, CPU ms", "model",
        "MB", "model", "messages", "elapsed ms",
    )  # fmt: skip
    print(f"constants: {per_row} s a row and column, and a row; {per_part} s a part and column, "
          f"and a part; load {os.getloadavg()[0]:.1f}")  # fmt: skip
    report("cluster", header, table)


if __name__ == "__main__":
    main()
