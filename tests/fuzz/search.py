"""The loop: propose, run, keep what reaches new lines, minimize what escapes."""

from __future__ import annotations

import contextlib
import io
import json
import re
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import thrifty
from fuzz.documents import propose_damage
from fuzz.edits import Edit, apply, apply_all, propose
from fuzz.laws import BrokenLawError
from fuzz.limits import LimitError, limited
from fuzz.lines import Lines
from fuzz.targets import Target, write_fresh
from thrifty.errors import ThriftyError

__all__ = ["Escape", "Fuzzer", "run_case", "write_escape"]

SOURCE = Path(thrifty.__file__).parent
# Every so many cases is traced; the others only look for escapes.
TRACED_EVERY = 3
MAX_POOL = 300
MAX_EDITS = 24
NUMBER = re.compile(r"[-+]?\b(\d[\d.e+-]*|nan|inf)\b")
EDITS = (1, 1, 1, 2, 2, 2, 3, 3, 4, 6)


@dataclass(frozen=True, eq=False)
class Entry:
    """A document of the pool: a seed and the edits that were made to it."""

    seed: int
    edits: tuple[Edit, ...]
    document: Any
    refused: bool = False


@dataclass(eq=False)
class Escape:
    """A case that ended otherwise than it should.

    Parameters
    ----------
    target : Target
    what : str
        Class and message of the exception, or the law that does not hold.
    where : str
        The innermost line of Thrifty that took part.
    seed : int
        Number of the seed among those of the target.
    edits : tuple of Edit
        What was done to it.
    case : int
        Number of the case.
    count : int
        Cases that ended in the same way.
    """

    target: Target
    what: str
    where: str
    seed: int
    edits: tuple[Edit, ...]
    case: int
    count: int = 1

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells escapes apart: target, class of the exception or law, place."""
        if self.where:
            return self.target.name, self.what.partition(":")[0], self.where
        return self.target.name, NUMBER.sub("#", self.what)[:80], ""

    @property
    def data(self) -> bytes:
        """The file."""
        seed = self.target.documents[self.seed]
        return self.target.file_format.join(apply_all(seed, self.edits))


def run_case(
    target: Target, data: bytes, folder: Path, lines: Lines | None = None, slack: float = 1.0
) -> tuple[str, str, str]:
    """Read and use a file; return how it ended: "refused", "read" or an escape, what and where."""
    path = folder / f"case{target.file_format.suffix}"
    write_fresh(path, data)
    tracing = contextlib.nullcontext() if lines is None else lines.traced()
    try:
        with limited(slack), contextlib.redirect_stderr(io.StringIO()):
            try:
                with tracing:
                    found = target.read(path)
            except ThriftyError:
                return "refused", "", ""
            target.use(found)
    except LimitError as error:
        return "escape", f"LimitError: {error}", ""
    except BrokenLawError as error:
        return "escape", ascii(str(error))[1:-1], ""
    except Exception as error:
        text = ascii(f"{type(error).__name__}: {error}")[1:-1]
        return "escape", text[:300], _place(error)
    return "read", "", ""


def _place(error: BaseException) -> str:
    """Return the innermost line of Thrifty in the traceback of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(str(SOURCE))]
    if not own:
        return ""
    return f"{Path(own[-1].filename).relative_to(SOURCE.parent)}:{own[-1].lineno}"


