"""What becomes of files when something fails: counts for docs/reliability/faults.csv.

- Every operation of everything that writes files fails once, with each of several errors.
- A power failure is simulated after every operation of a write, with and without such a fault.
- Commands write to file systems that are really full or read-only (Linux, as root).
- `thrifty fit` and `thrifty curve` with ``--resume`` are killed, and interrupted, at random moments
  and run again; half of the time on a disk that is slow, so that many kills come during a write.

A file is torn if it is neither what it was before nor what an undisturbed run writes. What is left
behind are hidden files that end in ``.part``: only kill -9 may leave some. Anything else that is
not as documented counts as wrong: an exit code, a message, a result that differs, a learner that is
trained again.
"""

from __future__ import annotations

import csv
import errno
import io
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from _faulty_disk import Disk, contents, inject_faults, power_failures
from _writers import (
    COMMANDS,
    LIBRARY,
    OLD,
    CommandError,
    predictor,
    prepare,
    run_command,
    trained_once,
)

from thrifty.files import write_whole

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "reliability" / "faults.csv"
CODES = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)
HEADER = ("what", "where", "times", "torn files", "left behind", "wrong")
ROUNDS, KILLS_A_ROUND = 5, 3
INTERRUPTS = 15
LEARNERS = ("--learner", "ladder", "--learner", "greedy-miser", "--learner", "budget-forest")
TRAINING = ("table.csv", "--target", "ill", "--prices", "prices.csv", "--resume", "kept")
FIT = ("fit", *TRAINING, "--budget", "4", "-o", "out.thrifty", "--report", "out.html")
RUNS = {
    "thrifty fit --resume, three learners": (*FIT, *LEARNERS),
    "thrifty fit --resume, a ladder": FIT,
    "thrifty curve --resume, three learners": ("curve", *TRAINING, "-o", "out.csv", *LEARNERS),
}
# A process that says when it has started, on a disk that may be slow.
PROCESS = """
import os, sys, time
import thrifty.files
from thrifty.cli import main

class SlowDisk:
    def __getattr__(self, name):
        return getattr(os, name)
    def fsync(self, descriptor):
        time.sleep(0.1)
        os.fsync(descriptor)
    def replace(self, *paths):
        time.sleep(0.1)
        os.replace(*paths)
        time.sleep(0.1)

if sys.argv.pop(1) == "slow":
    thrifty.files.os = SlowDisk()
sys.stderr.write("started\\n")
sys.stderr.flush()
main(prog_name="thrifty")
"""

Row = tuple[str, str, int, int, int, int]


@contextmanager
def workplace() -> Iterator[Path]:
    """Make a folder with the inputs of the commands and old files in the places of outputs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        prepare(folder)
        yield folder


# --- injected faults ---------------------------------------------------------


def measure_faults() -> Iterator[Row]:
    """Let every operation of every writer fail; count by operation."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    writers: dict[str, Callable[[Path], None]] = dict(LIBRARY)
    for name, arguments in COMMANDS.items():
        writers[name] = lambda folder, given=arguments: run_command(folder, *given)  # type: ignore[misc]
    for name, write in writers.items():
        codes = CODES if name != "thrifty demo" else CODES[:1]  # it takes long
        with workplace() as folder, trained_once():
            for fault in inject_faults(folder, lambda: None, partial(write, folder), codes):
                count = counts[fault.operation]
                count["times"] += 1
                count["torn"] += len(fault.torn)
                count["left"] += len(fault.left)
                # Systems that cannot force folders to the disk say so in this way.
                silent = fault.operation.endswith("folder") and fault.code == errno.EACCES
                told = fault.error is not None and str(folder) in str(fault.error)
                if name in COMMANDS:
                    told = told and isinstance(fault.error, CommandError)
                count["wrong"] += not (fault.error is None if silent else told)
        print(f"  {name}", flush=True)
    where = f"{len(writers)} writers, each operation of each"
    for operation, count in sorted(counts.items()):
        yield (f"{operation} fails", where, *(count[n] for n in ("times", "torn", "left", "wrong")))


