"""What every estimator shares: reading the table, and delegating to the frozen predictor.

`fit` ends in a `Predictor`; every method after it only reads from that.
"""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier, is_regressor
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from thrifty.bundle import NamedWalk, Predictor, Schema
from thrifty.bundle.columns import check_exact, has_inexact
from thrifty.bundle.tables import SPARSE, read_names, unmask
from thrifty.costs import BoundPrices, PriceList, Prices
from thrifty.errors import DataError, raise_all
from thrifty.learn._sklearn import count_rows
from thrifty.learn.cluster import ClusterTrainingSet, is_dask
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.importances import score_changes
from thrifty.learn.long_training_set import LongTrainingSet
from thrifty.learn.ndcg import ndcg
from thrifty.learn.targets import grades, queries
from thrifty.long_table import Table as LongTable
from thrifty.model import Frozen

__all__ = [
    "PRICE_LISTS",
    "PricedClassifier",
    "PricedEstimator",
    "PricedRanker",
    "share_rounds",
    "task_of",
]


# What the parameter `prices` may be, for scikit-learn's validation; `Prices` checks the contents.
PRICE_LISTS: list[Any] = [Prices, Mapping, "array-like", None]


TEXT = "an array without names holds numbers; pass text in a DataFrame, as categories"
# Training rows that are kept to say what the model depends on.
MAX_SAMPLE = 500


def task_of(estimator: Any) -> str:
    """Return "classification", "regression" or "ranking"."""
    if is_classifier(estimator):
        return "classification"
    return "regression" if is_regressor(estimator) else "ranking"


class PricedEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: a table in, a frozen predictor out."""

    prices: PriceList | None
    # Smallest and largest value of each column in training, for the provenance of a model file.
    _ranges: list[list[float] | None] | None = None

    # Entries for the provenance of a model file, besides method and version.
    _origin: ClassVar[Mapping[str, str]] = {}
    # Whether `class_weight` multiplies the weights of the rows; if not, the estimator applies it.
    _class_weight_scales_rows: ClassVar[bool] = True
    # Whether it trains on a `thrifty.Table`, whose rows are never all in memory.
    _reads_files: ClassVar[bool] = False
    # Whether it trains on a Dask DataFrame, whose rows stay on a cluster.
    _reads_dask: ClassVar[bool] = False
    # Whether it then takes weights from a column of the table.
    _reads_weights: ClassVar[bool] = False
    # Most classes that it takes, and why: what work or memory grows with them; None for any number.
    _most_classes: ClassVar[tuple[int, str] | None] = None

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the estimator; sets `_predictor`."""

    @property
    def model_(self) -> Frozen:
        """The frozen model."""
        return self.predictor_.model

    @property
    def schema_(self) -> Schema:
        """Names and kinds of the columns, in the order of the features of `model_`."""
        return self.predictor_.schema

    @property
    def prices_(self) -> BoundPrices:
        """The prices bound to the columns of `schema_`."""
        return self.predictor_.prices

    @property
    def predictor_(self) -> Predictor:
        """Frozen model, names, classes and prices: what `save` writes and `load` returns."""
        check_is_fitted(self, "_predictor")
        predictor: Predictor = self._predictor
        return predictor

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in what moves the predictions, (d,); they sum to 1.

        One feature at a time is shuffled among training rows (500 of them, if there are more), and
        the mean change of the predicted probabilities or values is measured. What a feature costs
        does not matter, and a feature that the model never reads has 0.
        """
        changes = score_changes(self.model_, self._sample_rows())
        changes = self.schema_.to_table_order(changes)
        return changes / changes.sum() if changes.any() else changes

    @property
    def purchase_rates_(self) -> NDArray[np.float64]:
        """Share of the same training rows that buy each feature, (d,)."""
        rates = self.model_.used(self._sample_rows()).mean(axis=0)
        return self.schema_.to_table_order(np.asarray(rates))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label or value of each row."""
        return self.predictor_.predict(self._checked(X))

    def used(self, X: Any) -> NDArray[np.bool_]:
        """Return which features each row uses, (n, d), in the order of the training table."""
        return self.predictor_.used(self._checked(X))

    def bill(self, X: Any) -> NDArray[np.float64]:
        """Return the bill of each row, (n,)."""
        return self.predictor_.bill(self._checked(X))

    def bills(self, X: Any) -> dict[str, NDArray[np.float64]]:
        """Return the bill of each row in each currency, by name, the main one first."""
        return self.predictor_.bills(self._checked(X))

    def latency(self, X: Any) -> NDArray[np.float64]:
        """Return how long each row waits for its features, (n,), if the prices have delays."""
        return self.predictor_.latency(self._checked(X))

    def walk(self, known: Mapping[Any, Any] | None = None) -> NamedWalk:
        """Start the walk of one example, which asks for the features that it needs."""
        return self.predictor_.walk(known)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the predictor to a `.thrifty` file."""
        self.predictor_.save(path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictor")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read_training(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        qid: Any = None,
        groups: Any = None,
        row_costs: Any = None,
    ) -> TrainingSet:
        """Check the parameters, then read a training table; sets what scikit-learn expects.

        `X` may be a `TrainingSet` that was read before: then nothing is encoded again, and only
        the prices and the class weights are those of this estimator.
        """
        self._validate_params()
        if isinstance(X, LongTable):
            if not (qid is None and groups is None and row_costs is None):
                raise DataError("table: queries, groups and costs of rows need the rows in memory")
            train: TrainingSet = self._read_files(X, y, sample_weight)
        elif is_dask(X):
            train = self._read_cluster(X, y, sample_weight)
        elif isinstance(X, TrainingSet):
            train = X.with_prices(self.prices)
            self.n_features_in_ = train.n_features
            if train.schema.named:
                self.feature_names_in_ = np.array(train.schema.table_names, dtype=object)
        else:
            table = self._as_table(X, reset=True, least=2)
            train = TrainingSet.read(
                task_of(self), table, y, self.prices, sample_weight, qid, groups, row_costs
            )
        if self._most_classes is not None:
            train.limit_classes(*self._most_classes)
        self._ranges = train.value_ranges()
        step = -(-len(train.X) // MAX_SAMPLE)
        self._sampled = np.array(train.X[::step]), train.schema
        if train.classes is not None:
            self.classes_ = train.classes
        train = train.with_costs(getattr(self, "costs", None))
        if not self._class_weight_scales_rows:
            return train
        return train.with_class_weight(getattr(self, "class_weight", None))

    def _read_files(self, table: LongTable, y: Any, sample_weight: Any) -> TrainingSet:
        """Read a training table from its files; sets what scikit-learn expects."""
        if not self._reads_files:
            raise DataError(
                f"table: {type(self).__name__} needs its rows in memory; read the files, such as "
                "by pd.read_parquet, or use GreedyMiserClassifier, GreedyMiserRegressor or "
                "BudgetForestClassifier"
            )
        if y is not None or sample_weight is not None:
            raise DataError(
                "table: target and weights are columns of the files; pass neither y nor weights, "
                "but Table.parquet(..., weight=...)"
            )
        if table.weight is not None and not self._reads_weights:
            raise DataError(f"table: {type(self).__name__} takes no weights from files")
        random = check_random_state(getattr(self, "random_state", None))
        train = self._read_table(table, random)
        self.n_features_in_ = train.n_features
        self.feature_names_in_ = np.array(train.schema.table_names, dtype=object)
        return train

    def _read_cluster(self, frame: Any, y: Any, sample_weight: Any) -> TrainingSet:
        """Read a Dask DataFrame, whose rows stay on the cluster; sets what scikit-learn expects."""
        if not self._reads_dask:
            raise DataError(
                f"table: {type(self).__name__} needs its rows in memory; pass frame.compute(), or "
                "use GreedyMiserClassifier, GreedyMiserRegressor or BudgetForestClassifier"
            )
        random = check_random_state(getattr(self, "random_state", None))
        train = ClusterTrainingSet.read_frame(
            task_of(self), frame, y, self.prices, random, sample_weight
        )
        self.n_features_in_ = train.n_features
        self.feature_names_in_ = np.array(train.schema.table_names, dtype=object)
        return train

    def _read_table(self, table: LongTable, random: np.random.RandomState) -> TrainingSet:
        """Read the files of a table, as this estimator needs them."""
        return LongTrainingSet.read_files(task_of(self), table, self.prices, random)

    def _sample_rows(self) -> NDArray[np.floating]:
        """Return some training rows, as the model reads them."""
        rows, schema = self._sampled
        own = self.predictor_.schema
        if own.names != schema.names:  # such as the columns of a call
            raise AttributeError(f"a {type(self).__name__} reads columns that the table lacks")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a category that a part of them lacks
            return own.recode(rows, schema)

    def _read_validation(self, validation: Any, train: TrainingSet) -> ValidationSet:
        """Read ``(X, y)`` or ``(X, y, qid)``; or take a `ValidationSet` that was read before."""
        if isinstance(validation, ValidationSet):
            return validation.matching(train)
        if isinstance(validation, (tuple, list)) and validation:
            validation = (self._as_table(validation[0], reset=False), *validation[1:])
        return ValidationSet.read(validation, train)

    def _checked(self, X: Any) -> Any:
        """Check a table to predict by scikit-learn's conventions."""
        check_is_fitted(self, "_predictor")
        return self._as_table(X, reset=False)

    def _as_table(self, X: Any, *, reset: bool, least: int = 1) -> Any:
        """Check a table by scikit-learn's conventions; with `reset`, remember its columns."""
        if hasattr(X, "tocsr"):
            raise DataError(SPARSE)
        if isinstance(X, np.ma.MaskedArray):
            X = unmask(X)  # scikit-learn would drop the mask
        if isinstance(X, np.ndarray) and X.dtype.kind == "V":
            raise DataError("table: a structured array; pass it as a DataFrame, pd.DataFrame(X)")
        try:
            n = count_rows(X)
        except TypeError:
            n = least  # not a table at all, which is refused below
        if n < least:
            counted = f"{n} sample{'s' * (n != 1)}"  # scikit-learn's checks look for the word
            raise DataError(f"table: {counted}; give at least {least} row{'s' * (least != 1)}")
        if hasattr(X, "columns"):
            if not reset and hasattr(self, "feature_names_in_"):
                # The schema picks the columns by name: any order, and others beside them.
                return X
            if reset and not hasattr(X, "collect_schema"):
                read_names(list(X.columns))  # before scikit-learn refuses them in other words
            # A table with columns of its own: only names and width are scikit-learn's business.
            return validate_data(self, X, reset=reset, skip_check_array=True)
        if reset:
            _check_integers(X)
        # An infinite value is left to the schema, whose message names the column and the row.
        is_float = isinstance(X, np.ndarray) and X.dtype.kind == "f"
        has_infinity = is_float and bool(np.isinf(X).any())
        try:
            return validate_data(
                self,
                X,
                reset=reset,
                dtype=[np.float64, np.float32],
                ensure_all_finite=False if has_infinity else "allow-nan",
                ensure_min_samples=least,
            )
        except ValueError as error:
            if "could not convert string" in str(error):
                raise DataError(f"table: {error}; {TEXT}") from None
            raise

    def _predictor_of(
        self, model: Frozen, train: TrainingSet, knob: dict[str, Any] | None = None
    ) -> Predictor:
        """Join a frozen model with the names, classes and prices of its training set."""
        predictor = self._freeze(model, train.schema, train.prices, train.classes, knob)
        if train.error_costs is None:
            return predictor
        return predictor.replace(decision=train.error_costs.decision)

    def _freeze(
        self,
        model: Frozen,
        schema: Schema,
        prices: BoundPrices,
        classes: NDArray[Any] | None = None,
        knob: dict[str, Any] | None = None,
    ) -> Predictor:
        """Join a frozen model with everything that reading it needs."""
        from thrifty import __version__

        provenance: dict[str, Any] = {
            "method": type(self).__name__,
            "thrifty": __version__,
            **self._origin,
        }
        if self._ranges is not None:
            provenance["ranges"] = self._ranges
        return Predictor(model, schema, prices, classes, knob, provenance)


