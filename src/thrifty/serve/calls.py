"""Calls of an expensive model that is not part of the model file.

A gate sends some examples to an expensive model. If that is a server or a program, the model has
columns for its results. There are three ways to fill them: the table has them already, the user
names a model to call (a URL or a predictor), or the server that the model file names is called.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.bundle.endpoint import Endpoint, read_outputs, url_fault
from thrifty.bundle.tables import Table
from thrifty.errors import BundleError, DataError
from thrifty.model import CallResult, Gate

__all__ = ["ModelCall", "connect", "result_columns", "stored_url"]

# Rows that are sent to a server in one request.
ROWS_PER_REQUEST = 256
# Results that are kept for walks that are repeated, such as those of an interview; then the oldest
# is dropped.
MAX_RESULTS_KEPT = 1024


def connect(predictor: Predictor, target: str | Predictor | None = None) -> Predictor:
    """Return a predictor that makes its calls itself; one that makes no calls is returned as it is.

    Parameters
    ----------
    predictor : Predictor
    target : URL, Predictor or None
        The expensive model; by default the server that the model file names, which gets no
        credentials. Tables that have the results already are never sent.

    Raises
    ------
    DataError
        If the model makes calls, and neither a target is given nor a server named in its file.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Call, GatedClassifier, GreedyMiserClassifier
    >>> from thrifty.serve import connect
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 3))
    >>> y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] * X[:, 2] > 0)
    >>> remote = GreedyMiserClassifier(random_state=0).fit(X, y)
    >>> call = Call("remote", 5.0, needs=[0, 1, 2], fn=remote.predict_proba)
    >>> gate = GatedClassifier(call, share=0.5, penalty=0.01, random_state=0).fit(X, y)
    >>> predictor = connect(gate.predictor_, remote.predictor_)
    >>> bool((predictor.predict(X) == gate.predict(X)).all())
    True
    >>> walk = predictor.walk()
    >>> walk.tell({0: 0.1, 1: 0.4, 2: 0.3})
    >>> walk.answer
    True
    """
    result = _call_result(predictor)
    if result is None:
        return predictor
    if target is None:
        url = stored_url(predictor)
        if url is None:
            columns = ", ".join(map(repr, result_columns(predictor)))
            raise DataError(
                "this model calls an expensive model that is not in its file, and the file names "
                "no server. Pass its URL or a predictor as target, or add its outputs "
                f"to the table, as the columns {columns}"
            )
        return predictor.connect(ModelCall(predictor, result, Endpoint(url, trusted=False)))
    called = Endpoint(target) if isinstance(target, str) else target
    return predictor.connect(ModelCall(predictor, result, called))


def stored_url(predictor: Predictor) -> str | None:
    """Return the URL of the server that a model file names for its calls, if any.

    Raises
    ------
    BundleError
        If what the file holds is not a URL.
    """
    call = (predictor.provenance or {}).get("call")
    if _call_result(predictor) is None or not isinstance(call, dict) or call.get("url") is None:
        return None
    url = call["url"]
    if not isinstance(url, str) or url_fault(url):
        raise BundleError("the model file names a server by what is not a URL; give another one")
    return url


def result_columns(predictor: Predictor) -> tuple[str | int, ...]:
    """Return the columns that hold the results of calls; none if the model makes no calls."""
    result = _call_result(predictor)
    return () if result is None else tuple(predictor.schema.names[j] for j in result.columns)


class ModelCall:
    """Makes the calls of one predictor.

    Parameters
    ----------
    predictor : Predictor
        Its model has a `CallResult`.
    result : CallResult
    target : Endpoint or Predictor
        The expensive model.

    Attributes
    ----------
    columns : frozenset of int
        Columns of the results.
    needs : list of str or int
        Features that a call needs.
    """

    def __init__(
        self, predictor: Predictor, result: CallResult, target: Endpoint | Predictor
    ) -> None:
        self.columns = frozenset(result.columns.tolist())
        self._predictor, self._result, self._target = predictor, result, target
        names = predictor.schema.names
        self._added = [names[j] for j in result.columns]
        self.needs = [names[j] for j in result.needs]
        self._results: OrderedDict[str, NDArray[np.float64]] = OrderedDict()

    def answer(self, values: Mapping[Any, Any]) -> dict[int, float]:
        """Make the call for one example; the results of recent ones that did not fail are kept."""
        row = [values[name] for name in self.needs]
        key = repr(row)
        found = self._results.pop(key, None)
        if found is None:
            found = self._run([row])[0]
        if not np.isnan(found).any():
            self._results[key] = found  # as the most recent one
        if len(self._results) > MAX_RESULTS_KEPT:
            self._results.popitem(last=False)
        return dict(zip(self._result.columns.tolist(), found.tolist(), strict=True))

    def results(self, values: Mapping[Any, Any]) -> dict[str | int, float]:
        """Make the call for one example, and return its results by name.

        Unlike `answer`, it raises what the model raises, and remembers nothing.
        """
        outputs = self._predict([[values[name] for name in self.needs]])
        found = read_outputs(outputs, 1, self._predictor.classes)[0]
        return dict(zip(self._added, found.tolist(), strict=True))

    def complete(self, table: Any) -> Any:
        """Return a table with the results; calls are made for the rows that need one.

        A table that has the columns of the results is returned as it is.

        Raises
        ------
        DataError
            If it has some of them only.
        """
        read, schema = Table.read(table), self._predictor.schema
        d, k = len(schema) - len(self._added), len(self._added)
        names = list(read.names or ()) if schema.named else []
        is_wide = len(read.columns) == d + k if not names else set(self._added) <= set(names)
        if is_wide:
            return table
        some = [name for name in self._added if name in names]
        if some:
            raise DataError(f"table: of the results {self._added} it has {some} only")
        given = dict(zip(names or schema.table_names[:d], read.columns, strict=False))
        # As if every call had been made: which rows make it does not depend on its result.
        assumed = given | {name: np.full(read.rows, 1.0 / k) for name in self._added}
        wide = assumed if schema.named else np.column_stack(list(assumed.values()))
        used = self._predictor.model.used(schema.encode(wide))
        sent = np.flatnonzero(used[:, self._result.columns].any(axis=1))
        proba = np.full((read.rows, k), np.nan)
        if len(sent):
            cells = [np.asarray(given[name], dtype=object) for name in self.needs]
            proba[sent] = self._run([[column[row] for column in cells] for row in sent.tolist()])
        if not schema.named:
            return np.column_stack([*given.values(), proba])
        results = dict(zip(self._added, proba.T, strict=True))
        return table.assign(**results) if hasattr(table, "assign") else given | results

    def _run(self, rows: list[list[Any]]) -> NDArray[np.float64]:
        """Return results (n, K) or (n, 1); NaN, with a warning, where the call fails."""
        classes, found = self._predictor.classes, np.full((len(rows), len(self._added)), np.nan)
        for first in range(0, len(rows), ROWS_PER_REQUEST):
            batch = rows[first : first + ROWS_PER_REQUEST]
            try:
                outputs = self._predict(batch)
                found[first : first + len(batch)] = read_outputs(outputs, len(batch), classes)
            except Exception as error:  # a model that is not ours may raise anything
                warnings.warn(
                    f"the call of {self._target!r} failed for {len(batch)} rows, which the local "
                    f"model predicts ({type(error).__name__}: {error})",
                    UserWarning,
                    stacklevel=2,
                )
        return found

    def _predict(self, rows: list[list[Any]]) -> Any:
        """Return what the expensive model says of some rows."""
        if isinstance(self._target, Endpoint):
            return self._target.predict(self.needs, rows)
        columns = dict(zip(self.needs, map(list, zip(*rows, strict=True)), strict=True))
        table = columns if self._target.schema.named else np.array(rows, dtype=np.float64)
        if self._predictor.classes is None:
            return self._target.predict(table)
        return self._target.predict_proba(table), self._target.classes


def _call_result(predictor: Predictor) -> CallResult | None:
    """Return the part of a model that reads the results of a call; None if it makes none."""
    model: Any = predictor.model
    while isinstance(model, Gate):
        model = model.expensive
    return model if isinstance(model, CallResult) else None
