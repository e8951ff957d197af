"""One minimum cut by ortools, in a process of its own: it and HiGHS do not go together.

`python _general_max_flow.py GRAPH.npz` prints the CPU time of solving, without building the
solver, and the flow that it finds. Needs numpy and ortools only.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np


def solve(graph):
    """Seconds and flow."""
    from ortools.graph.python import max_flow

    solver = max_flow.SimpleMaxFlow()
    solver.add_arcs_with_capacity(graph["tail"], graph["head"], graph["room"])
    source, sink = graph["ends"].tolist()
    start = time.process_time()
    status = solver.solve(source, sink)
    seconds = time.process_time() - start
    if status != solver.OPTIMAL:
        raise RuntimeError(f"ortools gives up: {status}")
    return seconds, solver.optimal_flow()


if __name__ == "__main__":
    with np.load(sys.argv[1]) as file:
        graph = dict(file)
    seconds, flow = solve(graph)
    print(json.dumps({"seconds": seconds, "flow": flow}))
