"""Answers on training rows, kept on disk: they were paid for once."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Schema
from thrifty.files import write_whole
from thrifty.learn.gates.call import Call

__all__ = ["AnswerStore"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AnswerStore:
    """A file for the answers of one call on one table; None where they are not kept."""

    path: Path | None
    shape: tuple[int, int]

    @classmethod
    def of(
        cls,
        call: Call,
        schema: Schema,
        rows: NDArray[np.floating],
        codes: NDArray[np.int64],
        classes: NDArray[Any],
    ) -> Self:
        """The file is named after the call, and a hash of all that the answers depend on."""
        shape = (len(rows), len(classes))
        if call.folder is None:
            return cls(None, shape)
        needs = None if call.needs is None else list(map(str, call.needs))
        plain = [call.name, needs, call.folds, schema.plain(), classes.tolist()]
        digest = hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode())
        digest.update(np.ascontiguousarray(rows, dtype=np.float64).tobytes())
        digest.update(np.ascontiguousarray(codes).tobytes())
        word = re.sub(r"\W+", "-", call.name)[:40]
        return cls(call.folder / f"{word}-{digest.hexdigest()[:32]}.npy", shape)

    def answers(self, find: Callable[[], Floats]) -> Floats:
        """The kept answers, or those that `find` gives, which are then kept."""
        kept = self._kept()
        if kept is not None:
            return kept
        found = find()
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            data = io.BytesIO()
            np.save(data, found, allow_pickle=False)
            write_whole(self.path, data.getvalue())
        return found

    def _kept(self) -> Floats | None:
        if self.path is None or not self.path.exists():
            return None
        try:
            found = np.load(self.path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None  # damaged: ask again
        sound = found.shape == self.shape and found.dtype == np.float64
        return found if sound and np.isfinite(found).all() else None
