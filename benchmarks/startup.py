"""How long the command line takes to answer `--help`, as a multiple of `import numpy`.

Both are fresh interpreters measured in turns in the same run; the best of many is what the code
costs, the rest is what else the machine was doing. The aim is a ratio of at most 3.
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
AIM = 3.0


def seconds(arguments: list[str]) -> float:
    """Time of one fresh interpreter."""
    start = perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - start


def measure() -> dict[str, float]:
    """Best time of each command over all rounds."""
    rounds = [{name: seconds(code) for name, code in COMMANDS.items()} for _ in range(ROUNDS)]
    return {name: min(times[name] for times in rounds) for name in COMMANDS}


def main() -> None:
    """Print one line per command and the ratio that matters."""
    best = measure()
    base = best["import numpy"]
    for name, time in best.items():
        print(f"{name:<26} {1000 * time:7.1f} ms   {time / base:5.2f} x import numpy")
    ratio = best["thrifty --help"] / base
    print(f"\nthrifty --help: {ratio:.2f} x import numpy (aim: at most {AIM:g})")


if __name__ == "__main__":
    main()
