"""Write files that every version refuses: ``python tests/corpus/refused.py``.

Like those of `write.py`, they are written once and never touched again. `refused/expected.json`
says for each how it is read, which error it leads to, and what the message says.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
REFUSED = HERE / "refused"
EXPECTED = REFUSED / "expected.json"
sys.path.insert(0, str(HERE.parent))  # for the fuzzer's documents

from fuzz.documents import CurveFile, GateFile, ModelFile, PointsFile, members_of  # noqa: E402
from fuzz.edits import DELETE, INSERT, SET, Edit, apply_all  # noqa: E402
from fuzz.values import raw  # noqa: E402

from thrifty.bundle import Predictor, Schema  # noqa: E402
from thrifty.bundle.archive import pack_members, seal  # noqa: E402
from thrifty.bundle.file import pack  # noqa: E402
from thrifty.costs import Prices  # noqa: E402
from thrifty.model import CallResult, Forest  # noqa: E402
from thrifty.model.forest.nodes import empty_nodes  # noqa: E402

Refused = tuple[str, bytes, str, str, str]
"""Name of the file, its bytes, how it is read, class of the error, and what its message says."""


def small_predictor() -> Predictor:
    """Return a predictor with few and small arrays: the header is most of its file."""
    model = CallResult.of([1, 2], needs=[0], n_features=3)
    schema = Schema.of({"age": [1.0], "no": [0.5], "yes": [0.5]})
    prices = Prices({"age": 1.0, "no": 2.0, "yes": 0.0}, unit="CAD").bind(["age", "no", "yes"])
    return Predictor(model, schema, prices, np.array(["no", "yes"]))


def stump_predictor() -> Predictor:
    """Return a predictor with one tree of one split."""
    nodes = empty_nodes(3)
    nodes[0] = (0.5, 1, 0)
    stump = Forest(
        nodes, np.array([[0.0], [-2.0], [2.0]]), np.array([0]), np.array([0]), np.zeros(1), "sum", 2
    )  # fmt: skip
    return Predictor(stump, Schema.of([[0.0, 0.0]]), Prices([1, 2]).bind(2))


def models() -> Iterator[Refused]:
    """Yield model files that are damaged, malicious or too new."""
    small, stump = (ModelFile().split(pack(p())) for p in (small_predictor, stump_predictor))
    whole = pack(small_predictor())

    def changed(name: str, says: str, *edits: Edit, base: Any = small) -> Refused:
        data = ModelFile().join(apply_all(base, edits))
        if ("zip",) not in [edit.path for edit in edits]:
            data = pack_members(members_of(data))  # compressed, as Thrifty writes them
        return f"{name}.thrifty", data, "model", "BundleError", says

    header = ("header",)
    yield "empty.thrifty", b"", "model", "BundleError", "not a Thrifty model file"
    yield "text.thrifty", b"a model\n", "model", "BundleError", "not a Thrifty model file"
    yield "truncated.thrifty", whole[:-20], "model", "BundleError", "truncated"
    flipped = bytearray(whole)
    flipped[90] ^= 4
    yield "flipped.thrifty", bytes(flipped), "model", "BundleError", "digest differs from its seal"
    foreign = seal(pack_members({"readme.txt": b"x" * 99}))
    yield "other_zip.thrifty", foreign, "model", "BundleError", "header.json"
    yield changed("format_0", "format 0", Edit((*header, "thrifty"), SET, 0))
    newer = [Edit((*header, "thrifty"), SET, 99), Edit((*header, "needs"), SET, "7.1")]
    yield changed("too_new", "Thrifty 7.1 or newer", *newer)
    yield changed("no_kind", "'kind'", Edit((*header, "kind"), DELETE))
    yield changed("unknown_part", "'code'", Edit((*header, "code"), INSERT, "import os"))
    yield changed("unknown_kind", "os.system", Edit((*header, "kind"), SET, "os.system"))
    yield changed("twice", "twice", Edit((*header, "needs"), SET, raw('"0.1", "needs": "0.1"')))
    yield changed("nan", "finite", Edit((*header, "prices", "own", 0), SET, raw("NaN")))
    yield changed("infinite", "finite", Edit((*header, "prices", "own", 0), SET, raw("1e999")))
    yield changed("huge", "finite", Edit((*header, "prices", "own", 0), SET, 10**400))
    yield changed("deep", "levels", Edit((*header, "knob"), SET, {"a": raw("[" * 99 + "]" * 99)}))
    yield changed("bottomless", "JSON", Edit((*header, "knob"), SET, raw("[" * 9999 + "]" * 9999)))
    yield changed("negative_price", "own", Edit((*header, "prices", "own", 0), SET, -1.0))
    yield changed("other_names", "columns", Edit((*header, "prices", "names", 0), SET, "size"))
    yield changed("cycle", "cycle", Edit((*header, "prices", "requires"), INSERT, [[0, 1], [1, 0]]))
    yield changed("same_class", "distinct", Edit((*header, "classes", "labels", 1), SET, "no"))
    yield changed("no_type", "type", Edit((*header, "classes", "type"), SET, None))
    yield changed(
        "third_class", "3 are needed", Edit((*header, "classes", "labels", 2), INSERT, "maybe")
    )
    yield changed(
        "same_column", "twice", Edit((*header, "schema", "columns", 1, "name"), SET, "age")
    )
    yield changed("width", "4 columns", Edit((*header, "model", "n_features"), SET, 4))
    yield changed("object", "needs", Edit(("lie",), SET, ("needs", "dtype", "|O")))
    yield changed("huge_shape", "needs", Edit(("lie",), SET, ("needs", "shape", [2**40])))
    yield changed("digest", "needs", Edit(("lie",), SET, ("needs", "sha256", "0" * 64)))
    yield changed("column", "columns", Edit(("arrays", "columns"), SET, np.array([1, 7])))
    yield changed("twice_member", "twice", Edit(("zip",), SET, ("twice", 1, 0)))
    yield changed("unpacks", "unpack", Edit(("zip",), SET, ("size", 1, 2**31)))
    yield changed("more", "arrays", Edit(("arrays", "more"), INSERT, np.zeros(1)))
    decision = {"costs": [[0, 1], [1]]}
    yield changed("ragged", "decision", Edit((*header, "decision"), INSERT, decision))
    ends = Edit(("arrays", "evidence.ends"), INSERT, np.zeros((2, 2)))
    yield changed("evidence", "evidence", ends)
    nodes = stump["arrays"]["nodes"]
    for name, field, value in (
        ("loop", "child", 0),
        ("outside", "child", 9),
        ("feature", "feature", 2),
    ):
        other = nodes.copy()
        other[field][0] = value
        yield changed(name, "forest", Edit(("arrays", "nodes"), SET, other), base=stump)
    bad = np.array([[0.0], [np.inf], [2.0]])
    yield changed("inf_leaf", "values", Edit(("arrays", "values"), SET, bad), base=stump)
    yield changed("link", "link", Edit((*header, "model", "link"), SET, "eval"), base=stump)


def points() -> Iterator[Refused]:
    """Yield files of several operating points."""
    document = PointsFile().split((HERE / "points.thrifty").read_bytes())

    def changed(name: str, says: str, *edits: Edit) -> Refused:
        data = pack_members(members_of(PointsFile().join(apply_all(document, edits))))
        return f"points_{name}.thrifty", data, "points", "BundleError", says

    header = ("header",)
    yield changed("default", "the default", Edit((*header, "default"), SET, 4))
    yield changed("bill", "bill of point 1", Edit((*header, "points", 1, "bill"), SET, -1.0))
    yield changed("part", "'code'", Edit((*header, "points", 1, "code"), INSERT, "import os"))
    yield changed("none", "list of 1", Edit((*header, "points"), SET, []))
    yield changed("digest", "not list", Edit((*header, "points", 1, "arrays"), INSERT, {"a": "0"}))
    yield changed("width", "columns", Edit((*header, "points", 3, "model", "n_features"), SET, 4))


def gates() -> Iterator[Refused]:
    """Yield states of online gates."""
    document = GateFile().split((HERE / "gate_open.json").read_bytes())

    def changed(name: str, says: str, *edits: Edit) -> Refused:
        data = GateFile().join(apply_all(document, edits))
        return f"{name}.json", data, "gate", "BundleError", says

    yield changed("gate_digest", "digest", Edit(("outer",), INSERT, {"sha256": "0" * 64}))
    yield changed("gate_format", "format", Edit(("state", "online_gate"), SET, 2))
    yield changed("gate_free", "cost", Edit(("state", "cost"), SET, 0))
    yield changed("gate_logits", "logits", Edit(("state", "logits"), SET, []))
    yield changed("gate_random", "random", Edit(("state", "random", "state"), SET, 2**128))
    yield changed("gate_advice", "open", Edit(("state", "open"), SET, ["no"]))
    yield "gate_text.json", b"gate", "gate", "BundleError", "JSON"


def resumed() -> Iterator[Refused]:
    """Yield curves, earlier formats among them, and manifests."""
    source = sorted((HERE / "resume").glob("*.curve"))[0]
    document = CurveFile().split(source.read_bytes())
    bare = {"figures": document["figures"], "arrays": {}, "models": []}

    def changed(name: str, says: str, *edits: Edit) -> Refused:
        data = pack_members(members_of(CurveFile().join(apply_all(bare, edits))))
        return f"{name}.curve", data, "curve", "DataError", says

    for number in (1, 2, 3, 5):
        edit = Edit(("figures", "thrifty"), SET, number)
        yield changed(f"curve_format_{number}", "format", edit)
    yield changed("curve_no_points", "points", Edit(("figures", "points"), SET, []))
    yield changed("curve_no_models", "run again", Edit(("figures", "full"), SET, 11.0))
    yield "curve_text.curve", b"curve", "curve", "DataError", "not a Thrifty"
    texts = {
        "format_1": '{"thrifty": 1, "cells": {}}',
        "format_2": '{"thrifty": 2, "jobs": {}}',
        "list": "[]",
        "text": "manifest",
        "jobs": '{"thrifty": 3, "jobs": []}',
        "name": '{"thrifty": 3, "jobs": {"a": {"name": "b"}}}',
    }
    for name, text in texts.items():
        yield f"manifest_{name}.json", text.encode(), "manifest", "DataError", "manifest"


def adopted() -> Iterator[Refused]:
    """Yield models of other libraries."""
    text = (HERE / "lightgbm_binary.txt").read_text()
    short = text[: text.index("\nTree=1")] + "\n"
    yield "lightgbm_cut.txt", short.encode(), "adopt", "DataError", "cut off in the middle"
    ended = short + "\nend of trees\n"
    linear = ended.replace("is_linear=0", "is_linear=1")
    yield "lightgbm_linear.txt", linear.encode(), "adopt", "DataError", "linear"
    objective = ended.replace("objective=binary sigmoid:1", "objective=poisson")
    yield "lightgbm_poisson.txt", objective.encode(), "adopt", "DataError", "poisson"
    line = next(line for line in ended.split("\n") if line.startswith("left_child="))
    loop = ended.replace(line, "left_child=" + " ".join("0" for _ in line.split()))
    yield "lightgbm_loop.txt", loop.encode(), "adopt", "DataError", "trees"
    trees = {"gradient_booster": {"name": "dart", "model": {"trees": []}}}
    model = {"learner": {**trees, "objective": {"name": "x"}, "learner_model_param": {}}}
    yield "xgboost_dart.json", json.dumps(model).encode(), "adopt", "DataError", "dart"
    yield "xgboost_list.json", b'{"trees": []}', "adopt", "DataError", "learner"
    yield "catboost.json", b'{"oblivious_trees": []}', "adopt", "DataError", "CatBoost"
    yield "adopt_text.txt", b"a model\n", "adopt", "DataError", "neither"


def texts() -> Iterator[Refused]:
    """Yield price lists, costs of errors and tables."""
    prices = {
        "prices_negative.csv": ("feature,price\nsize,-1\n", "-1"),
        "prices_twice.csv": ("feature,price\nsize,1\nsize,2\n", "already"),
        "prices_column.csv": ("feature,cost\nsize,1\n", "cost"),
        "prices_word.csv": ("feature,price\nsize,much\n", "much"),
        "prices_nan.csv": ("feature,price\nsize,nan\n", "nan"),
        "prices_empty.csv": ("", "empty"),
        "prices_syntax.toml": ("[prices\nsize = 1\n", "line 1"),
        "prices_inf.toml": ("[prices]\nsize = inf\n", "inf"),
        "prices_key.toml": ("[pries]\nsize = 1\n", "pries"),
        "prices_groups.toml": ("groups = 5\n[prices]\nsize = 1\n", "groups"),
    }
    for name, (text, says) in prices.items():
        yield name, text.encode(), "prices", "PriceError", says
    costs = {
        "costs_missing.csv": ("true,predicted,cost\nill,well,500\n", "no cost"),
        "costs_class.csv": ("true,predicted,cost\nill,wel,5\nwell,ill,1\n", "wel"),
        "costs_negative.toml": ("[costs.ill]\nwell = -5\n[costs.well]\nill = 1\n", "-5"),
    }
    for name, (text, says) in costs.items():
        yield name, text.encode(), "costs", "DataError", says
    tables = {
        "table_empty.csv": (b"", "empty"),
        "table_twice.csv": (b"a,b,a\n1,2,3\n", "more than one"),
        "table_ragged.csv": (b"a,b\n1,2,3\n", "not a table"),
        "table_bytes.csv": (b"a,b\n\x81\x8d,1\n", "UTF-8"),
    }
    for name, (data, says) in tables.items():
        yield name, data, "table", "DataError", says


SETS: list[Callable[[], Iterator[Refused]]] = [models, points, gates, resumed, adopted, texts]


def main(_: list[str]) -> None:
    """Write what is missing."""
    REFUSED.mkdir(exist_ok=True)
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    for make in SETS:
        for name, data, reader, error, says in make():
            if name not in expected:
                (REFUSED / name).write_bytes(data)
                expected[name] = {"reader": reader, "error": error, "says": says}
    EXPECTED.write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
