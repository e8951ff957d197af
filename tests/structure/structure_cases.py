"""Random price lists with precedence and panels, and random models of the same columns."""

from __future__ import annotations

import numpy as np
from forests import Shape, draw_forest
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.learn.policy.items import Items
from thrifty.model import Average, Branch, Forest, Policy, Stages

D = 7
NAMES = [f"f{j}" for j in range(D)]
SHAPE = Shape.of("sigmoid", trees=4, depth=3, features=D, categorical=0)

prices_of = st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.5, 7.0])
delays_of = st.sampled_from([0.0, 1.0, 2.0, 5.0, 30.0])


@st.composite
def price_lists(draw):
    """Draw prices, groups, panels and acyclic requirements."""
    order = draw(st.permutations(range(D)))
    own = [draw(prices_of) for _ in range(D)]
    sizes = draw(st.sampled_from([(), (2,), (3,), (2, 3), (2, 2, 2)]))
    members = draw(st.permutations(range(D)))
    groups, start = {}, 0
    for number, size in enumerate(sizes):
        groups[f"g{number}"] = sorted(members[start : start + size])
        start += size
    panels = [name for name in groups if draw(st.booleans())]
    # Whole panels move together through the order, so that no requirement leads back into one.
    unit = {j: (j,) for j in range(D)}
    unit |= {j: tuple(groups[name]) for name in panels for j in groups[name]}
    units = list(dict.fromkeys(unit[j] for j in order))
    requires = {}
    for place, later in enumerate(units):
        for earlier in units[:place]:
            if draw(st.integers(0, 3)) == 0:
                after, before = draw(st.sampled_from(later)), draw(st.sampled_from(earlier))
                requires.setdefault(NAMES[after], []).append(NAMES[before])
    return Prices(
        dict(zip(NAMES, own, strict=True)),
        groups={name: [NAMES[j] for j in group] for name, group in groups.items()},
        shared={name: draw(prices_of) for name in groups},
        requires=requires,
        panels=panels,
        delays=dict(zip(NAMES, [draw(delays_of) for _ in range(D)], strict=True)),
        evaluation=draw(st.sampled_from([0.0, 0.01])),
    )


def draw_average(rng):
    """Return an average that reads some features more than its forest."""
    forest = draw_forest(rng, SHAPE)
    reads = forest.support | (rng.random(D) < 0.2)
    return Average.of([forest], [0.5, 0.5], reads=reads)


def small_average(rng):
    """Return an average that reads one or two features."""
    reads = np.isin(np.arange(D), rng.integers(D, size=2))
    return Average.of([Forest.constant([0.3], "sigmoid", D)], [0.5, 0.5], reads=reads)


def draw_stages(rng):
    """Return a ladder: a constant, small averages, a large one."""
    rungs = [Forest.constant([0.2], "sigmoid", D), *(small_average(rng) for _ in range(2))]
    rungs += [draw_average(rng), draw_forest(rng, SHAPE)][: int(rng.integers(1, 3))]
    thresholds = [*rng.choice([0.2, 0.4, -np.inf], size=len(rungs) - 1), np.inf]
    return Stages.of(rungs, thresholds=thresholds)


def draw_branch(rng):
    """Return a split with a ladder on the one side and an average on the other."""
    return Branch.of(draw_stages(rng), draw_average(rng), int(rng.integers(D)), [0.5, 0.5], 2.0)


def draw_policy(rng, bound, cap=np.inf):
    """Return a policy that plans with the prices of `bound`."""
    items = Items.of(bound)
    value = draw_forest(
        rng,
        Shape("softmax", outputs=max(len(items), 1), trees=9, depth=2, features=D, categorical=0),
    )
    return Policy(
        draw_forest(rng, SHAPE), value, items.item, items.own, items.group, items.shared,
        items.known, cost_weight=0.0, cap=cap / items.unit,
    )  # fmt: skip


MODELS = {
    "forest": lambda rng, bound: draw_forest(rng, SHAPE),
    "average": lambda rng, bound: draw_average(rng),
    "stages": lambda rng, bound: draw_stages(rng),
    "branch": lambda rng, bound: draw_branch(rng),
    "policy": draw_policy,
}


def draw_rows(rng, rows=8):
    """Return rows with missing values, as an encoded table and as a table of columns."""
    X = rng.integers(0, 12, size=(rows, D)) / 2.0
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, {name: X[:, j] for j, name in enumerate(NAMES)}


def predictor_of(model, bound):
    """Join a model of two classes with names and prices."""
    schema = Schema.of({name: [0.5, 1.0] for name in NAMES})
    return Predictor(model, schema, bound, classes=np.array([0, 1]))
