"""Calls: an expensive model as something to buy, with a name, a price and the features it needs.

The model behind a call is an estimator, a function of a table, or the URL of a server. Its output
for a row is a probability for each class.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.columns import is_missing
from thrifty.errors import DataError, SourceError, raise_all
from thrifty.learn._sklearn import take_rows
from thrifty.model.call_result import SUM_TOL

__all__ = ["Call", "CallOutputs", "post_rows", "read_outputs", "run_with_timeout"]

Floats = NDArray[np.float64]
# A response for a batch of rows that is larger than this is an error, not a prediction.
MAX_RESPONSE_BYTES = 1 << 26
# Rows that are sent to a server in one request.
ROWS_PER_REQUEST = 256
# Error messages quote at most this many reasons or labels.
MAX_QUOTED = 5


class CallOutputs(NamedTuple):
    """What a call returns for some rows."""

    proba: Floats
    """Class probabilities, (n, K); NaN in rows for which the call failed."""
    failures: dict[int, str]
    """Row -> reason, for the rows for which the call failed."""


class Call:
    """An expensive model, what it needs and what it costs.

    Parameters
    ----------
    name : str
        Name of the call in price lists and receipts.
    price : float
        What one row pays for the call, on top of the features it needs.
    needs : sequence of str or int, optional
        Features that the call needs, by name, or by position in a table without names; all
        features by default.
    fn : estimator, function, or URL
        The model. An estimator that is not fitted is trained on the training rows of the gate. A
        function gets a table with the needed columns, of the type that the user's table has
        (array, pandas or polars DataFrame), and returns class probabilities (n, K) in the order of
        the sorted classes, labels (n,), or a pair of probabilities and the classes of their
        columns. A URL, ``http://...`` or ``https://...``, gets
        ``{"columns": [...], "rows": [[...], ...]}`` as JSON by POST and returns
        ``{"probabilities": [[...], ...], "classes": [...]}`` or ``{"labels": [...]}``.
    timeout : float, optional
        Seconds that a function or a server may take for one batch of rows.
    folds : int or None
        An estimator may have been trained on the rows that the gate is trained on, so its outputs
        there are computed out of fold, in this many folds. None says that it has not seen them.
    folder : path, optional
        Directory that caches the outputs on training rows, by rows, labels and name of the call;
        another model needs another name or folder.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn import Call
    >>> def doctor(rows):
    ...     return np.where(rows[:, 0] > 0, "ill", "well")
    >>> call = Call("doctor", 90.0, needs=[1], fn=doctor)
    >>> call.predict_proba(np.array([[0.0, 3.0], [0.0, -3.0]]), np.array(["ill", "well"]))
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(
        self,
        name: str,
        price: float = 0.0,
        needs: Sequence[str | int] | None = None,
        fn: Any = None,
        *,
        timeout: float | None = 30.0,
        folds: int | None = 5,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.name, self.price, self.fn = name, price, fn
        self.needs = None if needs is None else tuple(needs)
        self.timeout, self.folds = timeout, folds
        self.folder = None if folder is None else Path(folder)
        problems = []
        if not isinstance(name, str) or not name:
            problems.append("give it a name")
        if not isinstance(price, int | float) or not 0 <= price < math.inf:
            problems.append(f"the price {price!r} is not a number from 0 up")
        if isinstance(fn, str) and urlsplit(fn).scheme not in ("http", "https"):
            problems.append(f"{fn!r} is not a URL: it must start with http:// or https://")
        elif fn is not None and not (isinstance(fn, str) or hasattr(fn, "predict") or callable(fn)):
            kind = type(fn).__name__
            problems.append(f"a {kind} cannot predict; give an estimator, a function or a URL")
        if timeout is not None and not timeout > 0:
            problems.append(f"the timeout {timeout!r} is not a number of seconds")
        if folds is not None and not (isinstance(folds, int) and folds >= 2):
            problems.append(f"folds is {folds!r}; give a whole number from 2 up, or None")
        raise_all(DataError, f"call {name!r}", problems)

    def run(self, table: Any, classes: NDArray[Any]) -> CallOutputs:
        """Run the call for all rows; one that fails or returns no probabilities is recorded.

        Parameters
        ----------
        table : pandas or polars DataFrame, or array of n rows
            Has the needed columns among its own.
        classes : array of shape (K,)
            Sorted labels, in the order of the output columns.
        """
        needed = self.needed_columns(table)
        n, size = len(needed), ROWS_PER_REQUEST if isinstance(self.fn, str) else max(len(needed), 1)
        timeout = None if hasattr(self.fn, "predict") else self.timeout
        proba, failures = np.full((n, len(classes)), np.nan), dict[int, str]()
        for first in range(0, n, size):
            rows = np.arange(first, min(first + size, n))
            try:
                batch = take_rows(needed, rows)
                output = run_with_timeout(timeout, partial(self._predict, batch))
                proba[rows] = read_outputs(output, len(rows), classes)
            except Exception as error:  # a model that is not ours may raise anything
                failures.update(dict.fromkeys(rows.tolist(), f"{type(error).__name__}: {error}"))
        with np.errstate(invalid="ignore"):
            valid = (np.abs(proba.sum(axis=1) - 1.0) <= SUM_TOL) & (proba >= 0).all(axis=1)
        for row in np.flatnonzero(~valid).tolist():
            if np.isnan(proba[row]).any():
                reason = "a probability is missing (NaN)"
            elif (proba[row] < 0).any():
                reason = f"the probability {proba[row].min():g} is negative"
            else:
                reason = f"the probabilities sum to {proba[row].sum():g}, not 1"
            failures.setdefault(row, reason)
        proba[list(failures)] = np.nan
        return CallOutputs(proba, failures)

    def predict_proba(self, table: Any, classes: NDArray[Any]) -> Floats:
        """Run the call for rows of which none may fail; return class probabilities (n, K).

        Raises
        ------
        SourceError
            If the call fails for any row; the message gives the first reasons.
        """
        proba, failures = self.run(table, classes)
        if failures:
            rows = sorted(failures)
            reasons = list(dict.fromkeys(failures[row] for row in rows))[:MAX_QUOTED]
            raise SourceError(
                f"call {self.name!r}: no prediction for {len(rows)} of {len(proba)} rows, the "
                f"first of them row {rows[0]}: {'; '.join(reasons)}"
            )
        return proba

    def needed_columns(self, table: Any) -> Any:
        """Return the part of a table that the call needs."""
        return table if self.needs is None else take_rows(table, list(self.needs), axis=1)

    def with_model(self, fn: Any) -> Call:
        """Return the same call to another model."""
        return Call(
            self.name, self.price, self.needs, fn,
            timeout=self.timeout, folds=self.folds, folder=self.folder,
        )  # fmt: skip

    @property
    def is_free(self) -> bool:
        """Whether a row pays only for the features that the model reads."""
        return self.price == 0 and self.needs is None

    def __deepcopy__(self, memo: dict[int, Any]) -> Call:
        # A call is never modified: `clone` need not copy the model, or a connection.
        return self

    def __repr__(self) -> str:
        model = self.fn if isinstance(self.fn, str) else type(self.fn).__name__
        return f"Call({self.name!r}, {self.price:g}, fn={model})"

    def _predict(self, table: Any) -> Any:
        """Return what the model returns for a table, in any form that `read_outputs` takes."""
        if isinstance(self.fn, str):
            return post_rows(self.fn, table, self.timeout)
        for method in ("predict_proba", "predict"):
            predict: Callable[[Any], Any] | None = getattr(self.fn, method, None)
            if predict is not None:
                scores, labels = predict(table), getattr(self.fn, "classes_", None)
                labels = getattr(self.fn, "classes", labels)
                return (scores, labels) if method == "predict_proba" else scores
        return self.fn(table)


def read_outputs(output: Any, rows: int, classes: NDArray[Any]) -> Floats:
    """Convert the output of a model to probabilities (rows, K) in the order of `classes`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.gates.call import read_outputs
    >>> response = {"probabilities": [[0.9, 0.1]], "classes": ["b", "a"]}
    >>> read_outputs(response, 1, np.array(["a", "b"]))
    array([[0.1, 0.9]])
    """
    labels = None
    if isinstance(output, Mapping):
        if "labels" in output:
            output = np.asarray(output["labels"]).ravel()
        elif "probabilities" in output:
            output, labels = output["probabilities"], output.get("classes")
        else:
            keys = sorted(map(str, output))[:MAX_QUOTED]
            raise ValueError(f"neither probabilities nor labels among {keys}")
    elif isinstance(output, tuple) and len(output) == 2:
        output, labels = output
    values = np.asarray(output)
    if len(values.shape) not in (1, 2) or len(values) != rows:
        raise ValueError(f"an output of shape {values.shape} for {rows} rows")
    if values.ndim == 1:
        codes = _class_codes(values, classes)
        return np.asarray(codes[:, np.newaxis] == np.arange(len(classes)), float)
    order = np.arange(len(classes)) if labels is None else _class_codes(np.asarray(labels), classes)
    if values.shape[1] != len(order):
        raise ValueError(f"{values.shape[1]} probabilities for {len(order)} classes")
    proba = np.zeros((rows, len(classes)))
    proba[:, order] = values.astype(np.float64)
    return proba


def _class_codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label among the classes."""
    known = {label: code for code, label in enumerate(classes.tolist())}
    values = labels.tolist()
    unknown = [label for label in dict.fromkeys(values) if label not in known]
    if unknown:
        quoted = unknown[:MAX_QUOTED]
        raise ValueError(f"{quoted} are not classes of the target {classes.tolist()[:20]}")
    return np.array([known[label] for label in values], dtype=np.intp)


def post_rows(url: str, table: Any, timeout: float | None) -> Any:
    """Send the rows of a table to a server as JSON, and return its response."""
    if hasattr(table, "columns"):
        columns: list[Any] = [str(name) for name in table.columns]
        values = [table[name].to_list() for name in table.columns]
        rows = [list(row) for row in zip(*values, strict=True)]
    else:
        array = np.asarray(table)
        columns, rows = list(range(array.shape[1])), array.tolist()

    def json_value(value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
            return None
        return value if isinstance(value, bool | int | float | str) else str(value)

    plain = [[json_value(value) for value in row] for row in rows]
    body = json.dumps({"columns": columns, "rows": plain}, allow_nan=False).encode()
    request = Request(url, body, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=timeout) as response:
            text = response.read(MAX_RESPONSE_BYTES + 1)
    except HTTPError as error:
        error.close()  # it holds the connection
        raise
    if len(text) > MAX_RESPONSE_BYTES:
        raise ValueError(f"the response is larger than {MAX_RESPONSE_BYTES} bytes")
    return json.loads(text)


def run_with_timeout(seconds: float | None, act: Callable[[], Any]) -> Any:
    """Return what `act` returns, or raise `TimeoutError` if it takes longer.

    A function cannot be stopped from outside: one that is late keeps running in its thread.

    Examples
    --------
    >>> from thrifty.learn.gates.call import run_with_timeout
    >>> run_with_timeout(1.0, lambda: 3)
    3
    """
    if seconds is None:
        return act()
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["value"] = act()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no response within {seconds:g} seconds")
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]
