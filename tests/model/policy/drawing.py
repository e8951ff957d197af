"""Random policies for the tests of this folder."""

from __future__ import annotations

import numpy as np
from forests import Shape, draw_forest, draw_table

from thrifty.model import Policy

# Own prices of no binary fraction; the last two items are a group, one without a price of its own.
OWN = np.array([0.3, 1.1, 0.7, 0.2, 0.0])
GROUP = np.array([-1, -1, -1, 0, 0])
SHARED = np.array([0.4])
# Seven features: the first is known, one is never bought, and the last item has two.
ITEM = np.array([-1, 0, 1, 2, 3, 4, 4])
KNOWN = np.arange(7) == 0


def draw_policy(seed, rows=24, **changes):
    """Return a generator, a random policy, and a table for it with missing values."""
    rng = np.random.default_rng(seed)
    shape = Shape.of(rng.choice(["sigmoid", "softmax"]), trees=int(rng.integers(1, 8)))
    predictor = draw_forest(rng, shape)
    value = draw_forest(rng, Shape("softmax", outputs=len(OWN), trees=10, depth=3))
    settings = {
        "cost_weight": float(rng.choice([0.0, 0.1, 0.5])),
        "cap": float(rng.choice([np.inf, 1.2, 0.5, 0.0])),
        "first": int(rng.integers(-1, len(OWN))),
        **changes,
    }
    known = KNOWN if rng.random() < 0.5 else np.zeros(7, dtype=bool)
    policy = Policy(predictor, value, ITEM, OWN, GROUP, SHARED, known, **settings)
    return rng, policy, draw_table(rng, shape, rows=rows, missing=0.2)
