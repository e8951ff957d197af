"""What is fuzzed: each kind of input, its seeds, and how it is read and used.

`Target.read` raises a `ThriftyError` for what it refuses; it returns whatever `Target.use` takes.
Only reading is traced. Anything else that either raises is an escape.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from sklearn.tree import DecisionTreeClassifier

from fuzz import documents, services
from fuzz.laws import BrokenLawError, check_predictor, check_text, require, table_of
from fuzz.ledgers import LedgerFile
from thrifty import OnlineGate, OperatingPoints, Prices, load, load_points
from thrifty.bundle import Predictor, Schema, describe
from thrifty.cli.group import main as command_line
from thrifty.cli.inputs.cost_files import read_costs_file
from thrifty.cli.inputs.tables import read_table, read_training_table
from thrifty.errors import ThriftyError
from thrifty.frontier.jobs import ResumeFolder, digest_of_settings
from thrifty.learn.adopt import adopt
from thrifty.learn.adopt.trees import SourceTree, freeze
from thrifty.serve import ASK

__all__ = ["CORPUS", "TARGETS", "Target", "write_fresh"]

CORPUS = Path(__file__).parents[1] / "corpus"
COLUMNS = ["size", "weight", "count", "scan"]


@dataclass(frozen=True)
class Target:
    """One kind of input.

    Parameters
    ----------
    name : str
    file_format : Format
        Turns seeds into documents, and documents into files.
    seeds : list of bytes
        Sound files.
    read : function
        Reads a file, by its path.
    use : function
        Uses what was read.
    weight : int
        How often it is tried, compared with the others.
    """

    name: str
    file_format: documents.Format
    seeds: list[bytes]
    read: Callable[[Path], Any]
    use: Callable[[Any], None]
    weight: int = 1
    documents: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        split = [self.file_format.split(seed) for seed in self.seeds]
        object.__setattr__(self, "documents", split)


def read_all(*patterns: str) -> list[bytes]:
    """Read the files of the corpus whose names match."""
    found = [path for pattern in patterns for path in sorted(CORPUS.glob(pattern))]
    return [path.read_bytes() for path in found]


def write_fresh(path: Path, data: bytes) -> None:
    """Write a new file; to overwrite one would wait for the disk."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def ignore(_: Any) -> None:
    """Use nothing."""


# --- model files -------------------------------------------------------------


def inspect_file(path: Path) -> list[str]:
    """Describe a file, and show it as text and as JSON; raise what the command line reports."""
    describe(path)
    shown = []
    for options in ((), ("--json",)):
        result = CliRunner().invoke(command_line, ["inspect", str(path), *options])
        shown.append(result.output)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        internal = re.search(r"Error: (\w+): .*\(thrifty --debug", result.output, re.DOTALL)
        if internal is not None:  # how the command line reports what it did not expect
            raise BrokenLawError(f"the command line reports {internal[1]}")
        if result.exit_code:
            raise ThriftyError(result.output)
    return shown


def show_all(shown: list[str]) -> None:
    """Check that everything shown can be shown."""
    for text in shown:
        check_text(text)
    json.loads(shown[1])


def read_points(path: Path) -> OperatingPoints:
    """Read all points of a file, and its default point alone; describe and inspect it."""
    points = load_points(path)
    load(path)
    show_all(inspect_file(path))
    return points


def use_points(points: OperatingPoints) -> None:
    """Choose by a budget, and predict with the first and the last point."""
    for budget in (0.0, 5.0, 1e9):
        with contextlib.suppress(ThriftyError):
            points.at_budget(budget)
    _ = repr(points), points.unit
    for predictor in dict.fromkeys((points.predictor, points.predictors[0], points.predictors[-1])):
        check_predictor(predictor)


# --- online gates ------------------------------------------------------------


