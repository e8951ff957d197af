"""Calls: an expensive model as something one can buy.

A call has a name, a price, features that it needs, and someone who answers: an estimator, a
function of a table, or the address of a server. Its answer for a row is a probability for each
class.

Asking a server, or a function that may never come back.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from thrifty.bundle.cells import is_missing
from thrifty.errors import DataError, raise_all
from thrifty.learn.gates.call_results import Answers, read_answer, refuse_failures, sound

__all__ = ["Call", "post", "within"]

# No honest answer for a batch of rows is larger.
LARGEST = 1 << 26


def post(address: str, table: Any, timeout: float | None) -> Any:
    """Send the rows of a table as JSON; give back what the server answers."""
    columns, rows = _listed(table)
    body = json.dumps({"columns": columns, "rows": rows}, allow_nan=False).encode()
    request = Request(address, body, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=timeout) as response:
            text = response.read(LARGEST + 1)
    except HTTPError as error:
        error.close()  # it holds the connection
        raise
    if len(text) > LARGEST:
        raise ValueError(f"the answer is larger than {LARGEST} bytes")
    return json.loads(text)


def within(seconds: float | None, act: Callable[[], Any]) -> Any:
    """What `act` gives; `TimeoutError` if it takes longer.

    A function cannot be stopped from outside: one that is late is left to itself.

    Examples
    --------
    >>> from thrifty.learn.gates.call import within
    >>> within(1.0, lambda: 3)
    3
    """
    if seconds is None:
        return act()
    found: dict[str, Any] = {}

    def run() -> None:
        try:
            found["value"] = act()
        except BaseException as error:
            found["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no answer within {seconds:g} seconds")
    if "error" in found:
        raise found["error"]
    return found["value"]


def _listed(table: Any) -> tuple[list[Any], list[list[Any]]]:
    """Names, or positions, of the columns, and the rows as plain values."""
    if hasattr(table, "columns"):
        names: list[Any] = [str(name) for name in table.columns]
        lists = [table[name].to_list() for name in table.columns]
        rows = [list(row) for row in zip(*lists, strict=True)]
    else:
        array = np.asarray(table)
        names, rows = list(range(array.shape[1])), array.tolist()
    return names, [[_plain(value) for value in row] for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)


# Rows of one request.
ROWS = 256


class Call:
    """An expensive model, what it needs and what it costs.

    Parameters
    ----------
    name : str
        What the call is named in price lists and receipts.
    price : float
        What one row pays for it, on top of what it needs.
    needs : sequence of str or int, optional
        Features that the call needs, by name, or by position in a table without names; all of
        them when left out.
    fn : estimator, function, or address
        Who answers. An estimator that is not fitted is trained on the rows that the gate is
        trained on. A function gets a table with the needed columns, in the form that the table
        has (rows of an array, a pandas or polars DataFrame), and gives probabilities (n, K) in the
        order of the sorted classes, labels (n,), or a pair of probabilities and the classes
        that their columns stand for. An address, ``http://...`` or ``https://...``, gets
        ``{"columns": [...], "rows": [[...], ...]}`` as JSON by POST and answers
        ``{"probabilities": [[...], ...], "classes": [...]}`` or ``{"labels": [...]}``.
    timeout : float, optional
        Seconds that a function or a server may take for one batch of rows.
    folds : int or None
        An estimator has seen the rows that the gate learns from, so it is trained again without
        each of so many parts of them, and answers for the part left out. None: it has not
        seen them, and answers as it is.
    folder : path, optional
        Where answers on training rows are kept, and found again for the same rows, labels and
        name: another model needs another name or folder.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn import Call
    >>> def doctor(rows):
    ...     return np.where(rows[:, 0] > 0, "ill", "well")
    >>> call = Call("doctor", 90.0, needs=[1], fn=doctor)
    >>> call.ask(np.array([[0.0, 3.0], [0.0, -3.0]]), np.array(["ill", "well"])).probabilities
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
        raise_all(DataError, f"call {name!r}", _problems(self))

    def ask(self, table: Any, classes: NDArray[Any]) -> Answers:
        """Answers for all rows; a row that has none has NaN, and its reason.

        Parameters
        ----------
        table : table
            With the needed columns among its own.
        classes : array (K,)
            Sorted labels; what the columns of the answers stand for.
        """
        needed = self.needed(table)
        n, size = len(needed), ROWS if isinstance(self.fn, str) else max(len(needed), 1)
        patience = None if hasattr(self.fn, "predict") else self.timeout
        found = np.full((n, len(classes)), np.nan)
        why: dict[int, str] = {}
        for first in range(0, n, size):
            rows = np.arange(first, min(first + size, n))
            try:
                part = _safe_indexing(needed, rows)
                answer = within(patience, partial(self._speak, part))
                found[rows] = read_answer(answer, len(rows), classes)
            except Exception as error:  # whatever a stranger's model may raise
                why.update(dict.fromkeys(rows.tolist(), f"{type(error).__name__}: {error}"))
        return sound(found, why)

    def ask_all(self, table: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
        """Answers (n, K) for rows to learn from, each of which must have one.

        Raises
        ------
        SourceError
            If a row has none; the message tells the first reasons.
        """
        answers = self.ask(table, classes)
        refuse_failures(self.name, answers)
        return answers.probabilities

    def needed(self, table: Any) -> Any:
        """The columns that the call needs."""
        return table if self.needs is None else _safe_indexing(table, list(self.needs), axis=1)

    def answered_by(self, fn: Any) -> Call:
        """The same call, answered by someone else."""
        return Call(
            self.name, self.price, self.needs, fn,
            timeout=self.timeout, folds=self.folds, folder=self.folder,
        )  # fmt: skip

    @property
    def is_free(self) -> bool:
        """Whether nothing but the features that it reads is paid."""
        return self.price == 0 and self.needs is None

    def __deepcopy__(self, memo: dict[int, Any]) -> Call:
        # A call is not changed by its use: `clone` need not copy a model, or a connection.
        return self

    def __repr__(self) -> str:
        who = self.fn if isinstance(self.fn, str) else type(self.fn).__name__
        return f"Call({self.name!r}, {self.price:g}, fn={who})"

    def _speak(self, table: Any) -> Any:
        if isinstance(self.fn, str):
            return post(self.fn, table, self.timeout)
        for speaks in ("predict_proba", "predict"):
            speaker: Callable[[Any], Any] | None = getattr(self.fn, speaks, None)
            if speaker is not None:
                scores, labels = speaker(table), getattr(self.fn, "classes_", None)
                labels = getattr(self.fn, "classes", labels)
                return (scores, labels) if speaks == "predict_proba" else scores
        return self.fn(table)


def _problems(call: Call) -> list[str]:
    problems, fn = [], call.fn
    if not isinstance(call.name, str) or not call.name:
        problems.append("give it a name")
    if not isinstance(call.price, int | float) or not 0 <= call.price < math.inf:
        problems.append(f"the price {call.price!r} is not a number from 0 up")
    if isinstance(fn, str) and urlsplit(fn).scheme not in ("http", "https"):
        problems.append(f"{fn!r} is no address: it must start with http:// or https://")
    elif fn is not None and not (isinstance(fn, str) or hasattr(fn, "predict") or callable(fn)):
        problems.append(f"a {type(fn).__name__} cannot answer; give an estimator or a function")
    if call.timeout is not None and not call.timeout > 0:
        problems.append(f"the timeout {call.timeout!r} is not a number of seconds")
    if call.folds is not None and not (isinstance(call.folds, int) and call.folds >= 2):
        problems.append(f"folds is {call.folds!r}; give a whole number from 2 up, or None")
    return problems
