"""Hostile values: what a file may hold where a reader expects something else."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NUMBERS",
    "PLAIN",
    "TEXTS",
    "alike",
    "dump_json",
    "hostile_array",
    "other_elements",
    "raw",
    "tweak",
    "without_raw",
]

RAW = re.compile(r'"\\u0000raw((?:[0-9a-f]{2})*)\\u0000"')


def raw(text: str) -> str:
    """Return a value that `dump_json` writes as `text`, valid JSON or not."""
    return f"\0raw{text.encode().hex()}\0"


def dump_json(plain: Any) -> bytes:
    """Write JSON, with the text of `raw` values in their places."""
    text = json.dumps(plain, default=str)
    if "\\u0000raw" in text:
        text = RAW.sub(lambda found: bytes.fromhex(found[1]).decode("utf-8", "replace"), text)
    return text.encode()


def without_raw(text: str) -> str:
    """Return a value as a text file would hold it."""
    found = re.fullmatch(r"\0raw((?:[0-9a-f]{2})*)\0", text)
    return bytes.fromhex(found[1]).decode("utf-8", "replace") if found else text


WHOLE = [
    0, 1, -1, 2, 3, 7, 64, 255, 256, 2**15, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 1,
    2**63, 2**64, -(2**31) - 1, -(2**63), -(2**63) - 1, 10**30, 10**308, 10**309, 10**400,
]  # fmt: skip
REAL = [
    0.0, -0.0, 0.5, 1.0, -1.0, 1e-320, 5e-324, 1e-308, 1e-200, 1e-17, 1e16, 1e154, 1e200, 1e308,
    -1e308, 1.7976931348623157e308, 0.1, 1.0000001, 0.9999999,
]  # fmt: skip
NUMBERS: list[Any] = [*WHOLE, *REAL]
TEXTS = [
    "", " ", "a", "\ud800", "\udfff\ud800", "\x00", "\x1b[31mred", "\x1b]0;title\x07", "\x9b2J",
    "\u202e",
    "\r\n", "=1+1", "a" * 300, "\N{GRINNING FACE}", "../../x", "0/nodes", "nan", "inf", "-inf",
    "1e999",
    "1_000", "\u0661", "%s{0}", "None", "true", "|O", "<f8", "http://[", "\ufeff",
]  # fmt: skip
RAWS = [
    raw("NaN"), raw("Infinity"), raw("-Infinity"), raw("1e999"), raw("-1e999"), raw("1" * 5000),
    raw("1E400"), raw("-0"), raw("1e-999"), raw("[" * 70 + "]" * 70),
    raw("[" * 20000 + "]" * 20000),
    raw('{"a":' * 70 + "1" + "}" * 70), raw('{"a": 1, "a": 2}'), raw(""), raw("'a'"), raw("01"),
    raw('"\\ud800"'), raw('"\\u0000"'),
]  # fmt: skip
PLAIN: list[Any] = [
    None, True, False, [], {}, [[]], [None], [0], {"": None}, {"a": 1}, [1, 2, 3], [[1, 2], [3]],
    *TEXTS, *NUMBERS, *RAWS,
]  # fmt: skip


def tweak(value: Any, random: Random) -> Any:
    """Return a value close to a plain one: what a check on types alone lets through."""
    if isinstance(value, bool):
        return random.choice([not value, int(value), str(value)])
    if isinstance(value, (int, float)):
        close: list[Any] = [value + 1, value - 1, -value, value * 2, value * 3 + 1, value // 2]
        if abs(value) < 2**53:
            close += [float(value), value * 1e300, value * 1e-300, value + 0.5, str(value)]
        return random.choice(close)
    if isinstance(value, str):
        at = random.randint(0, len(value))
        more = random.choice(TEXTS)
        return random.choice([value[:at] + more + value[at:], value[:at], value * 2, value[::-1]])
    if isinstance(value, list):
        if not value:
            return [random.choice(PLAIN)]
        k = random.randrange(len(value))
        return random.choice(
            [
                [*value[:k], value[k], *value[k:]],
                [*value[:k], *value[k + 1 :]],
                value[:k],
                value[::-1],
                value * 2,
                value[:1] * random.choice([1, 2, 17, 300]),
                [value],
                {str(k): value[k]},
            ]
        )
    return random.choice(PLAIN)


def alike(value: Any, random: Random) -> Any:
    """Return another value of the same type, of any size that the type can have."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice([value + 1, value - 1, 0, 1, value * 2, value // 2, *WHOLE])
    if isinstance(value, float):
        return random.choice([value * 1.001, value / 2, -value, value * 1e9, *REAL])
    if isinstance(value, list) and value:
        k = random.randrange(len(value))
        return random.choice(
            [value[::-1], [*value[:k], *value[k + 1 :]], [*value, value[k]], value[:k]]
        )
    return value if isinstance(value, (dict, list)) else tweak(value, random)