def load_gate(path: Path) -> OnlineGate:
    """Load a gate with as many experts as most seeds have."""
    experts: list[Any] = [lambda x: "no", lambda x: "yes" if x["x"] > 3 else "no", lambda x: ASK]
    two = [experts[0], experts[2]]
    try:
        return OnlineGate.load(path, experts)
    except ThriftyError as error:
        if "of 2 experts" not in str(error):
            raise
    return OnlineGate.load(path, two)


def run_gate(gate: OnlineGate) -> None:
    """Go on with a gate for a few examples."""
    require(bool(np.isfinite(gate.weights).all()), "gate: a weight is not finite")
    try:
        for t in range(6):
            if gate.waits or gate.decide({"x": t}).asks:
                gate.feedback("no" if t % 2 else "yes", gate.open_keys[-1])
        gate.expire(0.0)
    except ThriftyError:
        pass  # its labels may be others than those of the experts
    weights = gate.weights
    require(abs(float(weights.sum()) - 1) < 1e-9, f"gate: the weights sum to {weights.sum()}")
    _ = gate.rates, repr(gate)


# --- resume folders ----------------------------------------------------------


MANIFEST = (CORPUS / "resume" / "manifest.json").read_bytes()
SETTINGS: list[dict[str, Any]] = [
    settings for _, settings in sorted(json.loads(MANIFEST)["jobs"].items())
]


def read_curve(path: Path) -> Any:
    """Read a curve as a job that is resumed does."""
    folder = path.parent / "resume"
    folder.mkdir(exist_ok=True)
    write_fresh(folder / "manifest.json", MANIFEST)
    data = path.read_bytes()
    kept = ResumeFolder(folder, SETTINGS)
    # The settings of a curve are part of it: it belongs to the job whose settings it has.
    name = SETTINGS[1]["name"].encode()
    settings = (
        SETTINGS[1] if data.count(name) > data.count(SETTINGS[0]["name"].encode()) else SETTINGS[0]
    )
    write_fresh(folder / f"{digest_of_settings(settings)}.curve", data)
    return kept.get(settings)


def use_curve(curve: Any) -> None:
    """Do with a curve what choosing a point does."""
    _ = curve.frontier, curve.hull, curve.learners, repr(curve), curve.choices
    try:
        curve.choose(1e9)
        curve.cheapest(0.1)
        curve.choose(5.0, 0.9)
    except ThriftyError:
        pass
    check_predictor(curve.points[0].model)
    check_predictor(curve.points[-1].model)


def read_manifest(path: Path) -> ResumeFolder:
    """Open a folder with a manifest."""
    folder = path.parent / "manifest"
    folder.mkdir(exist_ok=True)
    write_fresh(folder / "manifest.json", path.read_bytes())
    return ResumeFolder(folder, SETTINGS)


# --- text files --------------------------------------------------------------


def read_prices(path: Path) -> Any:
    """Read a price list and bind it to the columns of a table."""
    return Prices.read(path).bind(COLUMNS)


def use_prices(bound: Any) -> None:
    """Compute bills."""
    used = np.array([[True, False, False, False], [False, True, True, True]])
    for prices in bound.currencies.values():
        bills = prices.bill(used, 2)
        require(not np.isnan(bills).any() and bool((bills >= 0).all()), f"bills {bills}")
    _ = repr(bound), bound.breakdown(used[1], 3), bound.first_prices


def read_costs(path: Path) -> Any:
    """Read the costs of errors of two classes."""
    return read_costs_file(path, ["ill", "well"])


def use_costs(costs: Mapping[Any, float]) -> None:
    """Check that every cost is a price."""
    require(all(np.isfinite(cost) and cost >= 0 for cost in costs.values()), f"costs {costs}")


def read_rows(path: Path) -> Any:
    """Read a table, also as a training table whose target is its last column."""
    frame = read_table(path)
    columns = [str(name) for name in frame.columns]
    if columns:
        read_training_table(path, columns[-1], None, None, ())
    return frame


# --- models of other libraries -----------------------------------------------


