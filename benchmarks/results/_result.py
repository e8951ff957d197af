"""What a paper reports, measured again: cells that are computed once, then a page about them.

A script of this folder makes one `Result`: it computes cells, from which it makes tables, pictures
and verdicts on the claims of the paper, and writes a page. The cells are kept in build/results, so
that a run that was interrupted goes on where it stopped. A cell whose code has changed since (see
`_fingerprint`) is computed again; with `--again`, all of them are. The page docs/results/NAME.rst,
its tables and pictures are written by the script alone. So is docs/results/index.rst, which lists
the claims of all pages, those that did not hold first.
"""

from __future__ import annotations

import csv
import inspect
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

# Threads that wait would count as CPU time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from _fingerprint import PACKAGES, fingerprint

ROOT = Path(__file__).resolve().parents[2]
# The benchmarks have some of the data sets and splits.
sys.path.append(str(ROOT / "benchmarks"))
PAGES = ROOT / "docs" / "results"
CELLS = ROOT / "build" / "results"
COLORS = ("#0b6e4f", "#c8553d", "#3d5a80", "#b8860b", "#7d4e9f", "#6c757d", "#1b9aaa", "#ef476f")
INDEX = """\
Published results, measured again
=================================

What the papers behind Thrifty's methods claim, and what came of it here. Every page below is
written by a script in ``benchmarks/results/``, as are its tables and pictures: ``python3 dev.py
bench --results`` runs all of them, ``python3 dev.py bench --results NAME`` one. "Stand-in" marks
data that are not those of the paper, because the paper's are not public: the order of methods can
be compared then, the figures cannot. A run keeps what it has measured in ``build/results``, and
measures again only what depends on code that has changed since.

What held, what did not, and why
--------------------------------

Of {claims} claims, {held} held. Those that did not come first.

.. csv-table::
   :file: claims.csv
   :header-rows: 1
   :widths: 14 28 20 20 6 22

.. toctree::
   :maxdepth: 1
   :caption: Results

"""