def measure_power_failures() -> Iterator[Row]:
    """Simulate power failures after every operation of a write."""
    new = [b"new" * 4000, b"newer" * 4000, b"end"]
    whole = b"".join(new)
    for where, old in {"a new file": None, "an old file": OLD * 500}.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(os.path.realpath(name))
            path = folder / "file"
            before = {} if old is None else {str(path): old}

            def write_old(path: Path = path, old: bytes | None = old) -> None:
                path.write_bytes(old) if old is not None else path.unlink(missing_ok=True)

            with Disk().installed() as disk:
                write_whole(path, iter(new))
            lost = sum(left.get(str(path)) != whole for left in power_failures(before, disk.log))
            logs = [disk.log]
            faults = inject_faults(folder, write_old, partial(write_whole, path, new), CODES)
            logs += [fault.log for fault in faults]
            seen = [
                left.get(str(path))
                for log in logs
                for end in range(len(log) + 1)
                for left in power_failures(before, log[:end])
            ]
            torn = sum(data not in (old, whole) for data in seen)
            yield "simulated power failure", f"in place of {where}", len(seen), torn, 0, lost


# --- real faults -------------------------------------------------------------


def measure_full_disk() -> Iterator[Row]:
    """Write to a small file system that fills up, and to one that is read-only."""
    with tempfile.TemporaryDirectory() as name:
        mount = f"mount -t tmpfs -o size=4m tmpfs '{name}'"
        command = ["unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh"]
        command += [sys.executable, __file__, "--inside", name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        print(f"  no file system of our own: {done.stderr[-300:]}")
        return
    for row in csv.reader(io.StringIO(done.stdout)):
        yield row[0], row[1], *(int(cell) for cell in row[2:])  # type: ignore[misc]


def fill_the_disk(place: Path) -> Iterator[Row]:
    """Run commands that write to a file system with less and less space, then read-only."""
    outputs = ["out.thrifty", "out.html", "out.csv", "out.svg"]
    runs = [COMMANDS[name] for name in ("thrifty import", "thrifty predict", "thrifty fit",
                                        "thrifty curve, plot")]  # fmt: skip
    with workplace() as folder, trained_once():
        times, torn, left, wrong = 0, 0, 0, 0
        for arguments, spare in itertools.product(runs, (0, 1, 2, 4, 8, 16)):
            given = [str(place / a) if a.startswith("out.") else a for a in arguments]
            for output in outputs:
                (place / output).write_bytes(OLD)
            (place / "out.md").write_bytes(OLD)
            filler = place / "filler"
            with filler.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    file.truncate(max(file.tell() - 4096 * spare, 0))
            before = contents(place)
            try:
                run_command(folder, *given)
            except CommandError as error:
                times += 1
                wrong += "cannot write: No space left on device" not in str(error)
            after = contents(place)
            left += len(after.keys() - before.keys())
            filler.unlink()
            run_command(folder, *given)
            whole = contents(place)
            torn += sum(
                after[name] not in (before[name], whole[name])
                for name in before
                if name != filler.name
            )
        yield "full file system", "4 commands, 6 sizes of what is free", times, torn, left, wrong
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        before, wrong = contents(place), 0
        for name, path in itertools.product(range(2), outputs):
            try:
                predictor(float(name)).save(place / path)
                wrong += 1
            except OSError as error:
                wrong += error.errno != errno.EROFS or error.filename != str(place / path)
        torn = sum(contents(place)[name] != data for name, data in before.items())
        yield "read-only file system", "Predictor.save", 2 * len(outputs), torn, 0, wrong


# --- kills and interrupts ----------------------------------------------------


def start(folder: Path, arguments: tuple[str, ...], disk: str) -> subprocess.Popen[bytes]:
    """Start a process; it has begun when this returns."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("PYTHONUNBUFFERED", None)
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, disk, *arguments], cwd=folder, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None and process.stderr.readline() == b"started\n"
    return process


def undisturbed(folder: Path, arguments: tuple[str, ...]) -> tuple[dict[str, bytes], float]:
    """Run to the end; return what the folder holds, and how long it took."""
    began = time.monotonic()
    with start(folder, arguments, "slow") as process:
        _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    return contents(folder), time.monotonic() - began


def clear(folder: Path) -> None:
    """Put old files in the places of outputs, and forget what was kept."""
    for name in contents(folder):
        if name.startswith("kept/") or name.endswith(".part"):
            (folder / name).unlink()
    if (folder / "kept").exists():
        (folder / "kept").rmdir()
    prepare(folder)


def is_part(name: str) -> bool:
    """Return whether a file is the beginning of one that was not finished."""
    path = Path(name)
    return path.name.startswith(".") and path.suffix == ".part"


def count_torn(folder: Path, before: dict[str, bytes], whole: dict[str, bytes]) -> int:
    """Return how many files hold neither what they held before nor the whole."""
    found = {name: data for name, data in contents(folder).items() if not is_part(name)}
    return sum(
        found.get(name) not in (before.get(name), whole.get(name)) for name in {**found, **whole}
    )


def measure_kills(rng: random.Random) -> Iterator[Row]:
    """Kill runs at random moments, and let them resume until they end."""
    for where, arguments in RUNS.items():
        with workplace() as folder:
            before = contents(folder)
            whole, seconds = undisturbed(folder, arguments)
            kills, torn, left, wrong = 0, 0, 0, 0
            for number in range(ROUNDS):
                clear(folder)
                killed = 0
                while killed < KILLS_A_ROUND:
                    kept = {p: p.stat().st_mtime_ns for p in folder.glob("kept/*.curve")}
                    # Later kills of a round find learners that are kept, so less is left to do.
                    with start(folder, arguments, "slow" if number % 2 else "fast") as process:
                        try:
                            process.wait(rng.uniform(0.05, seconds * (1 - 0.2 * killed)))
                        except subprocess.TimeoutExpired:
                            process.kill()
                            killed += 1
                    torn += count_torn(folder, before, whole)
                    wrong += any(p.stat().st_mtime_ns != kept[p] for p in kept)
                    if process.returncode == 0:  # too late
                        clear(folder)
                kills += killed
                undisturbed(folder, arguments)
                found = contents(folder)
                parts = {name for name in found if is_part(name)}
                left += len(parts)
                wrong += {n: data for n, data in found.items() if n not in parts} != whole
            yield "kill -9", where, kills, torn, left, wrong
            print(f"  {where}: {kills} kills, {seconds:.1f} s undisturbed", flush=True)


def measure_interrupts(rng: random.Random) -> Iterator[Row]:
    """Press Ctrl-C at random moments: the terminal sends it to all processes of a group."""
    runs = {**RUNS, "thrifty curve --resume --jobs 2":
            (*RUNS["thrifty curve --resume, three learners"], "--jobs", "2")}  # fmt: skip
    for where, arguments in runs.items():
        with workplace() as folder:
            before = contents(folder)
            whole, seconds = undisturbed(folder, arguments)
            times, torn, left, wrong = 0, 0, 0, 0
            while times < INTERRUPTS:
                clear(folder)
                with start(folder, arguments, "slow" if times % 2 else "fast") as process:
                    try:
                        process.wait(rng.uniform(0.05, seconds))
                    except subprocess.TimeoutExpired:
                        os.killpg(process.pid, signal.SIGINT)
                        times += 1
                    _, errors = process.communicate(timeout=120)
                torn += count_torn(folder, before, whole)
                left += sum(map(is_part, contents(folder)))
                # A shell says 130, too, for a process that a signal has ended.
                ended = process.returncode in (0, 130, -signal.SIGINT)
                if not ended or b"Traceback" in errors:
                    wrong += 1
                    print(f"  {where}: {process.returncode}\n{errors.decode()[-2000:]}")
            yield "Ctrl-C", where, times, torn, left, wrong


def main() -> None:
    """Count everything, print it and write it for the documentation."""
    if sys.argv[1:2] == ["--inside"]:
        csv.writer(sys.stdout).writerows(fill_the_disk(Path(sys.argv[2])))
        return
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    rows = [
        *measure_faults(),
        *measure_power_failures(),
        *measure_full_disk(),
        *measure_kills(rng),
        *measure_interrupts(rng),
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([HEADER, *rows])
    print(text.getvalue(), end="")
    RESULTS.parent.mkdir(exist_ok=True)
    write_whole(RESULTS, text.getvalue().encode())
    if any(row[3] or row[5] for row in rows):
        raise SystemExit("faults: a file was torn, or something is not as documented")


if __name__ == "__main__":
    main()