TREE = {
    "left": np.int64, "right": np.int64, "feature": np.int64, "threshold": np.float64,
    "missing_left": np.bool_, "values": np.float64,
}  # fmt: skip


def fitted_trees() -> list[bytes]:
    """Fit tiny trees of scikit-learn and return their arrays.

    Their arrays, as a damaged estimator would crash scikit-learn itself.
    """
    X = np.random.default_rng(0).normal(size=(60, 3)).round(2)
    X[::9, 1] = np.nan
    seeds = []
    for y in (np.digitize(X[:, 0], [-0.5, 0.5]), X[:, 0] > 0):
        tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y).tree_
        arrays = (
            tree.children_left, tree.children_right, tree.feature, tree.threshold,
            tree.missing_go_to_left != 0, tree.value[:, 0, :],
        )  # fmt: skip
        buffer = io.BytesIO()
        np.savez(buffer, **dict(zip(TREE, arrays, strict=True)))
        seeds.append(buffer.getvalue())
    return seeds


def adopt_tree(path: Path) -> Predictor:
    """Freeze a tree of these arrays, if they are of the types that scikit-learn has."""
    with np.load(path) as found:
        arrays = dict(found)
    size = len(arrays["left"]) if np.ndim(arrays.get("left")) else 0
    for name, dtype in TREE.items():
        array = arrays.get(name)
        ndim = 2 if name == "values" else 1
        if array is None or array.dtype != dtype or array.ndim != ndim or len(array) != size:
            raise ThriftyError("these are not the arrays of a tree")
    n_classes = arrays["values"].shape[-1]
    if not size or not n_classes:
        raise ThriftyError("these are not the arrays of a tree of classes")
    forest = freeze([SourceTree(**arrays)], np.zeros(n_classes), "mean", 3)
    return Predictor(
        forest, Schema.of(np.zeros((1, 3))), Prices([1, 2, 4]).bind(3), range(n_classes)
    )


CALL_REPLIES: list[Any] = [
    {"probabilities": [[0.25, 0.75]], "classes": [False, True]},
    {"probabilities": [[0.25, 0.75]]},
    {"labels": [True]},
    [[0.5, 0.5]],
]
RESPONSES: list[tuple[dict[str, Any], Any]] = [
    ({"status": 200, "headers": {"content-type": "application/json"}},
     {"data": {"weight": 1.5, "counts": [2, None]}}),
    ({"status": 404, "headers": {}}, {"detail": "no such person"}),
    ({"status": 200, "headers": {"content-encoding": "identity"}, "store": True},
     {"metadata": {"feature_names": ["lab__weight", "lab__count"]},
      "results": [{"values": [1.5], "statuses": ["PRESENT"]},
                  {"values": [None], "statuses": ["NULL_VALUE"]}]}),
]  # fmt: skip
REQUESTS: list[tuple[dict[str, Any], Any]] = [
    ({"method": "POST", "path": "/v1/predict", "headers": {}},
     {"rows": [{**services.ROW, "weight": None}, {**services.ROW, "town": "x", "grade": None}]}),
    ({"method": "POST", "path": "/v1/next", "headers": {"content-length": "60"}},
     {"known": {"size": 0.5}, "told": {"weight": 1.0, "count": 2}, "skipped": ["town"]}),
    ({"method": "POST", "path": "/v1/cases", "headers": {"idempotency-key": "a"}},
     {"id": "case-1", "known": {"size": 0.5}, "context": {"who": "ann"}, "subject": "ann",
      "cap": 20.0, "deadline": 5, "max_age": {"scan": 60}}),
    ({"method": "GET", "path": "/v1/model", "headers": {"accept": "text/html"}}, None),
    ({"method": "GET", "path": "/", "headers": {"accept": "text/html"}}, None),
    ({"method": "GET", "path": "/openapi.json", "headers": {"cookie": "a=b"}}, None),
    ({"method": "GET", "path": "/metrics", "headers": {}}, None),
]  # fmt: skip


