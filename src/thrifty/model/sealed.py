"""Arrays that no one writes to any more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["sealed"]


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous read-only view."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
