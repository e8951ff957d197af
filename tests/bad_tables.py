"""Tables, targets, weights, prices and settings that go wrong, and what may become of them.

Each `BadTable` is given to each public estimator. It must be answered, or refused with an error of
Thrifty, or with an error that scikit-learn documents, in bounded time; nothing else.
`tests/test_bad_tables.py` runs the fast cells, `benchmarks/bad_tables.py` runs all of them.
"""

from __future__ import annotations

import inspect
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.base import ClassifierMixin, is_classifier, is_regressor
from sklearn.utils._param_validation import InvalidParameterError

import thrifty
from thrifty.learn import baselines

__all__ = ["HARD", "LIMIT", "BadTable", "Outcome", "bad_tables", "estimators", "run", "task_of"]

N = 40
# CPU seconds that a fit of one of these tables may take on a machine of 2026.
LIMIT = 10.0
SMALL = {"n_estimators": 4, "max_depth": 2, "min_samples_leaf": 3, "max_sweeps": 1, "max_steps": 5}


# Tables that get past the border, and whose numbers each method has to cope with.
HARD = (
    "weights: one of 1e15", "weights: 1e-30", "weights: all but one zero", "numbers: 1e15 and 1",
    "numbers: constant", "labels: one row of a class", "columns: some empty text",
    "columns: 1e308", "columns: 1e308 of both signs", "columns: 1e-320", "columns: constant",
    "columns: one of them varies", "columns: equal", "columns: masked", "size: two rows",
    "size: three rows", "size: one column", "prices: 0", "prices: 1e-308", "prices: 1e+15",
    "settings: penalty=1e+308",
)  # fmt: skip


@dataclass(frozen=True)
class BadTable:
    """One case.

    Attributes
    ----------
    name : str
    make : callable
        Takes the task, "classification", "regression" or "ranking"; returns the arguments of `fit`
        and the parameters of the estimator. None if the case is not for this task.
    heavy : bool
        Whether it has many classes or columns: not for the fast tests.
    """

    name: str
    make: Callable[[str], tuple[dict[str, Any], dict[str, Any]] | None]
    heavy: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of one case: "answer", "refused", or what must not be."""

    kind: str
    seconds: float = 0.0
    words: str = field(default="", compare=False)

    @property
    def is_allowed(self) -> bool:
        """Whether it is an answer or a refusal."""
        return self.kind in ("answer", "refused")


def frame(n: int = N, d: int = 4, seed: int = 0) -> pd.DataFrame:
    """Return numbers in named columns."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])