def hostile_elements(dtype: np.dtype[Any], size: int) -> list[Any]:
    """Return values of a dtype that an array of so many elements should not hold."""
    if dtype.kind == "b":
        return [True, False]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        near = [0, 1, 2, -1, -2, size - 1, size, size + 1, 2**31, limits.min, limits.max, 1 << 30]
        return [value for value in near if limits.min <= value <= limits.max]
    tiny = [0.0, -0.0, 5e-324, 1e-300, -1e-300, 0.5, 1.0, -1.0, 2.0, 1e16, float(size)]
    huge = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e200, -1e154, 1.7976931348623157e308]
    return [*tiny, *huge]


def hostile_array(array: NDArray[Any], random: Random) -> NDArray[Any]:
    """Return another array: with other elements, of another dtype, or of another shape."""
    how = random.random()
    with np.errstate(all="ignore"):
        if how < 0.6:
            return other_elements(array, random)
        if how < 0.72 and array.dtype.fields is None:
            name = random.choice(["<f8", "<f4", "<i8", "<i4", "<u8", "<u2", "|u1", "|i1", "|b1"])
            return array.astype(name)
    return _other_shape(array, random)


def other_elements(array: NDArray[Any], random: Random) -> NDArray[Any]:
    """Return a copy with one or a few elements replaced by hostile ones, or by each other."""
    other = array.copy()
    if not array.size:
        return other
    flat = other.reshape(-1)
    part = flat
    if array.dtype.names:
        part = flat[random.choice(array.dtype.names)]
    for _ in range(random.choice([1, 1, 1, 2, 5])):
        k = random.randrange(len(part))
        what = random.random()
        if what < 0.5:
            part[k] = random.choice(hostile_elements(part.dtype, array.size))
        elif what < 0.7:
            part[k] = part[random.randrange(len(part))]
        elif what < 0.85 and part.dtype.kind != "b":
            part[k] = part[k] + part.dtype.type(1) if random.random() < 0.5 else part[k] // 2
        elif what < 0.93:
            part[:] = part[k]
        else:
            part[:] = random.choice(hostile_elements(part.dtype, array.size))
    return other


def _other_shape(array: NDArray[Any], random: Random) -> NDArray[Any]:
    """Return the elements in another shape, or more or fewer of them."""
    shapes = [
        "flat",
        "axis",
        "transposed",
        "shorter",
        "longer",
        "empty",
        "scalar",
        "narrow",
        "long",
    ]
    how = random.choice(shapes)
    if how == "flat" or array.ndim == 0:
        return array.reshape(-1).copy()
    if how == "axis":
        return array[:, np.newaxis].copy()
    if how == "transposed":
        return array.T.copy()
    if how == "shorter":
        return array[: random.randrange(len(array) + 1)].copy()
    if how == "longer":
        return np.concatenate([array, array[-1:]])
    if how == "empty":
        return array[:0].copy()
    if how == "scalar":
        return array.reshape(-1)[:1].reshape(()).copy() if array.size else array.copy()
    if how == "narrow":
        return array[..., :1].copy()
    return np.concatenate([array] * random.choice([2, 10, 300]))[:20000]
