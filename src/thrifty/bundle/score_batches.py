"""Scoring a table batch by batch, in memory that does not grow with the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.predictor import Predictor
from thrifty.bundle.schema import Unknown
from thrifty.errors import DataError, did_you_mean

__all__ = ["score_batches", "unpack_used"]

# Two hexadecimal digits for each byte.
HEX = np.array([f"{byte:02x}" for byte in range(256)])


def score_batches(model: Any, frames: Any, *, id_column: str | None = None) -> Any:
    """Score the parts of a table one after the other.

    Each part is encoded once for all results. Columns that the model never reads may be missing.
    Categories that training never saw count as missing, with one warning at the end.

    Parameters
    ----------
    model : Predictor or fitted estimator
    frames : iterable of tables, or Dask DataFrame
        Parts of a table in order: pandas or polars DataFrames, mappings of columns or arrays. An
        empty one is skipped.
    id_column : str, optional
        Column to carry through, such as a customer number.

    Returns
    -------
    iterator of DataFrame or dict, or Dask DataFrame
        For each part a table of the same type (for an array, a dict) with the column `id_column`,
        ``prediction``, for a classifier ``proba_<label>`` of each class, ``bill``, and ``used``:
        which features each row used, as text that `unpack_used` reads. For a Dask DataFrame, one
        with the same partitions, which its workers score when it is computed.

    Raises
    ------
    DataError
        If a part cannot be encoded; rows in the message count from the first part on, or within a
        partition.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from thrifty import GreedyMiserClassifier, score_batches
    >>> X = pd.DataFrame({"age": np.arange(100) % 50, "chol": np.arange(100) % 7})
    >>> model = GreedyMiserClassifier(n_estimators=5, random_state=0).fit(X, X["age"] > 24)
    >>> parts = (X.iloc[start : start + 50] for start in (0, 50))
    >>> scored = pd.concat(score_batches(model, parts, id_column="age"))
    >>> scored[["age", "prediction", "bill", "used"]].iloc[[10, 90]]
        age  prediction  bill used
    10   10       False   1.0   80
    90   40        True   1.0   80
    """
    predictor: Predictor = getattr(model, "predictor_", model)
    if hasattr(frames, "map_partitions"):  # Dask
        meta = _no_results(predictor, frames._meta, id_column)
        return frames.map_partitions(_score_partition, predictor, id_column, meta=meta)
    return _score_each(predictor, frames, id_column)


def _score_partition(frame: Any, predictor: Predictor, id_column: str | None) -> Any:
    """Score a partition of a Dask DataFrame, on one of its workers."""
    for scored in _score_each(predictor, [frame], id_column):
        return scored
    return _no_results(predictor, frame, id_column)


def _no_results(predictor: Predictor, frame: Any, id_column: str | None) -> Any:
    """Return the results of no rows of a pandas DataFrame."""
    ids = {} if id_column is None else {id_column: _carried(frame, id_column)[:0]}
    columns = _score(predictor, np.full((1, len(predictor.schema)), np.nan))
    none = {name: values[:0] for name, values in columns.items()}
    return type(frame)({**ids, **none}, index=frame.index[:0])


def _score_each(
    predictor: Predictor, frames: Iterable[Any], id_column: str | None
) -> Iterator[Any]:
    """Yield the results of each part; see `score_batches`."""
    first_row, unknown = 0, Unknown()
    for frame in frames:
        if not isinstance(frame, Mapping) and not len(frame):
            continue
        ids = {} if id_column is None else {id_column: _carried(frame, id_column)}
        table = frame
        if predictor.caller is not None:
            try:
                table = predictor.caller.complete(frame)
            except DataError as error:
                raise DataError(f"in the rows from {first_row} on: {error}") from error
        X = predictor.schema.encode(table, predictor.reads, first_row, unknown)
        columns = _score(predictor, X)
        if id_column in columns:
            raise DataError(f"the output has a column {id_column!r} already; rename it")
        first_row += len(X)
        if hasattr(frame, "iloc"):  # pandas
            yield type(frame)({**ids, **columns}, index=frame.index)
        elif hasattr(frame, "get_columns"):  # polars
            yield type(frame)({**ids, **columns})
        else:
            yield {**ids, **columns}
    predictor.schema.warn_of(unknown)


def unpack_used(column: Sequence[str], n_features: int) -> NDArray[np.bool_]:
    """Read a column ``used`` of `score_batches`.

    Parameters
    ----------
    column : sequence of n str
    n_features : int
        Number of features of the model, d: ``len(predictor.schema)``.

    Returns
    -------
    bool array of shape (n, d)
        Which features each row used, as `Predictor.used` returns it.

    Raises
    ------
    DataError
        If a text is not from a model with so many features.

    Examples
    --------
    >>> from thrifty import unpack_used
    >>> unpack_used(["80", "60"], n_features=3)
    array([[ True, False, False],
           [False,  True,  True]])
    """
    n_bytes = (n_features + 7) // 8
    for row, text in enumerate(column):
        if len(text) != 2 * n_bytes or not set(text) <= set("0123456789abcdef"):
            raise DataError(
                f"used: {text!r} in row {row} does not stand for {n_features} features; pass the "
                "column as it was written, and the number of features of its model"
            )
    packed = np.frombuffer(bytes.fromhex("".join(column)), dtype=np.uint8)
    bits = np.unpackbits(packed.reshape(-1, n_bytes), axis=1, count=n_features)
    return bits.astype(bool)


def _score(predictor: Predictor, X: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of the results for encoded rows."""
    model, classes, prices = predictor.model, predictor.classes, predictor.prices
    both = getattr(model, "score_and_used", None)  # forests compute them in one pass
    scores, used = (model.score(X), model.used(X)) if both is None else both(X)
    columns: dict[str, NDArray[Any]] = {"prediction": scores}
    if classes is not None:
        columns["prediction"] = classes[predictor.decide(scores)]
        for k, label in enumerate(classes.tolist()):
            columns[f"proba_{label}"] = scores[:, k]
    columns["bill"] = prices.bill(used, model.evaluations(X) if prices.evaluation else 0)
    digits = HEX[np.packbits(predictor.schema.to_table_order(used), axis=1)]
    columns["used"] = np.ascontiguousarray(digits).view(f"U{2 * digits.shape[1]}")[:, 0]
    return columns


def _carried(frame: Any, name: str) -> Any:
    """Return the column of a part that identifies its rows."""
    labels = frame.columns if hasattr(frame, "columns") else frame
    if not isinstance(frame, Mapping) and not hasattr(frame, "columns"):
        raise DataError(f"table: an array has no column {name!r}; pass a DataFrame")
    if name not in labels:
        raise DataError(f"table: there is no column {name!r}{did_you_mean(name, labels)}")
    return frame[name]
