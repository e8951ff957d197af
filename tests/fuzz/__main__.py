"""The command line of the fuzzer: ``python -m fuzz`` with ``tests`` on the path."""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from pathlib import Path

from fuzz.limits import cap_memory
from fuzz.search import Escape, Fuzzer, write_escape
from fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "fuzz"


def main(arguments: list[str] | None = None) -> int:
    """Fuzz; return 1 if anything escaped."""
    names = [target.name for target in TARGETS]
    parser = argparse.ArgumentParser(prog="dev.py fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, help="stop after so long (default: 1)")
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
    parser.add_argument("--target", choices=names, action="append", help="try only this one")
    parser.add_argument("--table", type=Path, help="write the number of cases by kind to this CSV")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where escapes are written")
    parser.add_argument("--slack", type=float, help="factor of the limits, for sanitizers")
    options = parser.parse_args(arguments)
    if options.slack is None and arguments is None:
        cap_memory()  # not with a sanitizer, which reserves far more than it uses
    minutes = 1.0 if options.minutes is None and options.cases is None else options.minutes
    targets = [target for target in TARGETS if not options.target or target.name in options.target]
    # A folder of its own, as several may run at a time.
    running = tempfile.TemporaryDirectory(prefix="thrifty-fuzz-")
    fuzzer = Fuzzer(targets, options.seed, Path(running.name), options.slack or 1.0)

    def report(escape: Escape) -> None:
        path = write_escape(escape, options.folder, options.seed)
        print(f"escape: {escape.target.name}: {escape.what} ({escape.where or 'a law'})")
        for edit in escape.edits:
            print(f"    {edit}")
        print(f"    {path}", flush=True)

    start = time.monotonic()
    fuzzer.run(options.cases, None if minutes is None else 60 * minutes, report)
    seconds = time.monotonic() - start
    running.cleanup()
    rows = [
        (
            target.name,
            sum(fuzzer.counts[target.name].values()),
            *(fuzzer.counts[target.name][end] for end in ("refused", "read", "escape")),
        )
        for target in targets
    ]
    rows.append(("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])))
    header = ("input", "cases", "refused", "read and used", "escapes")
    for row in (header, *rows):
        print(f"{row[0]:18}" + "".join(f"{cell:>15}" for cell in row[1:]))
    print(
        f"seed {options.seed}, {fuzzer.cases} cases in {seconds:.0f} s "
        f"({fuzzer.cases / max(seconds, 1e-9):.0f} a second), {fuzzer.lines.count} lines reached, "
        f"{len(fuzzer.escapes)} distinct escapes"
    )
    if options.table is not None:
        options.table.parent.mkdir(parents=True, exist_ok=True)
        with open(options.table, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return 1 if fuzzer.escapes else 0


if __name__ == "__main__":
    sys.exit(main())
