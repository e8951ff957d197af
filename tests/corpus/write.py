"""Write files of this version into the corpus: ``python tests/corpus/write.py [NAME ...]``.

A file that exists is never touched, and what `expected.json` says about it stays as it is: the
corpus shows that this version reads what earlier ones wrote. A new kind of model, or a new format,
adds a recipe to `MODELS` (or a file to one of the other functions) and is written once.

Besides model files there are: states of online gates (``gate_*.json``), a resume folder
(``resume/``), models of other libraries (``lightgbm_*.txt``), price lists, costs of errors and a
table. `refused.py` writes what every version refuses.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thrifty import (
    BudgetForestClassifier,
    Call,
    CompressedSVC,
    EdgeCloudRegressor,
    GatedClassifier,
    GatedRegressor,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    OnlineGate,
    Prices,
)
from thrifty.bundle import Column, Decision, OperatingPoints, Predictor, Schema, load_points
from thrifty.bundle.evidence import Evidence, States
from thrifty.frontier import trace
from thrifty.learn.adopt import adopt
from thrifty.model import Average, Blend, Branch, Cascade, Forest, ShortCircuit, Stages
from thrifty.serve import ASK
from thrifty.serve.calls import result_columns

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"
SHOWN = 6  # rows whose answers are kept

CLINIC = Prices(
    {"size": 1.0, "weight": 2.5, "scan": 20.0, "town": 0.3, "grade": 0.5, "count": 4.0},
    groups={"blood": ["weight", "count"]},
    shared={"blood": 1.5},
    evaluation=0.01,
    calls={"doctor": 90.0},
    unit="CAD",
    requires={"scan": ["size"]},
    panels=["blood"],
    delays={"blood": 30.0, "scan": 45.0},
    delay_unit="min",
    also={"mSv": Prices({"scan": 0.1})},
)


def draw_table(n: int, seed: int) -> pd.DataFrame:
    """Return a table of numbers, categories and missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n).round(3),
            "weight": rng.normal(size=n).round(3),
            "scan": rng.normal(size=n).round(3),
            "town": rng.choice(["bonn", "kiel", "trier", "ulm"], n),
            "grade": rng.choice(["high", "low", "mid"], n),
            "count": rng.poisson(2.0, n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "weight"] = np.nan
    return frame


def value_of(frame: pd.DataFrame) -> np.ndarray:
    """Return a target that depends on most columns."""
    filled = frame["weight"].fillna(0.0)
    return (
        frame["size"]
        + filled * (frame["grade"] == "high")
        + frame["scan"] * 0.7
        + frame["count"] / 3
    ).to_numpy()


def clinic() -> Predictor:
    """Structure of prices, a second currency, `other`, a decision, evidence; classes are whole."""
    frame = draw_table(300, 1)
    y = np.digitize(value_of(frame), [0.2, 1.2])
    fitted = GreedyMiserClassifier(CLINIC, n_estimators=6, max_depth=3, random_state=0).fit(
        frame, y
    )
    predictor = fitted.predictor_
    schema = Schema(
        tuple(
            Column(column.name, column.categories, "ulm" if column.name == "town" else None)
            for column in predictor.schema.columns
        ),
        named=True,
    )
    held, scores = draw_table(400, 2), None
    labels = np.digitize(value_of(held), [0.2, 1.2])
    scores, bills = predictor.predict_proba(held), predictor.bill(held)
    early = States(np.arange(400), np.full((400, 3), 1 / 3), np.zeros(400))
    evidence = Evidence.of(labels, None, scores, bills, [early])
    decision = Decision([[0, 5, 9], [4, 0, 5], [12, 6, 0]])
    return predictor.replace(schema=schema, evidence=evidence, decision=decision)


def values_with_evidence() -> Predictor:
    """Predict values from a table without names, with evidence."""
    X = np.random.default_rng(3).normal(size=(300, 3)).round(3)
    y = X[:, 0] + 0.5 * X[:, 1] ** 2
    predictor = GreedyMiserRegressor([1, 2, 4], n_estimators=6, max_depth=2).fit(X, y).predictor_
    return predictor.replace(evidence=Evidence.of(y, None, predictor.predict(X), predictor.bill(X)))