def _check_integers(X: Any) -> None:
    """Raise a DataError that names the columns of an array whose integers are not exact as floats.

    scikit-learn's validation would round them.
    """
    try:
        array = np.asarray(X)
    except ValueError:
        return  # ragged, which the validation refuses
    if array.ndim != 2 or not has_inexact(array):
        return
    problems = []
    for j, column in enumerate(array.T):
        try:
            check_exact(column)
        except DataError as error:
            problems.append(f"column {j} {error}")
    raise_all(DataError, "table", problems)


class PricedClassifier(ClassifierMixin, PricedEstimator):  # type: ignore[misc]
    """Base of the classifiers."""

    classes_: NDArray[Any]
    """Labels in the order of the columns of `predict_proba`."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities (n, K) in the order of `classes_`."""
        return self.predictor_.predict_proba(self._checked(X))


class PricedRanker(PricedEstimator):
    """Base of the rankers."""

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Return the mean NDCG@5 of the queries with a relevant row (Xu 2014, eq. 2.20)."""
        scores: NDArray[np.float64] = self.predict(X)
        return ndcg(grades(y, len(scores)), scores, queries(qid, len(scores)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags


def share_rounds(wanted: int, n_classes: int, limit: int, parameter: str, rounds: str) -> int:
    """Return how many rounds are made, so that all classes together take no more than `limit` do.

    Parameters
    ----------
    wanted : int
        The rounds that are asked for.
    n_classes : int
    limit : int
        Up to this many classes, all the rounds are made.
    parameter, rounds : str
        The parameter that asks for the rounds, and what they are, for the warning.

    Examples
    --------
    >>> import warnings
    >>> from thrifty.learn.base import share_rounds
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     share_rounds(10, 80, 40, "max_sweeps", "sweeps")
    5
    >>> print(caught[0].message)
    80 classes: 5 instead of 10 sweeps are made, about as much work as for 40 classes; raise
    max_sweeps for more
    """
    if n_classes <= limit or wanted <= 1:
        return wanted
    shared = max(1, wanted * limit // n_classes)
    warnings.warn(
        f"{n_classes} classes: {shared} instead of {wanted} {rounds} are made, about as much work "
        f"as for {limit} classes; raise {parameter} for more",
        UserWarning,
        stacklevel=3,
    )
    return shared
