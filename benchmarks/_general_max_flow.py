"""Compute one minimum cut with OR-Tools, in its own process: it clashes with HiGHS.

`python _general_max_flow.py GRAPH.npz` prints the CPU time of the solution, without the time to
build the solver, and the maximum flow. It needs numpy and ortools only.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np


def solve(graph):
    """Return the CPU seconds and the maximum flow."""
    from ortools.graph.python import max_flow

    solver = max_flow.SimpleMaxFlow()
    solver.add_arcs_with_capacity(graph["tail"], graph["head"], graph["capacity"])
    source, sink = graph["ends"].tolist()
    start = time.process_time()
    status = solver.solve(source, sink)
    seconds = time.process_time() - start
    if status != solver.OPTIMAL:
        raise RuntimeError(f"ortools found no optimum: {status}")
    return seconds, solver.optimal_flow()


if __name__ == "__main__":
    with np.load(sys.argv[1]) as file:
        graph = dict(file)
    seconds, flow = solve(graph)
    print(json.dumps({"seconds": seconds, "flow": flow}))