FORM = {"accept": "text/html", "content-type": "application/x-www-form-urlencoded"}
FORMS: list[tuple[dict[str, Any], Any]] = [
    ({"method": "POST", "path": "/cases", "headers": FORM},
     {"reference": "visit 1", "cap": "20", "f0": "0.5", "f3": "1", "f4": ["", "empty"]}),
    *(
        ({"method": "POST", "path": f"/cases/{{case}}/{step}", "headers": FORM},
         {**{f"f{j}": "1" for j in range(6)}, "feature": "f1"})
        for step in ("answer", "know", "skip", "stop", "back")
    ),
    *(
        ({"method": "GET", "path": path, "headers": {"accept": "text/html"}}, None)
        for path in ("/cases/{case}", "/cases/{case}/receipt", "/")
    ),
]  # fmt: skip


def as_http(pairs: list[tuple[dict[str, Any], Any]]) -> list[bytes]:
    """Return requests or responses as `documents.HttpFile` reads them."""
    return [json.dumps(head).encode() + b"\n" + json.dumps(body).encode() for head, body in pairs]


def make_targets() -> list[Target]:
    """Return all targets."""
    points = read_all("points*.thrifty")
    models = [model for model in read_all("*.thrifty") if model not in points]
    source_seeds = [json.dumps(row).encode() for row in table_of(services.LOCAL)]
    return [
        Target("model files", documents.ModelFile(), models, load, check_predictor, 10),
        Target(
            "points",
            documents.PointsFile(),
            points,
            read_points,
            use_points,
            3,
        ),
        Target("inspect", documents.ModelFile(), models, inspect_file, show_all, 2),
        Target(
            "gate states", documents.GateFile(), read_all("*gate*.json"), load_gate, run_gate, 3
        ),
        Target(
            "curves", documents.CurveFile(), read_all("resume/*.curve"), read_curve, use_curve, 3
        ),
        Target(
            "manifests", documents.JsonFile(), read_all("resume/*.json"), read_manifest, ignore, 1
        ),
        Target("LightGBM", documents.WordsFile(), read_all("lightgbm*"), adopt, check_predictor, 3),
        Target("XGBoost", documents.JsonFile(), read_all("xgboost*"), adopt, check_predictor, 3),
        Target(
            "scikit-learn", documents.ArraysFile(), fitted_trees(), adopt_tree, check_predictor, 1
        ),
        Target(
            "prices CSV", documents.CsvFile(), read_all("prices.csv"), read_prices, use_prices, 1
        ),
        Target(
            "prices TOML", documents.TomlFile(), read_all("prices.toml"), read_prices, use_prices, 1
        ),
        Target("costs CSV", documents.CsvFile(), read_all("costs.csv"), read_costs, use_costs, 1),
        Target(
            "costs TOML", documents.TomlFile(), read_all("costs.toml"), read_costs, use_costs, 1
        ),
        Target("tables", documents.CsvFile(), read_all("table.csv"), read_rows, ignore, 1),
        Target(
            "replies of calls",
            documents.JsonFile(),
            [json.dumps(reply).encode() for reply in CALL_REPLIES],
            services.read_reply,
            services.use_reply,
            1,
        ),
        Target(
            "sources",
            documents.JsonFile(),
            source_seeds,
            services.read_source,
            services.use_source,
            1,
        ),
        Target(
            "declared sources",
            documents.TomlFile(),
            read_all("sources.toml"),
            services.read_declared,
            services.use_declared,
            2,
        ),
        Target(
            "HTTP sources", documents.HttpFile(), as_http(RESPONSES), services.read_http, ignore, 2
        ),
        Target(
            "requests", documents.HttpFile(), as_http(REQUESTS), services.read_request, ignore, 3
        ),
        Target("pages", documents.HttpFile(), as_http(FORMS), services.read_page, ignore, 2),
        Target("ledgers", LedgerFile(), read_all("ledger.sql"), services.read_ledger, ignore, 1),
    ]


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    TARGETS = make_targets()
