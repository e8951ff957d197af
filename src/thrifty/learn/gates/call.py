"""Calls: an expensive model as something to buy, with a name, a price and the features it needs.

The model behind a call is an estimator, a function of a table, or the URL of a server. Its output
for a row is a probability for each class, or a value.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.endpoint import Endpoint, SecretUrl, read_outputs, redact, url_fault
from thrifty.costs.money import as_float
from thrifty.errors import DataError, SourceError, raise_all
from thrifty.learn._sklearn import take_rows
from thrifty.model.call_result import is_usable

__all__ = ["Call", "CallOutputs", "post_rows", "run_with_timeout"]

Floats = NDArray[np.float64]
# Rows that are sent to a server in one request.
ROWS_PER_REQUEST = 256
# Error messages quote at most this many reasons.
MAX_QUOTED = 5


class CallOutputs(NamedTuple):
    """What a call returns for some rows."""

    scores: Floats
    """Class probabilities (n, K), or values (n, 1); NaN in rows for which the call failed."""
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
        columns; for regression and ranking it returns values (n,). A URL, ``http://...`` or
        ``https://...``, gets ``{"columns": [...], "rows": [[...], ...]}`` as JSON by POST and
        returns ``{"probabilities": [[...], ...], "classes": [...]}``, ``{"labels": [...]}`` or
        ``{"values": [...]}``. Secrets in it are never shown or saved; the environment variable
        THRIFTY_CALL_TOKEN holds a bearer token.
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
    >>> call.predict_scores(np.array([[0.0, 3.0], [0.0, -3.0]]), np.array(["ill", "well"]))
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
        self.name, self.price = name, price
        self.fn: Any = SecretUrl(fn) if isinstance(fn, str) else fn
        self.needs = None if needs is None else tuple(needs)
        self.timeout, self.folds = timeout, folds
        self.folder = None if folder is None else Path(folder)
        problems = []
        if not isinstance(name, str) or not name:
            problems.append("give it a name")
        elif "://" in name:
            name = redact(name)
            problems.append("a URL is no name; give it as fn: Call('remote', price, fn=url)")
        if not isinstance(price, int | float) or not 0 <= price < math.inf:
            problems.append(f"the price {price!r} is not a number from 0 up")
        if isinstance(fn, str) and (fault := url_fault(fn)):
            problems.append(fault)
        elif fn is not None and not (isinstance(fn, str) or hasattr(fn, "predict") or callable(fn)):
            kind = type(fn).__name__
            problems.append(f"a {kind} cannot predict; give an estimator, a function or a URL")
        seconds = as_float(timeout)
        if timeout is not None and not (isinstance(seconds, float) and seconds > 0):
            problems.append(f"the timeout {timeout!r} is not a number of seconds")
        if folds is not None and not (isinstance(folds, int) and folds >= 2):
            problems.append(f"folds is {folds!r}; give a whole number from 2 up, or None")
        raise_all(DataError, f"call {name!r}", problems)

    def run(self, table: Any, classes: NDArray[Any] | None) -> CallOutputs:
        """Run the call for all rows; one that fails or returns nothing usable is recorded.

        Parameters
        ----------
        table : pandas or polars DataFrame, or array of n rows
            Has the needed columns among its own.
        classes : array of shape (K,)
            Sorted labels, in the order of the output columns; None for values.
        """
        needed = self.needed_columns(table)
        n, size = len(needed), ROWS_PER_REQUEST if isinstance(self.fn, str) else max(len(needed), 1)
        timeout = None if hasattr(self.fn, "predict") else self.timeout
        scores = np.full((n, 1 if classes is None else len(classes)), np.nan)
        failures = dict[int, str]()
        for first in range(0, n, size):
            rows = np.arange(first, min(first + size, n))
            try:
                batch = take_rows(needed, rows)
                output = run_with_timeout(timeout, partial(self._predict, batch, classes))
                scores[rows] = read_outputs(output, len(rows), classes)
            except Exception as error:  # a model that is not ours may raise anything
                failures.update(dict.fromkeys(rows.tolist(), f"{type(error).__name__}: {error}"))
        for row in np.flatnonzero(~is_usable(scores)).tolist():
            if np.isnan(scores[row]).any():
                reason = f"a {'value' if classes is None else 'probability'} is missing (NaN)"
            elif (scores[row] < 0).any():
                reason = f"the probability {scores[row].min():g} is negative"
            else:
                reason = f"the probabilities sum to {scores[row].sum():g}, not 1"
            failures.setdefault(row, reason)
        scores[list(failures)] = np.nan
        return CallOutputs(scores, failures)

    def predict_scores(self, table: Any, classes: NDArray[Any] | None) -> Floats:
        """Run the call for rows of which none may fail.

        Returns
        -------
        array of shape (n, K) or (n,)
            Class probabilities in the order of `classes`, or values if there are none.

        Raises
        ------
        SourceError
            If the call fails for any row; the message gives the first reasons.
        """
        scores, failures = self.run(table, classes)
        if failures:
            rows = sorted(failures)
            reasons = list(dict.fromkeys(failures[row] for row in rows))[:MAX_QUOTED]
            raise SourceError(
                f"call {self.name!r}: no prediction for {len(rows)} of {len(scores)} rows, the "
                f"first of them row {rows[0]}: {'; '.join(reasons)}"
            )
        return scores[:, 0] if classes is None else scores

    def needed_columns(self, table: Any) -> Any:
        """Return the part of a table that the call needs."""
        if self.needs is not None:
            return take_rows(table, list(self.needs), axis=1)
        names = getattr(self.fn, "feature_names_in_", None)
        given = list(getattr(table, "columns", ()))
        if names is None or list(names) == given or set(names) != set(given):
            return table
        # A model that knows its columns gets them as it was trained on them.
        return take_rows(table, list(names), axis=1)

    def with_model(self, fn: Any, needs: Sequence[str | int] | None = None) -> Call:
        """Return the same call to another model; `needs` are as they were if none are given."""
        return Call(
            self.name, self.price, self.needs if needs is None else needs, fn,
            timeout=self.timeout, folds=self.folds, folder=self.folder,
        )  # fmt: skip

    def __deepcopy__(self, memo: dict[int, Any]) -> Call:
        # A call is never modified: `clone` need not copy the model, or a connection.
        return self

    def __repr__(self) -> str:
        model = redact(self.fn) if isinstance(self.fn, str) else type(self.fn).__name__
        return f"Call({self.name!r}, {self.price:g}, fn={model})"

    def _predict(self, table: Any, classes: NDArray[Any] | None) -> Any:
        """Return what the model returns for a table, in any form that `read_outputs` takes."""
        if isinstance(self.fn, str):
            return post_rows(Endpoint(self.fn, self.timeout), table)
        for method in ("predict",) if classes is None else ("predict_proba", "predict"):
            predict: Callable[[Any], Any] | None = getattr(self.fn, method, None)
            if predict is not None:
                scores, labels = predict(table), getattr(self.fn, "classes_", None)
                labels = getattr(self.fn, "classes", labels)
                return (scores, labels) if method == "predict_proba" else scores
        return self.fn(table)


def post_rows(endpoint: Endpoint, table: Any) -> Any:
    """Send the rows of a table to a server, and return its response."""
    if hasattr(table, "columns"):
        columns: list[Any] = [str(name) for name in table.columns]
        values = [table[name].to_list() for name in table.columns]
        return endpoint.predict(columns, list(zip(*values, strict=True)))
    array = np.asarray(table)
    return endpoint.predict(list(range(array.shape[1])), array.tolist())


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

    # In a copy of the context, so that the model keeps to the caller's limit of threads.
    thread = threading.Thread(target=copy_context().run, args=[run], daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no response within {seconds:g} seconds")
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]
