"""How long `thrifty --help` takes, as a multiple of `import numpy`.

Each runs in a fresh interpreter, in turns; the best of many rounds counts, since slower ones
measure what else the machine was doing. The goal is a ratio of at most 3.
"""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import thrifty": ["-c", "import thrifty"],
    "from thrifty import load": ["-c", "from thrifty import load"],
    "import thrifty.serve": ["-c", "import thrifty.serve"],
    "thrifty --help": ["-m", "thrifty.cli", "--help"],
}
ROUNDS = 15
GOAL = 3.0


def seconds(arguments: list[str]) -> float:
    """Return the wall time of one fresh interpreter."""
    start = perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - start


def measure() -> dict[str, float]:
    """Return the best time of each command over all rounds."""
    rounds = [{name: seconds(code) for name, code in COMMANDS.items()} for _ in range(ROUNDS)]
    return {name: min(times[name] for times in rounds) for name in COMMANDS}


def main() -> None:
    """Print the time of each command, and the ratio."""
    best = measure()
    base = best["import numpy"]
    for name, time in best.items():
        print(f"{name:<26} {1000 * time:7.1f} ms   {time / base:5.2f} x import numpy")
    ratio = best["thrifty --help"] / base
    print(f"\nthrifty --help: {ratio:.2f} x import numpy (goal: at most {GOAL:g})")


if __name__ == "__main__":
    main()
