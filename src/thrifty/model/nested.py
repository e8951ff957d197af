"""Models inside a model: their states side by side in one state.

The arrays of part k are named ``k/name``, so a model file holds them flat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from thrifty.errors import BundleError
from thrifty.model.frozen import Frozen

__all__ = ["pack", "unpack"]

# A file may nest models, but not so deep that building it exhausts the stack.
DEEPEST = 8


def pack(parts: Sequence[Frozen]) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
    """Kinds and plain states of the parts, and all their arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Forest
    >>> from thrifty.model.nested import pack, unpack
    >>> from thrifty.model.nodes import empty_nodes
    >>> none = np.zeros(0, dtype=np.int64)
    >>> constant = Forest(empty_nodes(0), np.zeros((0, 1)), none, none, np.array([2.5]), "sum", 3)
    >>> parts = unpack(*pack([constant, constant]))
    >>> [part.score(np.zeros((1, 3))).item() for part in parts]
    [2.5, 2.5]
    """
    plains, arrays = [], {}
    for k, part in enumerate(parts):
        plain, own = part.state()
        plains.append({"kind": part.kind, "model": plain})
        arrays.update({f"{k}/{name}": array for name, array in own.items()})
    return plains, arrays


def unpack(plains: Any, arrays: Mapping[str, NDArray[Any]]) -> list[Frozen]:
    """Audit and build what `pack` wrote.

    Raises
    ------
    BundleError
        If a part is of no known kind, an array belongs to no part, or a part is not sound.
    """
    if not isinstance(plains, list) or not all(map(_is_part, plains)):
        raise BundleError("the parts of the model are not described")
    if _depth(plains) > DEEPEST:
        raise BundleError(f"models are nested more than {DEEPEST} deep")
    strangers = sorted(name for name in arrays if not _belongs(name, len(plains)))
    if strangers:
        raise BundleError(f"arrays that belong to no part of the model: {strangers[:5]}")
    return [_build(part, k, arrays) for k, part in enumerate(plains)]


def _build(part: dict[str, Any], k: int, arrays: Mapping[str, NDArray[Any]]) -> Frozen:
    from thrifty.model import KINDS  # here: the kinds themselves nest

    if part["kind"] not in KINDS:
        raise BundleError(f"there is no model of kind {part['kind'][:200]!r}")
    start = f"{k}/"
    own = {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
    return KINDS[part["kind"]].build(part["model"], own)


def _is_part(part: Any) -> bool:
    return (
        isinstance(part, dict)
        and part.keys() == {"kind", "model"}
        and isinstance(part["kind"], str)
        and isinstance(part["model"], dict)
    )


def _belongs(name: str, parts: int) -> bool:
    k, slash, _ = name.partition("/")
    return bool(slash) and k.isascii() and k.isdigit() and int(k) < parts and str(int(k)) == k


def _depth(plain: Any) -> int:
    """How many lists of parts lie within each other."""
    if isinstance(plain, list):
        return 1 + max((_depth(item) for item in plain), default=0)
    if isinstance(plain, dict):
        return max((_depth(item) for item in plain.values()), default=0)
    return 0