def target(task: str, n: int = N) -> Any:
    """Return a target of n rows that the first column of `frame` explains."""
    order = np.argsort(np.argsort(frame(n)["x0"]))
    if task == "classification":
        return np.where(order >= n // 2, "yes", "no")
    return np.asarray(order / max(n, 1) if task == "regression" else (3 * order // max(n, 1)) * 1.0)


def bad_tables() -> Iterator[BadTable]:
    """Yield all cases."""
    yield from _weights()
    yield from _numbers()
    yield from _labels()
    yield from _columns()
    yield from _sizes()
    yield from _prices()
    yield from _settings()


def _case(name: str, X: Callable[[], Any], heavy: bool = False, **params: Any) -> BadTable:
    """Return a case of features, with a target that fits them."""

    def make(task: str) -> tuple[dict[str, Any], dict[str, Any]]:
        table = X()
        return {"X": table, "y": target(task, table.shape[0])}, params

    return BadTable(name, make, heavy)


def _weights() -> Iterator[BadTable]:
    values: dict[str, Any] = {
        "1e308": np.full(N, 1e308),
        "1e-320": np.full(N, 1e-320),
        "both": np.where(np.arange(N) % 2, 1e308, 1e-320),
        "one of 1e308": np.where(np.arange(N) == 3, 1e308, 1.0),
        "one of 1e15": np.where(np.arange(N) == 3, 1e15, 1.0),
        "1e-30": np.full(N, 1e-30),
        "zero": np.zeros(N),
        "all but one zero": np.eye(N)[0],
        "NaN": np.full(N, np.nan),
        "infinite": np.full(N, np.inf),
        "negative": -np.ones(N),
        "text": np.full(N, "1"),
        "two-dimensional": np.ones((N, 2)),
        "short": np.ones(N - 1),
    }
    for name, weight in values.items():
        yield BadTable(
            f"weights: {name}",
            lambda task, weight=weight: (
                {"X": frame(), "y": target(task), "sample_weight": weight},
                {},
            ),
        )


def _numbers() -> Iterator[BadTable]:
    signs = np.where(np.arange(N) % 2, 1.0, -1.0)
    values: dict[str, Any] = {
        "1e308": np.full(N, 1e308) * np.linspace(0.1, 1, N),
        "1e308 of both signs": 1e308 * signs,
        "1e-320": np.linspace(1, 50, N) * 1e-320,
        "1e200": 1e200 * signs,
        "1e15 and 1": 1e15 + np.arange(N),
        "infinite": np.where(np.arange(N) == 3, np.inf, 1.0),
        "NaN": np.where(np.arange(N) == 3, np.nan, 1.0),
        "constant": np.ones(N),
        "constant 1e308": np.full(N, 1e308),
        "text": np.full(N, "1.5"),
        "words": np.array(["a", "b"] * (N // 2)),
        "None": np.array([1.0, None] * (N // 2), dtype=object),
        "complex": np.arange(N) + 1j,
        "10**400": np.array([10**400, 1] * (N // 2), dtype=object),
        "Decimal": np.array([Decimal("1.5"), Decimal(2)] * (N // 2), dtype=object),
        "dates": pd.date_range("2026-01-01", periods=N),
        "two-dimensional": np.ones((N, 2)),
        "short": np.arange(N - 1.0),
    }
    for name, y in values.items():
        yield BadTable(
            f"numbers: {name}",
            lambda task, y=y: None if task == "classification" else ({"X": frame(), "y": y}, {}),
        )


def _labels() -> Iterator[BadTable]:
    half = N // 2

    def alternating(*labels: Any) -> Any:
        y = np.empty(N, dtype=object)
        y[:] = [labels[i % len(labels)] for i in range(N)]
        return y

    values: dict[str, Any] = {
        "NUL": alternating("a\0", "a"),
        "NUL in NumPy": np.array(["b", "a\0"] * half),
        "surrogate": alternating("\ud800", "a"),
        "mixed types": alternating("a", 1),
        "None": alternating("a", None),
        "NaN": alternating("a", np.nan),
        "NaN among numbers": np.where(np.arange(N) % 2, np.nan, 1.0),
        "constant": np.full(N, "a"),
        "one row of a class": np.where(np.arange(N) == 7, "rare", "usual"),
        "bool": np.arange(N) % 2 == 0,
        "bytes": np.array([b"a", b"b"] * half),
        "empty text": alternating("", "a"),
        "very long": alternating("a" * 100_000, "b"),
        "1e308": np.where(np.arange(N) % 2, 1e308, -1e308),
        "beyond int64": alternating(2**70, 1),
        "uint64": np.where(np.arange(N) % 2, np.uint64(2**64 - 1), np.uint64(1)),
        "2**53 and 2**53 + 1": np.where(np.arange(N) % 2, 2**53, 2**53 + 1),
        "fractions": np.linspace(0, 1, N),
        "complex": np.arange(N) % 2 + 1j,
        "tuples": alternating((1, 2), (3, 4)),
        "categorical": pd.Series(pd.Categorical(["a", "b"] * half, ["c", "b", "a"])),
        "categorical with NaN": pd.Series(pd.Categorical(["a", None] * half)),
        "dates": pd.Series(pd.to_datetime(["2026-01-01", "2026-01-02"] * half)),
        "nullable": pd.Series([1, None] * half, dtype="Int64"),
        "formula": alternating("=HYPERLINK(1)", "a"),
        "two-dimensional": np.ones((N, 2), dtype=int),
    }
    for name, y in values.items():
        yield BadTable(
            f"labels: {name}",
            lambda task, y=y: ({"X": frame(), "y": y}, {}) if task == "classification" else None,
        )


def _columns() -> Iterator[BadTable]:
    def with_column(**columns: Any) -> Callable[[], pd.DataFrame]:
        return lambda: frame().assign(**columns)

    def renamed(*names: Any) -> Callable[[], pd.DataFrame]:
        def make() -> pd.DataFrame:
            table = frame()
            table.columns = pd.Index([*names, *table.columns[len(names) :]], dtype=object)
            return table

        return make

    words = np.array(["a", "b"] * (N // 2), dtype=object)
    merged = np.where(np.arange(N) % 2, 2**53, 2**53 + 1)
    yield _case("columns: duplicate names", renamed("x", "x"))
    yield _case("columns: a number as name", renamed(7))
    yield _case("columns: None as name", renamed(None))
    yield _case("columns: all names numbers", renamed(4, 2, 3, 9))
    yield _case("columns: an empty name", renamed(""))
    yield _case("columns: NUL and surrogate names", renamed("a\0", "\ud800"))
    yield _case("columns: very long names", renamed("n" * 100_000))
    yield _case("columns: int64 beyond 2**53", with_column(id=merged))
    yield _case("columns: uint64", with_column(id=merged.astype(np.uint64) + np.uint64(2**63)))
    yield _case("columns: object integers", with_column(id=merged.astype(object)))
    yield _case("columns: Decimal", with_column(id=[Decimal(i) / 3 for i in range(N)]))
    yield _case("columns: array of int64", lambda: np.column_stack([merged, np.arange(N)]))
    yield _case("columns: all NaN", with_column(x1=np.nan))
    yield _case("columns: all None", with_column(x1=None))
    yield _case("columns: empty text", with_column(x1=""))
    yield _case("columns: some empty text", with_column(x1=np.where(words == "a", "", words)))
    yield _case("columns: bool", with_column(x1=words == "a"))
    yield _case("columns: dates", with_column(x1=pd.date_range("2026-01-01", periods=N)))
    yield _case("columns: time spans", with_column(x1=pd.to_timedelta(np.arange(N), "D")))
    yield _case("columns: complex", with_column(x1=np.arange(N) + 1j))
    yield _case("columns: lists", with_column(x1=[[1, 2]] * N))
    yield _case("columns: mixed", with_column(x1=[1, "a"] * (N // 2)))
    yield _case("columns: bytes", with_column(x1=[b"a", b"b"] * (N // 2)))
    yield _case(
        "columns: NUL and surrogates",
        with_column(x1=pd.Series(["a\0", "a", "\ud800", "b"] * 10, dtype=object)),
    )
    yield _case("columns: infinite", with_column(x1=np.inf))
    yield _case("columns: 1e308", lambda: frame() * 1e307)
    yield _case(
        "columns: 1e308 of both signs", with_column(x1=np.where(words == "a", 1.7e308, -1.7e308))
    )
    yield _case("columns: 1e-320", lambda: frame() * 1e-320)
    yield _case("columns: constant", lambda: frame() * 0.0)
    yield _case("columns: one of them varies", lambda: frame().assign(x1=0.0, x2=0.0, x3=0.0))
    yield _case("columns: equal", lambda: pd.DataFrame({name: frame()["x0"] for name in "abcd"}))
    yield _case(
        "columns: 300 categories", lambda: frame(600).assign(x1=[f"c{i % 300}" for i in range(600)])
    )
    yield _case("columns: float16", lambda: frame().astype(np.float16))
    yield _case("columns: float128", lambda: frame().to_numpy().astype(np.longdouble))
    yield _case("columns: array of text", lambda: np.full((N, 2), "a"))
    yield _case("columns: array of objects", lambda: frame().to_numpy().astype(object))
    yield _case("columns: array of complex", lambda: frame().to_numpy() + 1j)
    yield _case("columns: sparse", lambda: scipy.sparse.csr_matrix(frame().to_numpy()))
    yield _case("columns: masked", lambda: np.ma.masked_greater(frame().to_numpy(), 1.0))
    yield _case("columns: records", lambda: np.zeros(N, dtype=[("a", float), ("b", int)]))


def _sizes() -> Iterator[BadTable]:
    yield _case("size: no column", lambda: frame()[[]])
    yield _case("size: no row", lambda: frame(0))
    yield _case("size: one row", lambda: frame(1))
    yield _case("size: two rows", lambda: frame(2))
    yield _case("size: three rows", lambda: frame(3))
    yield _case("size: one column", lambda: frame()[["x0"]])
    yield _case("size: one dimension", lambda: frame()["x0"].to_numpy())
    yield _case("size: three dimensions", lambda: np.zeros((N, 2, 2)))
    yield _case("size: 10 x 200", lambda: frame(10, 200))
    yield _case("size: 100 x 2500", lambda: frame(100, 2500))
    yield _case("size: 400 x 5000", lambda: frame(400, 5000), heavy=True)
    for n_classes, n in ((20, 200), (35, 140), (80, 800), (600, 1800)):
        yield BadTable(
            f"size: {n_classes} classes",
            lambda task, k=n_classes, n=n: (
                ({"X": frame(n, 6), "y": np.arange(n) % k}, {})
                if task == "classification"
                else None
            ),
            heavy=n_classes > 35,
        )


def _prices() -> Iterator[BadTable]:
    for price in (0.0, 1e308, 1e-308, 1e300, 1e15):
        yield _case(f"prices: {price:g}", frame, prices=[price] * 4)
    for name, prices in {
        "0 and 1e308": [0.0, 1e308, 1e308, 1.0],
        "NaN": [np.nan] * 4,
        "infinite": [np.inf] * 4,
        "negative": [-1.0] * 4,
        "text": ["1"] * 4,
        "words": "free",
        "short": [1.0],
        "two-dimensional": np.ones((2, 2)),
        "other names": {"y": 1.0},
        "a number": 3.0,
    }.items():
        yield _case(f"prices: {name}", frame, prices=prices)


def _settings() -> Iterator[BadTable]:
    odd = (float("nan"), float("inf"), -1, "x", "5", [], {}, 1e308, 1e-320)
    parameters = ("budget", "cap", "penalty", "time_limit", "random_state", "class_weight", "costs",
                  "confidence", "n_estimators", "target")  # fmt: skip
    for parameter in parameters:
        for value in odd:
            yield _case(f"settings: {parameter}={value!r}", frame, **{parameter: value})


def estimators(small: bool) -> dict[str, Any]:
    """Return all estimators by name: small ones, or as they are by default."""
    trees = {"n_estimators": 4} if small else {}
    called = thrifty.GreedyMiserClassifier(**trees)
    given: dict[str, dict[str, Any]] = {
        "BudgetClassifier": {"learners": {"miser": called}} if small else {},
        "BudgetRegressor": {"learners": {"miser": thrifty.GreedyMiserRegressor(n_estimators=4)}}
        if small
        else {},
        "BudgetRanker": {"learners": {"miser": thrifty.GreedyMiserRanker(n_estimators=4)}}
        if small
        else {},
    }
    family = thrifty.LeavesFamily(n_estimators=4, max_depth=2)
    found: dict[str, Any] = {}
    places = [(thrifty, name) for name in thrifty.__all__]
    places += [(baselines, name) for name in baselines.__all__]
    for place, name in places:
        kind = getattr(place, name)
        if not inspect.isclass(kind) or not hasattr(kind, "fit") or kind is thrifty.Pipeline:
            continue
        taken = inspect.signature(kind).parameters
        settings = dict(given.get(name, {}))
        if "expensive" in taken:
            values = thrifty.GreedyMiserRegressor(**trees)
            is_for_labels = issubclass(kind, ClassifierMixin)
            settings["expensive"] = thrifty.Call(
                "big", fn=called if is_for_labels else values, folds=2
            )
            settings |= {"family": family} if small and "family" in taken else {}
        if small:
            settings |= {key: value for key, value in SMALL.items() if key in taken}
        if "random_state" in taken:
            settings["random_state"] = 0
        found[name] = kind(**settings)
    return found


def task_of(estimator: Any) -> str:
    """Return "classification", "regression" or "ranking"."""
    if is_classifier(estimator):
        return "classification"
    return "regression" if is_regressor(estimator) else "ranking"


def run(estimator: Any, table: BadTable, limit: float = LIMIT) -> Outcome | None:
    """Fit a clone and use it; None if the case does not apply to the estimator."""
    made = table.make(task_of(estimator))
    if made is None:
        return None
    arguments, parameters = made
    own = estimator.get_params(deep=False)
    if not parameters.keys() <= own.keys():
        return None
    takes_weights = "sample_weight" in inspect.signature(estimator.fit).parameters
    if "sample_weight" in arguments and not takes_weights:
        return None
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = type(estimator)(**{**own, **parameters}).fit(**arguments)
            seconds = time.process_time() - start
            problem = _use(fitted, arguments["X"])
    except thrifty.ThriftyError as error:
        return _timed("refused", start, limit, f"{type(error).__name__}: {error}")
    except InvalidParameterError as error:  # scikit-learn's, for parameters
        return _timed("refused", start, limit, f"{type(error).__name__}: {error}")
    except ValueError as error:
        kind = "refused" if _is_of_sklearn(error) else "escape"
        return _timed(kind, start, limit, f"{type(error).__name__}: {error}")
    except Exception as error:
        return _timed("escape", start, limit, f"{type(error).__name__}: {error}")
    if problem:
        return Outcome("wrong", seconds, problem)
    return Outcome("answer" if seconds <= limit else "slow", seconds)


def _timed(kind: str, start: float, limit: float, words: str) -> Outcome:
    seconds = time.process_time() - start
    return Outcome(kind if seconds <= limit or kind == "escape" else "slow", seconds, words)


def _is_of_sklearn(error: ValueError) -> bool:
    """Whether an error is a documented one of scikit-learn's validation, and not from a solver."""
    frames = traceback.extract_tb(error.__traceback__)
    return type(error) is ValueError and any(
        name in frames[-1].filename
        for name in ("sklearn/utils/validation", "sklearn/utils/multiclass")
    )


def _use(fitted: Any, X: Any) -> str:
    """Use a fitted estimator in all ways; return what is wrong with its results, if anything."""
    predicted, bills, used = fitted.predict(X), fitted.bill(X), fitted.used(X)
    n = len(predicted)
    if used.shape[0] != n or bills.shape != (n,):
        return f"shapes {used.shape} and {bills.shape} for {n} rows"
    if np.isnan(bills).any() or (bills < 0).any():
        return f"bills {bills[:3]}"
    predictor = fitted.predictor_
    if predictor.classes is None:
        if not np.isfinite(np.asarray(predicted, float)).all():
            return f"predictions {predicted[:3]}"
    else:
        proba = (
            fitted.predict_proba(X)
            if hasattr(fitted, "predict_proba")
            else predictor.predict_proba(X)
        )
        if (
            not np.isfinite(proba).all()
            or (proba < 0).any()
            or np.abs(proba.sum(axis=1) - 1).max() > 1e-6
        ):
            return f"probabilities {proba[0][:4]}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.thrifty")
        fitted.save(path)
        try:
            loaded = thrifty.load(path)
        except thrifty.BundleError as error:
            return f"its own file cannot be read: {error}"
    if loaded.labels != predictor.labels:
        return f"labels {loaded.labels} after loading"
    again = loaded.bill(X) if not predictor.schema.calls else bills
    return (
        ""
        if np.array_equal(again, bills)
        else f"bills {again[:3]} after loading, {bills[:3]} before"
    )
