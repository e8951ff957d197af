"""The server of an expensive model: sending rows to its URL, and reading what comes back.

A URL may hold secrets: user name and password, or keys in its query. They are used in requests and
shown nowhere, neither in a repr nor in an error or a model file.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import reprlib
from collections.abc import Mapping, Sequence
from email.message import Message
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.columns import is_missing
from thrifty.errors import DataError
from thrifty.untrusted import parse_json

__all__ = ["TOKEN_VARIABLE", "Endpoint", "SecretUrl", "read_outputs", "redact", "url_fault"]

TOKEN_VARIABLE = "THRIFTY_CALL_TOKEN"
"""Environment variable whose value is sent as a bearer token to servers that the user names."""

# A response for a batch of rows that is larger than this is an error, not a prediction.
MAX_RESPONSE_BYTES = 1 << 26
# Error messages quote at most this many labels.
MAX_QUOTED = 5
HIDDEN = "***"
EXPECTED = '{"probabilities": [[...], ...], "classes": [...]} or {"labels": [...]} is expected'
EXPECTED_VALUES = '{"values": [...]} is expected'


class SecretUrl(str):
    """A URL that is shown without its secrets, wherever it is printed.

    It equals the text that it was made of, and is sent as such.

    Examples
    --------
    >>> from thrifty.bundle.endpoint import SecretUrl
    >>> url = SecretUrl("https://ann:s3cret@models.example.com/heart?key=abc")
    >>> url
    'https://***@models.example.com/heart?key=***'
    >>> print(f"{url} {url == 'https://ann:s3cret@models.example.com/heart?key=abc'}")
    https://***@models.example.com/heart?key=*** True
    """

    __slots__ = ()

    def __str__(self) -> str:
        return redact(self)

    def __repr__(self) -> str:
        return repr(redact(self))

    def __format__(self, spec: str) -> str:
        return format(redact(self), spec)

    def __reduce__(self) -> tuple[type[SecretUrl], tuple[str]]:
        return type(self), (str.__str__(self),)


class Endpoint:
    """A server that predicts rows, by its URL.

    Rows are sent as ``{"columns": [...], "rows": [[...], ...]}`` in JSON by POST. The response is
    ``{"probabilities": [[...], ...], "classes": [...]}`` or ``{"labels": [...]}``, and for numbers
    ``{"values": [...]}``.

    Parameters
    ----------
    url : str
        ``http://...`` or ``https://...``. A user name and a password in it are sent by basic
        authentication.
    timeout : float, optional
        Seconds that the server may take for one batch of rows.
    trusted : bool
        Whether to send the token of the environment variable THRIFTY_CALL_TOKEN, if it is set.
        False for a URL that comes from a model file.

    Attributes
    ----------
    public_url : str
        The URL without user, password and query, as a model file keeps it.

    Examples
    --------
    >>> from thrifty.bundle.endpoint import Endpoint
    >>> endpoint = Endpoint("https://ann:s3cret@models.example.com/heart?key=abc")
    >>> endpoint
    Endpoint(https://***@models.example.com/heart?key=***)
    >>> endpoint.public_url
    'https://models.example.com/heart'
    """

    def __init__(self, url: str, timeout: float | None = 30.0, trusted: bool = True) -> None:
        problem = url_fault(url)
        token = (os.environ.get(TOKEN_VARIABLE, "") if trusted else "").strip()
        if re.search(r"[^\x20-\x7e]", token):
            problem = f"{TOKEN_VARIABLE} has characters that a header cannot have; set it anew"
        if problem:
            raise DataError(problem)
        parts = urlsplit(url)
        user, _, host = parts.netloc.rpartition("@")
        self.public_url = urlunsplit((parts.scheme, host, parts.path, "", ""))
        self.timeout = timeout
        self._shown = redact(url)
        self._url = urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
        self._headers = {"Content-Type": "application/json"}
        if user:
            pair = base64.b64encode(unquote(user).encode()).decode()
            self._headers["Authorization"] = f"Basic {pair}"
        elif token:
            self._headers["Authorization"] = f"Bearer {token}"

    def predict(self, columns: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Any:
        """Send rows and return the decoded response; see `read_outputs`.

        Raises
        ------
        OSError
            If the server cannot be reached or refuses.
        DataError
            If the response is not JSON, or too large.
        """
        plain = [[_json_value(value) for value in row] for row in rows]
        body = json.dumps({"columns": list(columns), "rows": plain}, allow_nan=False).encode()
        request, refused = Request(self._url, body, self._headers), None
        try:
            with _OPENER.open(request, timeout=self.timeout) as response:
                text = response.read(MAX_RESPONSE_BYTES + 1)
        except HTTPError as error:
            error.close()  # it holds the connection
            refused = HTTPError(self._shown, error.code, error.reason, Message(), None)
        if refused is not None:
            # Out here, so that the error of urllib, which holds the whole URL, does not come along.
            raise refused
        # Servers write NaN for rows that they cannot predict: these rows count as failed.
        return parse_json(
            text, max_bytes=MAX_RESPONSE_BYTES, what="the response", error=DataError, finite=False
        )

    def __repr__(self) -> str:
        return f"Endpoint({self._shown})"


class _NoRedirects(HTTPRedirectHandler):
    """Refuses to send rows and credentials to another place than the one that was named."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Return None: the redirection becomes an HTTPError."""


_OPENER = build_opener(_NoRedirects)


def redact(url: str) -> str:
    """Return a URL with stars in place of user, password and the values of its query.

    Examples
    --------
    >>> from thrifty.bundle.endpoint import redact
    >>> redact("http://ann:s3cret@localhost:8000/?key=abc&model=2")
    'http://***@localhost:8000/?key=***&model=***'
    >>> redact("ann:s3cret@localhost:8000")  # not a URL
    '***'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    if not parts.netloc:
        return HIDDEN  # no URL: which part of it is a secret cannot be known
    user, _, host = parts.netloc.rpartition("@")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = "&".join(f"{key}={HIDDEN}" for key, _ in pairs) if "=" in parts.query else ""
    query = query or (HIDDEN if parts.query else "")
    return urlunsplit((parts.scheme, f"{HIDDEN}@{host}" if user else host, parts.path, query, ""))


def url_fault(url: str) -> str | None:
    """Return what is wrong with the URL of a server, without its secrets; None if nothing is."""
    shown = redact(url)
    try:
        parts = urlsplit(url)
        is_complete = parts.scheme in ("http", "https") and bool(parts.hostname)
        parts.port  # noqa: B018 -- raises a ValueError if it is not a number
    except ValueError:
        return f"{shown!r} is not a URL"
    if not is_complete:
        return f"{shown!r} is not a URL: it must start with http:// or https://, and name a host"
    if re.search(r"[^\x21-\x7e]", url):
        return f"{shown!r} has characters that a URL cannot have; quote them (%20 is a space)"
    return None


def read_outputs(output: Any, rows: int, classes: NDArray[Any] | None) -> NDArray[np.float64]:
    """Convert the output of a model to probabilities (rows, K) in the order of `classes`.

    Without classes it is converted to values (rows, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle.endpoint import read_outputs
    >>> response = {"probabilities": [[0.9, 0.1]], "classes": ["b", "a"]}
    >>> read_outputs(response, 1, np.array(["a", "b"]))
    array([[0.1, 0.9]])
    >>> read_outputs({"values": [3, 4.5]}, 2, None)
    array([[3. ],
           [4.5]])
    """
    if classes is None:
        return _read_values(output, rows)
    labels = None
    if isinstance(output, Mapping):
        if "labels" in output:
            output = np.asarray(output["labels"]).ravel()
        elif "probabilities" in output:
            output, labels = output["probabilities"], output.get("classes")
        else:
            keys = sorted(map(str, output))[:MAX_QUOTED]
            raise ValueError(f"neither probabilities nor labels among {keys}; {EXPECTED}")
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
    if len(np.unique(order)) < len(order):
        raise ValueError(f"a class is named twice among {np.asarray(labels).tolist()[:MAX_QUOTED]}")
    proba = np.zeros((rows, len(classes)))
    numbers = values.astype(np.float64)
    proba[:, order] = np.where(np.isinf(numbers), np.nan, numbers)  # the row counts as failed
    return proba


def _read_values(output: Any, rows: int) -> NDArray[np.float64]:
    """Convert the output of a model to values (rows, 1)."""
    if isinstance(output, Mapping):
        if "values" not in output:
            keys = sorted(map(str, output))[:MAX_QUOTED]
            raise ValueError(f"no values among {keys}; {EXPECTED_VALUES}")
        output = output["values"]
    values = np.asarray(output)
    if values.shape not in ((rows,), (rows, 1)):
        raise ValueError(f"an output of shape {values.shape} for {rows} rows")
    try:
        numbers = values.astype(np.float64).reshape(rows, 1)
    except (TypeError, ValueError):
        raise ValueError(f"{reprlib.repr(values.ravel().tolist())} are not numbers") from None
    return np.where(np.isinf(numbers), np.nan, numbers)  # the row counts as failed


def _class_codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label among the classes."""
    known = {label: code for code, label in enumerate(classes.tolist())}
    values = labels.tolist()
    if nested := [value for value in values if isinstance(value, dict | list)]:
        raise ValueError(f"{reprlib.repr(nested[0])} is not a label; {EXPECTED}")
    unknown = [label for label in dict.fromkeys(values) if label not in known]
    if unknown:
        quoted = unknown[:MAX_QUOTED]
        raise ValueError(f"{quoted} are not classes of the target {classes.tolist()[:20]}")
    return np.array([known[label] for label in values], dtype=np.intp)


def _json_value(value: Any) -> Any:
    """Return a cell as JSON can hold it; missing and infinite values become null."""
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)