class Result:
    """A page of results.

    Parameters
    ----------
    name : str
        Of the script and the page.
    title : str
    paper : str
        What is reproduced, such as "Xu 2014, figs. 2.2-2.5".
    about : str
        The text of the page, in reStructuredText.
    """

    def __init__(self, name: str, title: str, paper: str, about: str) -> None:
        self.name, self.title, self.paper = name, title, paper
        self._about = inspect.cleandoc(about)
        self._parts: list[str] = []
        self._claims: list[dict[str, Any]] = []
        self._settings: dict[str, str] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        self._seconds = 0.0
        self._file = CELLS / f"{name}.jsonl"
        if "--again" in sys.argv:
            self._file.unlink(missing_ok=True)
        elif self._file.exists():
            cells = [json.loads(line) for line in self._file.read_text().splitlines()]
            self._kept = {cell["key"]: cell for cell in cells}

    # --- measuring

    def cell(self, measure: Callable[..., Any], **settings: Any) -> Any:
        """Return `measure(**settings)`, made of numbers, text, lists and dicts.

        It is computed once, and again when the code of `measure` has changed.
        """
        key, code = json.dumps([measure.__name__, settings], sort_keys=True), fingerprint(measure)
        if key not in self._kept or self._kept[key].get("code") != code:
            why = " (again: the code has changed)" if key in self._kept else ""
            print(f"{self.name}: {measure.__name__} {settings}{why}", flush=True)
            started = time.process_time()
            value = _plain(measure(**settings))
            seconds = time.process_time() - started
            cell = {"key": key, "code": code, "value": value, "seconds": seconds}
            CELLS.mkdir(parents=True, exist_ok=True)
            with self._file.open("a") as file:
                file.write(json.dumps(cell) + "\n")
            self._kept[key] = cell
        self._seconds += self._kept[key]["seconds"]
        return self._kept[key]["value"]

    def runs(
        self, measure: Callable[..., Any], seeds: Sequence[int], **choices: Sequence[Any]
    ) -> dict[tuple[Any, ...], list[Any]]:
        """Return the cells of all combinations of some choices, each as a list over the seeds.

        They are computed seed by seed, so that a run that is interrupted has all methods.
        """
        found: dict[tuple[Any, ...], list[Any]] = {}
        for seed in seeds:
            for chosen in product(*choices.values()):
                settings = dict(zip(choices, chosen, strict=True))
                found.setdefault(chosen, []).append(self.cell(measure, **settings, seed=seed))
        return found

    # --- the page

    def text(self, text: str) -> None:
        """Add a paragraph, or a heading with its underline."""
        self._parts.append(inspect.cleandoc(text))

    def table(self, part: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Add a table, which is also a file."""
        name = f"{self.name}_{part}.csv"
        _write_csv(PAGES / name, header, rows)
        self._parts.append(f".. csv-table::\n   :file: {name}\n   :header-rows: 1")

    def picture(
        self,
        part: str,
        panels: dict[str, dict[str, tuple[Sequence[float], Sequence[float]]]],
        x: str,
        y: str,
        alt: str,
        log: bool = False,
    ) -> None:
        """Add a picture: a panel for each data set, in it a curve for each method.

        A curve is its x and y values.
        """
        import matplotlib

        matplotlib.use("svg")
        from matplotlib import pyplot as plt
        from matplotlib.ticker import LogLocator

        plt.rcParams.update({"svg.hashsalt": "thrifty", "svg.fonttype": "none", "font.size": 9})
        across = 2 if len(panels) == 4 else min(len(panels), 3)
        down = -(-len(panels) // across)
        figure, axes = plt.subplots(
            down, across, figsize=(3.6 * across, 2.9 * down), squeeze=False, layout="constrained"
        )
        names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
        for axis in axes.flat[len(panels) :]:
            axis.set_visible(False)
        for axis, (title, curves) in zip(axes.flat, panels.items(), strict=False):
            for name, (xs, ys) in curves.items():
                i = names.index(name)
                style = {"color": COLORS[i % len(COLORS)], "marker": "os^Dv<>P"[i % 8]}
                axis.plot(xs, ys, label=name, markersize=3, linewidth=1.4, **style)
            axis.set_title(title, fontsize=9)
            axis.set_xlabel(x)
            if log:
                axis.set_xscale("log")
                low, high = axis.get_xlim()
                # Labels between powers of ten fit beside each other on short axes only.
                subs = (1.0, 2.0, 5.0) if high / low < 300 else (1.0,)
                axis.xaxis.set_major_locator(LogLocator(subs=subs))
                axis.xaxis.set_major_formatter("{x:g}")
                axis.xaxis.set_minor_formatter("")
            axis.spines[["top", "right"]].set_visible(False)
        for axis in axes[:, 0]:
            axis.set_ylabel(y)
        handles = {}
        for axis in axes.flat:
            handles.update(dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True)))
        figure.legend(
            handles.values(), handles, loc="outside lower center", ncols=min(len(handles), 4)
        )
        PAGES.mkdir(exist_ok=True)
        path = PAGES / f"{self.name}_{part}.svg"
        figure.savefig(path, metadata={"Date": None}, facecolor="white")
        plt.close(figure)
        self._parts.append(f".. image:: {path.name}\n   :alt: {alt}")

    def curves(
        self,
        part: str,
        found: dict[tuple[str, str], np.ndarray],
        shares: Sequence[float],
        alt: str,
        log: bool = True,
    ) -> None:
        """Add a picture and a table of test quality within shares of the full price.

        `found` has, for a data set and a method, the quality by run and share.
        """
        panels: dict[str, dict[str, Any]] = {}
        rows = []
        for (data, method), runs in found.items():
            cells = [mean_and_error(column) for column in np.asarray(runs).T]
            shown = [(100 * s, mean) for s, (mean, _) in zip(shares, cells, strict=True)]
            panels.setdefault(data, {})[method] = tuple(zip(*shown, strict=True))
            rows.append((data, method, *(f"{mean:.3f} ± {error:.3f}" for mean, error in cells)))
        self.picture(part, panels, "budget in % of the full price", "test quality", alt, log=log)
        self.table(part, ("data set", "method", *(f"{100 * s:g} %" for s in shares)), rows)

    def claim(self, text: str, published: str, ours: str, held: bool, why: str = "") -> None:
        """Add a claim of the paper, and whether it held here; if not, why."""
        claim = {"paper": self.paper, "claim": text, "published": published, "here": ours}
        self._claims.append({**claim, "held": bool(held), "why": "" if held else why})

    def settings(self, **settings: object) -> None:
        """Name the settings on the page: seeds, sizes, hyperparameters."""
        for name, value in settings.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {one}" for key, one in value.items())
            elif isinstance(value, (list, tuple)):
                value = ", ".join(map(str, value))
            self._settings[name.replace("_", " ")] = str(value)

    def write(self) -> None:
        """Write the page, and the list of all claims."""
        PAGES.mkdir(exist_ok=True)
        claims = sorted(self._claims, key=lambda claim: claim["held"])
        header = ("claim", "published", "here", "held", "why")
        rows = [
            [claim["claim"], claim["published"], claim["here"], _yes(claim), claim["why"]]
            for claim in claims
        ]
        _write_csv(PAGES / f"{self.name}_claims.csv", header, rows)
        made_with = {package: version(package) for package in PACKAGES}
        ran = {
            **self._settings,
            "CPU seconds": f"{self._seconds:.0f}",
            "versions": ", ".join(
                [f"Python {platform.python_version()}", *(f"{k} {v}" for k, v in made_with.items())]
            ),
            "command": f"``python3 dev.py bench --results {self.name}``",
        }
        listed = "\n".join(f":{name}: {value}" for name, value in ran.items())
        page = [
            f"{self.title}\n{'=' * len(self.title)}",
            f"*{self.paper}*",
            self._about,
            "Claims\n------",
            f".. csv-table::\n   :file: {self.name}_claims.csv\n   :header-rows: 1\n"
            "   :widths: 30 20 20 6 24",
            *self._parts,
            "How it was measured\n-------------------",
            listed,
        ]
        (PAGES / f"{self.name}.rst").write_text("\n\n".join(page) + "\n")
        record = {"title": self.title, "claims": claims}
        (PAGES / f"{self.name}.json").write_text(json.dumps(record, indent=1) + "\n")
        write_index()
        for claim in claims:
            print(f"{'held' if claim['held'] else 'NOT HELD':9}{claim['claim']}: {claim['here']}")


def write_index() -> None:
    """Write the page that lists all claims, those that did not hold first."""
    records = {path.stem: json.loads(path.read_text()) for path in sorted(PAGES.glob("*.json"))}
    claims = [claim for record in records.values() for claim in record["claims"]]
    header = ("paper", "claim", "published", "here", "held", "why")
    rows = [
        [c["paper"], c["claim"], c["published"], c["here"], _yes(c), c["why"]]
        for c in sorted(claims, key=lambda claim: claim["held"])
    ]
    _write_csv(PAGES / "claims.csv", header, rows)
    held = sum(claim["held"] for claim in claims)
    listed = "".join(f"   {name}\n" for name in records)
    (PAGES / "index.rst").write_text(INDEX.format(claims=len(claims), held=held) + listed)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of some draws, and its standard error."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return float(values.mean()), float(error)


def best_within(
    points: Sequence[dict[str, float]],
    budgets: Sequence[float],
    quality: str = "validation",
    bill: str = "validation_bill",
) -> list[dict[str, float] | None]:
    """Return, for each budget, the point with the best validation quality within it, if any."""
    chosen = []
    for budget in budgets:
        within = [point for point in points if point[bill] <= budget * (1 + 1e-9)]
        chosen.append(max(within, key=lambda point: point[quality], default=None))
    return chosen


def accuracy_points(path: Iterable[Any], test: tuple[Any, Any]) -> list[dict[str, float]]:
    """Return the points of a path of classifiers, with bills as shares of the full price."""
    X, y = test
    return [
        {
            "validation": p.quality,
            "validation_bill": p.bill / p.model.prices.full,
            "test": float(np.mean(p.model.predict(X) == np.asarray(y))),
            "bill": float(p.model.bill(X).mean()) / p.model.prices.full,
        }
        for p in path
    ]


def thinned(path: Iterable[Any], most: int = 40) -> list[Any]:
    """Return at most so many points of a path, spread evenly over the logarithm of the bill."""
    points = sorted(path, key=lambda point: point.bill)
    bills = np.array([point.bill for point in points])
    if not (bills > 0).any():
        return points[:1]
    wanted = np.geomspace(bills[bills > 0].min(), bills[-1], most - 1)
    return [points[i] for i in sorted({0, *np.searchsorted(bills, wanted).tolist()})]


def quality_within(
    runs: Sequence[Sequence[dict[str, float]]], shares: Sequence[float]
) -> np.ndarray:
    """Return test quality by run and share of the full price; NaN where nothing is within it."""
    chosen = [best_within(points, shares) for points in runs]
    return np.array([[np.nan if p is None else p["test"] for p in some] for some in chosen])


def compare(
    ours: np.ndarray, theirs: np.ndarray, shares: Sequence[float]
) -> tuple[np.ndarray, list[float]]:
    """Return the mean lead at each share, and the shares where we are behind.

    Behind is by more than the standard error of the lead, which is paired over the runs.
    """
    leads = np.asarray(ours) - np.asarray(theirs)
    means, errors = leads.mean(axis=0), leads.std(axis=0, ddof=1) / np.sqrt(len(leads))
    return means, [s for s, m, e in zip(shares, means, errors, strict=True) if m < -e]


def percent(shares: Sequence[float]) -> str:
    """Return shares as text, such as "5 %, 10 %"; "no budget" if there are none."""
    return ", ".join(f"{100 * share:g} %" for share in shares) or "no budget"


def _yes(claim: dict[str, Any]) -> str:
    return "yes" if claim["held"] else "no"


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows((header, *rows))
    os.replace(unfinished, path)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