def votes() -> Predictor:
    """Trees that vote; a table without names, classes that are booleans."""
    X = np.random.default_rng(4).normal(size=(200, 3)).round(3)
    fitted = BudgetForestClassifier(n_estimators=3, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    predictor = fitted.predictor_
    plain, arrays = predictor.model.state()
    voting = Forest.build({"n_features": plain["n_features"], "link": "vote"}, arrays)
    return predictor.replace(model=voting)


def hinge() -> Predictor:
    """A forest with the link of the squared hinge, and exits between its trees; float classes."""
    X = np.random.default_rng(5).normal(size=(200, 3)).round(3)
    y = np.where(X[:, 0] > 0, "a", "b")
    fitted = GreedyMiserClassifier([1, 2, 4], n_estimators=4, max_depth=2).fit(X, y)
    plain, arrays = fitted.model_.state()
    forest = Forest.build({**plain, "link": "hinge"}, arrays)
    cascade = Cascade.of(forest, ends=[1, 2, 4], low=[0.1, 0.2, 0.2], high=[0.9, 0.8, 0.8])
    return fitted.predictor_.replace(model=cascade, classes=np.array([0.5, 2.5]))


def polynomial() -> Predictor:
    """A support vector machine with a polynomial kernel."""
    X = np.random.default_rng(6).normal(size=(80, 3)).round(3)
    y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")
    return CompressedSVC(prices=[1, 2, 4], kernel="poly", random_state=0).fit(X, y).predictor_


def uncertain_stages() -> Predictor:
    """A ladder for values: a row climbs where a model of its uncertainty is above a threshold."""
    table = draw_table(150, 7)[["size", "weight", "scan"]]
    y = value_of(draw_table(150, 7))
    prices = Prices({"size": 1.0, "weight": 3.0, "scan": 9.0})
    low = GreedyMiserRegressor(prices, n_estimators=2, max_depth=2, penalty=1.0).fit(table, y)
    top = GreedyMiserRegressor(prices, n_estimators=4, max_depth=2).fit(table, y)
    error = np.abs(y - low.predict(table))
    doubt = GreedyMiserRegressor(prices, n_estimators=2, max_depth=2).fit(table, error)
    ladder = Stages.of([low.model_, top.model_], [doubt.model_, None], [error.mean(), -np.inf])
    return top.predictor_.replace(model=ladder)


def decided_stages() -> Predictor:
    """A ladder for classes whose errors have costs, which decide about climbing, too."""
    table = draw_table(150, 7)[["size", "weight", "scan"]]
    y = np.where(value_of(draw_table(150, 7)) > 0.7, "yes", "no")
    prices = Prices({"size": 1.0, "weight": 3.0, "scan": 9.0})
    low = GreedyMiserClassifier(prices, n_estimators=2, max_depth=2, penalty=1.0).fit(table, y)
    top = GreedyMiserClassifier(prices, n_estimators=4, max_depth=2).fit(table, y)
    decision = Decision([[0, 1], [5, 0]])
    ladder = Stages.of([low.model_, top.model_], None, [0.5, -np.inf], decision)
    return top.predictor_.replace(model=ladder, decision=decision)


def nested() -> Predictor:
    """A blend of a branch and an average of forests, four levels deep."""
    frame = draw_table(200, 8)[["size", "weight", "scan"]]
    y = np.where(frame["size"] + frame["scan"] > 0, "yes", "no")
    prices = Prices({"size": 1.0, "weight": 3.0, "scan": 9.0})
    small = GreedyMiserClassifier(prices, n_estimators=2, max_depth=2).fit(frame, y)
    large = GreedyMiserClassifier(prices, n_estimators=3, max_depth=2, penalty=0.0).fit(frame, y)
    average = Average.of([small.model_, large.model_], [0.5, 0.5], weights=[0.3, 0.7])
    branch = Branch.of(average, small.model_, feature=1, prior=[0.4, 0.6], threshold=0.25)
    blend = Blend.of(branch, large.model_, [0, 2], share=0.4, seed=5)
    return large.predictor_.replace(model=blend)


def remote() -> Predictor:
    """A gate in front of a server, whose URL is in the file."""
    X = np.random.default_rng(9).uniform(-1, 1, size=(300, 3)).round(3)
    y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] * X[:, 2] > 0)
    big = GreedyMiserClassifier(n_estimators=4, max_depth=2, random_state=0).fit(X, y)
    call = Call("remote", 5.0, needs=[0, 1, 2], fn=big.predict_proba)
    gate = GatedClassifier(call, share=0.5, penalty=0.01, family="linear", random_state=0).fit(X, y)
    named = {"name": "remote", "url": "http://models.example.com/heart"}
    return gate.predictor_.replace(provenance={**(gate.predictor_.provenance or {}), "call": named})


