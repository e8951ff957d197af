"""What every estimator shares: reading the table, and delegating to the frozen predictor.

`fit` ends in a `Predictor`; every method after it only reads from that.

What the estimators for classes share: labels, weights of classes, probabilities.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier, is_regressor
from sklearn.utils import Tags, compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from thrifty.bundle import NamedWalk, Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.targets import Labels
from thrifty.model import Frozen

__all__ = ["PricedClassifier", "PricedEstimator", "task_of"]


def task_of(estimator: Any) -> str:
    """Return "classification", "regression" or "ranking"."""
    if is_classifier(estimator):
        return "classification"
    return "regression" if is_regressor(estimator) else "ranking"


class PricedEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: a table in, a frozen predictor out."""

    prices: Prices | None
    # What a model file tells of its origin, beside method and version.
    _origin: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Learn; ends with `self._freeze(...)`."""

    @property
    def model_(self) -> Frozen:
        """The frozen model."""
        return self.predictor_.model

    @property
    def schema_(self) -> Schema:
        """Names and kinds of the columns."""
        return self.predictor_.schema

    @property
    def prices_(self) -> BoundPrices:
        """The prices bound to the columns."""
        return self.predictor_.prices

    @property
    def predictor_(self) -> Predictor:
        """Frozen model, names, classes and prices: what `save` writes and `load` gives back."""
        check_is_fitted(self, "_predictor")
        predictor: Predictor = self._predictor
        return predictor

    def predict(self, X: Any) -> NDArray[Any]:
        """Predicted label or value of each row."""
        return self.predictor_.predict(self._checked(X))

    def used(self, X: Any) -> NDArray[np.bool_]:
        """Which features each row touches, (n, d)."""
        return self.predictor_.used(self._checked(X))

    def bill(self, X: Any) -> NDArray[np.float64]:
        """What each row pays, (n,)."""
        return self.predictor_.bill(self._checked(X))

    def walk(self, known: Mapping[Any, Any] | None = None) -> NamedWalk:
        """Start one example, which asks for the features that it needs."""
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

    def _read(self, X: Any) -> tuple[Schema, BoundPrices, NDArray[np.floating]]:
        """Learn the schema of a training table, bind the prices to it, encode it."""
        X = self._as_table(X, reset=True, least=2)
        schema = Schema.of(X)
        names = [str(column.name) for column in schema.columns]
        prices = (self.prices or Prices()).bind(names if schema.named else len(names))
        return schema, prices, schema.encode(X)

    def _read_training(
        self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None
    ) -> TrainingSet:
        """Check the parameters, then read a training table; sets what scikit-learn expects.

        `X` may be a `TrainingSet` that was read before: then nothing is encoded again, and only
        the prices and the class weights are those of this estimator.
        """
        self._validate_params()
        if isinstance(X, TrainingSet):
            train = X.with_prices(self.prices)
            self.n_features_in_ = train.n_features
            if train.schema.named:
                self.feature_names_in_ = np.array(train.schema.names, dtype=object)
        else:
            table = self._as_table(X, reset=True, least=2)
            train = TrainingSet.read(task_of(self), table, y, self.prices, sample_weight, qid)
        if train.classes is not None:
            self.classes_ = train.classes
        return train.with_class_weight(getattr(self, "class_weight", None))

    def _read_validation(self, validation: Any, train: TrainingSet) -> ValidationSet:
        """Read ``(X, y)`` or ``(X, y, qid)``; a `ValidationSet` is taken as it is."""
        if isinstance(validation, ValidationSet):
            return validation
        if isinstance(validation, (tuple, list)) and validation:
            validation = (self._as_table(validation[0], reset=False), *validation[1:])
        return ValidationSet.read(validation, train)

    def _checked(self, X: Any) -> Any:
        """Check a table to predict by scikit-learn's conventions."""
        check_is_fitted(self, "_predictor")
        return self._as_table(X, reset=False)

    def _as_table(self, X: Any, *, reset: bool, least: int = 1) -> Any:
        if hasattr(X, "columns"):
            if not reset and hasattr(self, "feature_names_in_"):
                # The schema picks the columns by name: any order, and others beside them.
                return X
            # A table with columns of its own: only names and width are scikit-learn's business.
            if len(X) < least:
                raise DataError(
                    f"table: {len(X)} sample(s), while a minimum of {least} is required"
                )
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False if _has_infinity(X) else "allow-nan",
            ensure_min_samples=least,
        )

    def _weights(self, sample_weight: Any, X: NDArray[Any]) -> NDArray[np.float64] | None:
        if sample_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not np.any(weight > 0):
            raise DataError("sample_weight: every weight is zero; give a row a positive one")
        return np.asarray(weight)

    @staticmethod
    def _kept(weight: NDArray[np.float64] | None, *arrays: NDArray[Any]) -> tuple[Any, ...]:
        """Arrays and weights without the rows of weight 0, which must not place an edge either."""
        if weight is None or np.all(weight > 0):
            return (*arrays, weight)
        return tuple(array[weight > 0] for array in (*arrays, weight))

    def _predictor_of(
        self, model: Frozen, train: TrainingSet, knob: dict[str, Any] | None = None
    ) -> Predictor:
        """Join a frozen model with the names, classes and prices of its training set."""
        return self._freeze(model, train.schema, train.prices, train.classes, knob)

    def _freeze(
        self,
        model: Frozen,
        schema: Schema,
        prices: BoundPrices,
        classes: NDArray[Any] | None = None,
        knob: dict[str, Any] | None = None,
    ) -> Predictor:
        """Frozen model and all that reading it needs."""
        from thrifty import __version__

        provenance = {"method": type(self).__name__, "thrifty": __version__, **self._origin}
        return Predictor(model, schema, prices, classes, knob, provenance)


def _has_infinity(X: Any) -> bool:
    # Left to the schema, whose message names the column and the row.
    return isinstance(X, np.ndarray) and X.dtype.kind == "f" and bool(np.isinf(X).any())


class PricedClassifier(ClassifierMixin, PricedEstimator):  # type: ignore[misc]
    """Base of the estimators that learn from labels and have a `class_weight`."""

    class_weight: dict[Any, float] | str | None
    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, K) in the order of `classes_`."""
        return self.predictor_.predict_proba(self._checked(X))

    def _read_labeled(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[
        Schema, BoundPrices, NDArray[np.floating], NDArray[np.int64], NDArray[np.float64] | None
    ]:
        """Schema, prices, encoded rows, their class numbers and weights; sets `classes_`."""
        schema, prices, rows = self._read(X)
        labels = Labels.of(y, len(rows))
        self.classes_ = labels.classes
        weight = self._balanced(self._weights(sample_weight, rows), labels)
        return schema, prices, *self._kept(weight, rows, labels.codes)

    def _balanced(
        self, weight: NDArray[np.float64] | None, labels: Labels
    ) -> NDArray[np.float64] | None:
        """Weights of the rows times those of their classes."""
        if self.class_weight is None:
            return weight
        balance = compute_sample_weight(self.class_weight, labels.classes[labels.codes])
        return np.asarray(balance if weight is None else weight * balance)

    def _codes(self, y: Any, rows: int) -> NDArray[np.int64]:
        """Class numbers of held-out labels."""
        return Labels(self.classes_, np.empty(0, np.int64)).recode(y, rows)
