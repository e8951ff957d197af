"""The first call in a fresh process against the second: nothing is compiled or loaded on demand.

Each case runs in processes of its own, with an empty cache folder and home, as on a new machine.
The least CPU time of the first call over all processes is divided by the least of the second.
Imports are measured apart: they happen once, before the first call.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from _harness import report

ROUNDS = 9
LIMIT = "<= 1.10"
DATA = """
import numpy as np
from thrifty import Prices, BudgetClassifier, GreedyMiserClassifier, BudgetForestClassifier, load
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 12))
y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=2000) > 0).astype(int)
prices = Prices([1.0, 2.0, 3.0] * 4)
"""
LOADED = """
import os
GreedyMiserClassifier(prices=prices, random_state=0).fit(X, y).save("model.thrifty")
loaded = load("model.thrifty")
os.remove("model.thrifty")
table = np.tile(X, (50, 1))
"""
# What runs before, and the call that is timed.
CASES = {
    "BudgetClassifier.fit": (
        "",
        "BudgetClassifier(prices=prices, budget=5, random_state=0).fit(X, y)",
    ),
    "GreedyMiserClassifier.fit": (
        "",
        "GreedyMiserClassifier(prices=prices, n_estimators=200, random_state=0).fit(X, y)",
    ),
    "BudgetForestClassifier.fit": (
        "",
        "BudgetForestClassifier(prices=prices, n_estimators=200, random_state=0).fit(X, y)",
    ),
    "predict 100k rows, loaded model": (LOADED, "loaded.predict(table)"),
}
IMPORTS = {
    "import thrifty": "import thrifty",
    "from thrifty import load": "from thrifty import load",
    "from thrifty import BudgetClassifier": "from thrifty import BudgetClassifier",
}
TWICE = """
import json, sys, time
{setup}
times = []
for _ in range(2):
    start = time.process_time()
    {call}
    times.append(time.process_time() - start)
print(json.dumps(times))
"""
ONCE = """
import time
start = time.process_time()
{call}
print(time.process_time() - start)
"""


def run(code: str) -> object:
    """Run code in a fresh process without any cache; return what it printed."""
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ,
            "HOME": home,
            "XDG_CACHE_HOME": home,
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-c", code]
        printed = subprocess.check_output(command, cwd=home, env=environment, text=True)
    return json.loads(printed)


def main() -> None:
    """Print and write the table."""
    rows = []
    for label, (setup, call) in CASES.items():
        code = TWICE.format(setup=DATA + setup, call=call)
        times = [run(code) for _ in range(ROUNDS)]
        first, second = (min(pair[k] for pair in times) for k in range(2))
        rows.append((label, f"{second:.3f}", f"{first / second:.2f}", LIMIT))
    for label, call in IMPORTS.items():
        seconds = min(run(ONCE.format(call=call)) for _ in range(ROUNDS))
        limit = "<= 0.30" if label == "import thrifty" else ""
        rows.append((label, "", f"{seconds:.3f}", limit))
    header = ("fresh process", "second call, CPU s", "first / second, or CPU s", "limit")
    report("cold_start", header, rows)


if __name__ == "__main__":
    main()