def remote_values() -> Predictor:
    """A gate in front of a server that answers with a value."""
    X = np.random.default_rng(14).uniform(-1, 1, size=(120, 3)).round(3)
    y = X[:, 0] + np.where(X[:, 0] > 0, 0.0, X[:, 1] * X[:, 2])
    call = Call("remote", 5.0, needs=[0, 1, 2], fn=lambda rows: rows[:, 0] + rows[:, 1])
    gate = GatedRegressor(call, share=0.5, penalty=0.001, family="linear", random_state=0)
    return gate.fit(X, y).predictor_


def short_values() -> Predictor:
    """Trees that are added until nothing can change the value by more than a tolerance."""
    X = np.random.default_rng(10).normal(size=(200, 3)).round(3)
    fitted = GreedyMiserRegressor([1, 2, 4], n_estimators=5, max_depth=2).fit(X, X[:, 0] + X[:, 1])
    return fitted.predictor_.replace(model=ShortCircuit.of(fitted.model_, tolerance=0.3))


def device_values() -> Predictor:
    """Devices whose contributions add up to a value."""
    frame = draw_table(120, 12)[["size", "weight", "scan", "grade"]]
    prices = Prices(dict.fromkeys(frame.columns, 0.5), evaluation=2.0, unit="CAD")
    devices = {"scale": ["size", "weight"], "scanner": ["scan"], "desk": ["grade"]}
    model = EdgeCloudRegressor(prices, devices, gates="sigmoid", max_steps=20, random_state=0)
    return model.fit(frame, value_of(draw_table(120, 12))).predictor_


MODELS: dict[str, Callable[[], Predictor]] = {
    "clinic": clinic,
    "decided_stages": decided_stages,
    "device_values": device_values,
    "evidence_values": values_with_evidence,
    "hinge_cascade": hinge,
    "nested": nested,
    "polynomial": polynomial,
    "remote": remote,
    "remote_values": remote_values,
    "short_values": short_values,
    "uncertain_stages": uncertain_stages,
    "votes": votes,
}


def expected_of(predictor: Predictor, table: Any) -> dict[str, Any]:
    """Return what a predictor answers for a table, with the table."""
    found = {
        **(
            {"rows": table.tolist()} if isinstance(table, np.ndarray) else {"columns": plain(table)}
        ),
        "kinds": sorted(kinds_of(predictor.model.kind, predictor.model.state()[0])),
        "predict": predictor.predict(table).tolist(),
        "used": predictor.used(table).astype(int).tolist(),
        "bill": predictor.bill(table).tolist(),
    }
    if predictor.classes is not None:
        found["proba"] = predictor.predict_proba(table).tolist()
    return found


