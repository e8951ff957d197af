"""Tables in parts, as a memory map holds them."""

from __future__ import annotations

import numpy as np

from thrifty.learn.binned import BinnedParts


def in_parts(binned, size):
    """Store a table in parts of `size` rows."""
    n_parts = -(-binned.n_rows // size)
    stored = np.full((n_parts, binned.n_features, size), 77, dtype=np.uint8)
    for k in range(n_parts):
        part = binned.bins[:, k * size : (k + 1) * size]
        stored[k, :, : part.shape[1]] = part
    return BinnedParts(stored, binned.edges, binned.categorical, binned.n_rows)