@dataclass(eq=False)
class Fuzzer:
    """Tries cases, one after the other; the same random seed gives the same cases.

    Parameters
    ----------
    targets : sequence of Target
    seed : int
    folder : Path
        The file of the case that runs is written here, and stays if the process dies.
    slack : float
        Factor of the limits of time and memory.

    Attributes
    ----------
    counts : dict of str to Counter
        Cases by target and end: "refused", "read", "escape".
    escapes : dict
        The first escape of each kind, minimized.
    lines : Lines
    """

    targets: Sequence[Target]
    seed: int
    folder: Path
    slack: float = 1.0
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    escapes: dict[tuple[str, str, str], Escape] = field(default_factory=dict)
    lines: Lines = field(default_factory=Lines)
    cases: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.counts = {target.name: Counter() for target in self.targets}
        self._pools = {
            target.name: [Entry(k, (), each) for k, each in enumerate(target.documents)]
            for target in self.targets
        }
        self._turns = [target for target in self.targets for _ in range(target.weight)]

    def run(
        self,
        max_cases: int | None = None,
        max_seconds: float | None = None,
        report: Callable[[Escape], None] = lambda escape: None,
    ) -> None:
        """Try cases until there are enough of them, or the time is over."""
        start = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while max_cases is None or self.cases < max_cases:
                if max_seconds is not None and time.monotonic() - start > max_seconds:
                    break
                self.step(report)

    def step(self, report: Callable[[Escape], None] = lambda escape: None) -> None:
        """Try one case."""
        random = Random(f"{self.seed}/{self.cases}")
        self.cases += 1
        target = random.choice(self._turns)
        pool = self._pools[target.name]
        entry = self._draw_entry(pool, random)
        entry = self._edited(entry, target, random, pool)
        lines = self.lines if self.cases % TRACED_EVERY == 0 else None
        before = self.lines.count
        data = target.file_format.join(entry.document)
        end, what, where = run_case(target, data, self.folder, lines, self.slack)
        self.counts[target.name][end] += 1
        if end == "escape":
            self._note(Escape(target, what, where, entry.seed, entry.edits, self.cases - 1), report)
        elif self.lines.count > before and len(entry.edits) < MAX_EDITS:
            if len(pool) >= MAX_POOL:
                del pool[len(target.documents)]  # the oldest that is not a seed
            pool.append(replace(entry, refused=end == "refused"))

    def _draw_entry(self, pool: list[Entry], random: Random) -> Entry:
        """Draw a document, the newest ones more often, and seldom one that was refused."""
        newest = random.random() < 0.3
        while True:
            entry = (
                pool[-1 - random.randrange(min(len(pool), 10))] if newest else random.choice(pool)
            )
            if not entry.refused or random.random() < 0.15:
                return entry
            newest = False

    def _edited(self, entry: Entry, target: Target, random: Random, pool: list[Entry]) -> Entry:
        """Make a few edits."""
        donors = [random.choice(pool).document, random.choice(target.documents)]
        document, edits = entry.document, list(entry.edits)
        gentle = random.random() < 0.6
        for _ in range(random.choice(EDITS)):
            if not gentle and random.random() < 0.08:
                edit = propose_damage(document, target.file_format, random)
            else:
                edit = propose(document, random, donors, gentle)
            document = apply(document, edit)
            if not isinstance(document, dict):
                document, edits = entry.document, list(entry.edits)
                continue
            edits.append(edit)
        return Entry(entry.seed, tuple(edits), document)

    def _note(self, escape: Escape, report: Callable[[Escape], None]) -> None:
        """Count an escape; minimize it if it is the first of its kind."""
        known = self.escapes.get(escape.key)
        if known is not None:
            known.count += 1
            return
        escape.edits = self._minimized(escape)
        self.escapes[escape.key] = escape
        report(escape)

    def _minimized(self, escape: Escape) -> tuple[Edit, ...]:
        """Leave out edits as long as the case ends in the same way."""
        edits, before = list(escape.edits), None
        while edits != before:
            before = list(edits)
            for k in reversed(range(len(before))):
                fewer = [*edits[:k], *edits[k + 1 :]]
                shorter = Escape(escape.target, "", "", escape.seed, tuple(fewer), 0)
                end, shorter.what, shorter.where = run_case(
                    escape.target, shorter.data, self.folder, None, self.slack
                )
                if end == "escape" and shorter.key == escape.key:
                    edits = fewer
        return tuple(edits)


def write_escape(escape: Escape, folder: Path, seed: int) -> Path:
    """Write the file of an escape, and how it came about; return the path of the file."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{escape.target.name.replace(' ', '-')}-{seed}-{escape.case}"
    path = folder / f"{name}{escape.target.file_format.suffix}"
    path.write_bytes(escape.data)
    about = {
        "target": escape.target.name,
        "what": escape.what,
        "where": escape.where,
        "seed": seed,
        "case": escape.case,
        "edits": [str(edit) for edit in escape.edits],
    }
    (folder / f"{name}.about.json").write_text(json.dumps(about, indent=1))
    return path