def plain(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the columns of a table; None where a value is missing."""
    shown = frame.astype(object).where(frame.notna(), None)
    return {name: shown[name].tolist() for name in shown}


def kinds_of(kind: str, plain: dict[str, Any]) -> set[str]:
    """Return the kinds of a model and of all its parts."""
    parts = (kinds_of(part["kind"], part["model"]) for part in plain.get("parts", []))
    return {kind}.union(*parts)


def rows_for(predictor: Predictor) -> Any:
    """Return rows for a predictor: of the corpus' table, or numbers for columns without names."""
    if predictor.schema.named:
        frame = draw_table(SHOWN, 99)[list(predictor.schema.names)]
        if "town" in frame:
            frame.loc[1, "town"] = "köln"  # not listed: it counts as the category `other`
        return frame
    X = np.random.default_rng(98).normal(size=(SHOWN, len(predictor.schema))).round(3)
    for k, column in enumerate(result_columns(predictor)):
        X[:, column] = 0.25 + 0.5 * k
    return X


def write_models(names: list[str], expected: dict[str, Any]) -> None:
    """Write model files that do not exist yet, and what they answer."""
    for name in names:
        path = HERE / f"{name}.thrifty"
        if path.exists():
            continue
        predictor = MODELS[name]()
        expected[name] = expected_of(predictor, rows_for(predictor))
        predictor.save(path)


def write_points(expected: dict[str, Any]) -> None:
    """Write a file of several operating points, which share arrays, and what each answers."""
    path = HERE / "points.thrifty"
    if path.exists():
        return
    table = draw_table(150, 21)[["size", "weight", "scan"]]
    y = np.where(value_of(draw_table(150, 21)) > 0.7, "yes", "no")
    prices = Prices({"size": 1.0, "weight": 2.5, "scan": 20.0}, unit="CAD")
    first, second = (
        GreedyMiserClassifier(prices, n_estimators=2, max_depth=2, penalty=penalty)
        .fit(table, y)
        .predictor_
        for penalty in (0.01, 0.0)
    )
    rungs = [first.model, second.model]
    stages = [
        second.replace(model=Stages.of(rungs, thresholds=[limit, np.inf]), knob={"limit": limit})
        for limit in (0.45, 0.3)
    ]
    chosen = stages[1].replace(
        decision=Decision([[0.0, 1.0], [5.0, 0.0]]), provenance={"task": "classification"}
    )
    points = OperatingPoints(
        [first, stages[0], chosen, second], [1.0, 8.5, 12.25, 23.5], [0.71, 0.8, 0.84, 0.85], 2,
        "accuracy",
    )  # fmt: skip
    points.save(path)
    rows = rows_for(chosen)
    expected["points"] = expected_of(chosen, rows) | {
        "bills": list(points.bills),
        "qualities": list(points.qualities),
        "answers": [each.predict(rows).tolist() for each in load_points(path).predictors],
    }


def write_gates(expected: dict[str, Any]) -> None:
    """Write states of online gates: one that awaits a label, one whose best expert may change."""
    experts = [lambda x: "no", lambda x: "yes" if x["x"] > 3 else "no", lambda x: ASK]
    for name, changes in (("gate_open", 0), ("gate_changes", 3)):
        path = HERE / f"{name}.json"
        if path.exists():
            continue
        gate = OnlineGate(experts, 0.3, 60, changes, labels=["no", "yes"], random_state=1)
        for t in range(50):
            if gate.decide({"x": t % 7}).asks:
                gate.feedback("yes" if t % 7 > 3 else "no")
        while name == "gate_open" and not gate.waits:
            gate.decide({"x": 5})
        gate.save(path)
        expected[name] = {
            "rounds": gate.rounds,
            "asked": gate.asked,
            "explored": gate.explored,
            "waits": gate.waits,
            "weights": gate.weights.tolist(),
        }


def write_awaiting_gate(expected: dict[str, Any]) -> None:
    """Write states of online gates that await several labels: of the default, and of own rates."""
    experts = [lambda x: "no", lambda x: "yes" if x["x"] > 3 else "no", lambda x: ASK]
    settings = {"labels": ["no", "yes"], "random_state": 2, "clock": lambda: 1e9}
    for name, own in (("gate_many", {}), ("gate_rates", {"eta_factor": 3.0, "gamma_factor": 0.9})):
        if not (HERE / f"{name}.json").exists():
            gate = OnlineGate(experts, 0.3, 60, 2, **settings, **own)
            expected[name] = serve_and_save(gate, HERE / f"{name}.json")


def serve_and_save(gate: OnlineGate, path: Path) -> dict[str, Any]:
    """Let a gate await labels and save it; return what is expected of the file."""
    for t in range(50):
        gate.decide({"x": t % 7}, f"case {t}")
        if len(gate.open_keys) > 4:
            gate.feedback("yes" if t % 3 else "no", gate.open_keys[t % 4])
    gate.drop(gate.open_keys[0])
    gate.save(path)
    names = ("rounds", "asked", "explored", "answered", "expired", "waits")
    return {
        **{name: getattr(gate, name) for name in names},
        "weights": gate.weights.tolist(),
        "keys": list(gate.open_keys),
        "estimates": gate.feedback("yes", gate.open_keys[1]).tolist(),
    }


def write_resume(expected: dict[str, Any]) -> None:
    """Write a resume folder: a manifest, and the curves of two learners."""
    folder = HERE / "resume"
    if folder.exists():
        return
    frame = draw_table(60, 11)[["size", "scan"]]
    y = np.where(value_of(draw_table(60, 11)) > 0.7, "yes", "no")
    prices = Prices({"size": 1.0, "scan": 9.0}, unit="CAD")
    learners = {
        f"miser {depth}": GreedyMiserClassifier(prices, n_estimators=2, max_depth=depth)
        for depth in (1, 2)
    }
    curve = trace(learners, frame, y, resume=folder, share=0.3)
    expected["resume"] = {
        "points": [[p.learner, p.knob, p.bill, p.quality, p.ceiling] for p in curve.points],
        "frontier": [p.bill for p in curve.frontier],
        "full": curve.full,
        "unit": curve.unit,
    }


def write_adopted(expected: dict[str, Any]) -> None:
    """Write models of LightGBM, and keep one of XGBoost, which is not installed here."""
    path = HERE / "xgboost_categories.json"
    if not path.exists():
        source = HERE.parent / "learn" / "adopt" / "models" / "categories.json"
        predictor = adopt(source)
        rows = {
            name: [
                (None, *(column.categories or (-1.5, 0.2, 0.4, 0.6, 3.0)))[k % 4]
                for k in range(SHOWN)
            ]
            for name, column in zip(predictor.schema.names, predictor.schema.columns, strict=True)
        }
        expected[path.stem] = expected_of(predictor, pd.DataFrame(rows))
        path.write_bytes(source.read_bytes())

    frame = draw_table(200, 12)[["size", "scan", "count"]]
    value = value_of(draw_table(200, 12))
    quiet = {"verbose": -1, "num_leaves": 4, "min_data_in_leaf": 5, "num_threads": 1}
    targets = {
        "lightgbm_binary": ({"objective": "binary"}, (value > 0.7).astype(int)),
        "lightgbm_classes": (
            {"objective": "multiclass", "num_class": 3, "use_missing": True},
            np.digitize(value, [0.2, 1.2]),
        ),
        "lightgbm_values": ({"objective": "regression", "zero_as_missing": True}, value),
    }
    for name, (options, y) in targets.items():
        path = HERE / f"{name}.txt"
        if path.exists():
            continue
        import lightgbm

        table = frame.copy()
        if name == "lightgbm_classes":
            table["town"] = draw_table(200, 12)["town"].astype("category")
        booster = lightgbm.train({**quiet, **options}, lightgbm.Dataset(table, y), 2)
        booster.save_model(path)
        rows = draw_table(SHOWN, 99)[list(table)]
        expected[name] = expected_of(adopt(path), rows)


PRICES_CSV = """feature,price,group,shared,panel,requires,delay,price:mSv
size,1.0,,,,,,
weight,2.5,blood,1.5,yes,,30,
count,4,blood,1.5,yes,,30,
scan,20,,,,size,45,0.1
"""
PRICES_TOML = """unit = "CAD"
evaluation = 0.01
delay_unit = "min"

[prices]
size = 1.0
weight = 2.5
count = 4
scan = 20

[groups.blood]
shared = 1.5
members = ["weight", "count"]
panel = true

[requires]
scan = ["size"]

[delays]
blood = 30
scan = 45

[currencies.mSv.prices]
scan = 0.1

[calls]
doctor = 90
"""
COSTS_CSV = "true,predicted,cost\nill,well,500\nwell,ill,100\n"
COSTS_TOML = "[costs.ill]\nwell = 500\n\n[costs.well]\nill = 100\n"


def write_texts(expected: dict[str, Any]) -> None:
    """Write price lists, costs of errors and a table."""
    table = draw_table(SHOWN, 13)
    texts = {
        "prices.csv": PRICES_CSV,
        "prices.toml": PRICES_TOML,
        "costs.csv": COSTS_CSV,
        "costs.toml": COSTS_TOML,
        "table.csv": table.to_csv(index=False, lineterminator="\n"),
    }
    for name, text in texts.items():
        path = HERE / name
        if path.exists():
            continue
        path.write_text(text)
        if name.startswith("prices"):
            bound = Prices.read(path).bind(["size", "weight", "count", "scan"])
            expected[name] = {"full": bound.full, "plain": bound.plain()}
        elif name == "table.csv":
            expected[name] = plain(table)
        else:
            expected[name] = [["ill", "well", 500.0], ["well", "ill", 100.0]]


def main(names: list[str]) -> None:
    """Write what is missing."""
    expected = json.loads(EXPECTED.read_text())
    before = json.dumps(expected, sort_keys=True)
    write_models([name for name in MODELS if not names or name in names], expected)
    if not names:
        for write in (
            write_points,
            write_gates,
            write_awaiting_gate,
            write_resume,
            write_adopted,
            write_texts,
        ):
            write(expected)
    if json.dumps(expected, sort_keys=True) != before:
        EXPECTED.write_text(json.dumps(expected, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
