"""The kernels grow the trees of `plain_tree`: same splits, same rows, same purchases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from plain_tree import MISSING, Payments, Problem, grow
from uncompiled import assert_same, uncompiled

from thrifty.costs import Prices
from thrifty.kernels.threads import threads
from thrifty.learn.binned import Binned, BinnedParts
from thrifty.learn.boosting import cluster as cluster_module
from thrifty.learn.boosting import grower as grower_module
from thrifty.learn.boosting import tree_head as head_module
from thrifty.learn.boosting import tree_part as part_module
from thrifty.learn.boosting.cluster import ClusterBoosting, ClusterGrower, sum_rows
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.tree_part import PartSetup, TreePart
from thrifty.learn.losses import SquaredLoss
from thrifty.learn.purchases import Purchases

CASES = range(72)


@dataclass
class Case:
    """A random table with prices; targets are integers too large for accidental ties."""

    X: np.ndarray
    categorical: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    own: np.ndarray
    groups: dict
    shared: dict
    charge: str
    penalty: float
    depth: int
    lightest: int
    every_subset: bool = False

    @classmethod
    def draw(cls, seed, *, charge="model", groups=0, missing=0.0, categorical=0, **changes):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(12, 48)), int(rng.integers(2, 7))
        X = rng.integers(0, rng.integers(2, 8, size=d), size=(n, d)).astype(float)
        if seed % 3 == 0:
            X[:, -1] = X[:, 0]  # the same splits, perhaps at another price
        X[rng.random((n, d)) < missing] = np.nan
        signal = np.nan_to_num(X, nan=3.0) @ rng.normal(size=d) * 20_000
        target = np.rint(signal + rng.normal(scale=20_000, size=n))
        owner = rng.integers(-1, groups, size=d) if groups else np.full(d, -1)
        members = {f"g{g}": np.flatnonzero(owner == g).tolist() for g in range(groups)}
        members = {name: some for name, some in members.items() if some}
        spread = np.sum((target - target.mean()) ** 2) / (2 * n)
        case = cls(
            X,
            np.arange(d) < categorical,
            target,
            None,
            rng.choice([0.0, 0.5, 1.0, 1.0, 3.0], size=d),
            members,
            {name: float(rng.choice([0.0, 0.25, 2.0])) for name in members},
            charge,
            float(spread * 10.0 ** rng.uniform(-2.0, -0.5)),
            int(rng.integers(2, 5)),
            int(rng.integers(1, 4)),
        )
        return replace(case, **changes)

    @property
    def rows(self):
        return len(self.target)

    def prices(self):
        prices = Prices(self.own.tolist(), groups=self.groups, shared=self.shared)
        return prices.bind(len(self.own))

    def binned(self):
        return Binned.of(self.X, self.categorical, np.random.RandomState(0))

    def payments(self):
        prices = self.prices()
        parts = (prices.own, prices.group, prices.shared)
        return Payments(*(part.tolist() for part in parts), self.charge)

    def problem(self, target):
        weight = np.ones(self.rows) if self.weight is None else self.weight
        return Problem(
            self.binned().bins.tolist(),
            self.categorical.tolist(),
            [int(t) for t in target],
            [int(w) for w in weight],
            self.depth,
            self.lightest,
            self.every_subset,
        )

    def bought(self):
        return Purchases(self.prices(), self.rows, self.charge)

    def grower(self, bought, features=None):
        return Grower(
            self.binned(),
            bought,
            penalty=self.penalty,
            max_depth=self.depth,
            min_samples_leaf=self.lightest,
            weight=self.weight,
            features=features,
        )


def rows_of(grower, node):
    """Return the rows of a node of the last tree, in order."""
    blocks = grower._blocks
    rows, base = np.asarray(blocks.rows), np.asarray(blocks.base)
    ends = zip(np.asarray(blocks.first)[:, node], np.asarray(blocks.last)[:, node], strict=True)
    return sorted(int(base[b] + row) for b, (i, j) in enumerate(ends) for row in rows[i:j])


def tree_of(grower, target):
    """Grow a tree; return its nodes: rows, and of a split also left child, feature, bins left,
    whether missing values go left. Only bins that occur among the rows are listed.
    """
    growth, nodes = grower.grow(target), []
    for node in range(len(growth.left)):
        rows = rows_of(grower, node)
        assert len(rows) == growth.n_rows[node]
        if growth.left[node] < 0:
            nodes.append((rows,))
            continue
        feature = int(growth.feature[node])
        table = growth.goes_left[node]
        present = set(grower.binned.bins[feature, rows].tolist()) - {MISSING}
        left = {b for b in present if table[b]}
        nodes.append((rows, int(growth.left[node]), feature, left, bool(table[MISSING])))
    return nodes


def tree_of_reference(nodes, bins):
    tree = []
    for node in nodes:
        if node.feature < 0:
            tree.append((node.rows,))
            continue
        present = {bins[node.feature][i] for i in node.rows} - {MISSING}
        left = present & node.goes_left
        tree.append((node.rows, node.left, node.feature, left, node.missing_left))
    return tree


def paid_by(bought):
    """Return the purchases in the form of `Payments.features`."""
    if bought.charge == "model":
        return {(int(j), "model") for j in np.flatnonzero(bought.features)}
    return {(int(j), int(i)) for j, i in np.argwhere(bought.paid)}


def assert_same_trees(case, targets=None, growers=1):
    """Grow a tree for each target, the growers taking turns and sharing their purchases."""
    bought, payments = case.bought(), case.payments()
    team = [case.grower(bought) for _ in range(growers)]
    for turn, target in enumerate([case.target] if targets is None else targets):
        problem = case.problem(target)
        expected = tree_of_reference(grow(problem, payments, case.penalty), problem.bins)
        assert tree_of(team[turn % growers], target.copy()) == expected
        assert paid_by(bought) == payments.features
        if case.charge == "example":
            paid = {(int(g), int(i)) for g, i in np.argwhere(bought.group_paid)}
            assert paid == payments.groups


def features_looked_at(grower, target):
    """Return the features that a tree considered for its root."""
    gain = grower._room.gain[0]
    gain[:] = np.nan
    grower.grow(target)
    return np.flatnonzero(~np.isnan(gain))


def is_interesting(case):
    """Return whether prices matter: the tree is neither a single leaf nor the free tree."""
    priced = tree_of(case.grower(case.bought()), case.target)
    free = tree_of(replace(case, penalty=0.0).grower(case.bought()), case.target)
    return len(priced) > 1 and priced != free


@pytest.mark.parametrize("seed", CASES)
def test_the_tree_equals_brute_force_when_the_model_pays(seed):
    assert_same_trees(Case.draw(seed))


@pytest.mark.parametrize("seed", CASES)
def test_the_tree_equals_brute_force_when_each_example_pays(seed):
    assert_same_trees(Case.draw(seed, charge="example"))


@pytest.mark.parametrize("charge", ["model", "example"])
@pytest.mark.parametrize("seed", CASES)
def test_the_tree_equals_brute_force_with_groups_that_share_a_price(seed, charge):
    assert_same_trees(Case.draw(seed, charge=charge, groups=2))


@pytest.mark.parametrize("charge", ["model", "example"])
def test_most_random_cases_depend_on_the_prices(charge):
    cases = [Case.draw(seed, charge=charge, groups=2) for seed in CASES]
    assert sum(map(is_interesting, cases)) > len(cases) / 2


@pytest.mark.parametrize("charge", ["model", "example"])
@pytest.mark.parametrize("seed", range(24))
def test_several_ensembles_share_what_is_bought(seed, charge):
    case = Case.draw(seed, charge=charge, groups=2)
    rng = np.random.default_rng(seed)
    targets = [rng.permutation(case.target) for _ in range(4)]
    assert_same_trees(case, targets, growers=2)


@pytest.mark.parametrize("charge", ["model", "example"])
@pytest.mark.parametrize("seed", range(36))
def test_missing_values_go_where_the_gain_is_larger(seed, charge):
    assert_same_trees(Case.draw(seed, charge=charge, missing=0.25))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(24))
def test_a_categorical_split_is_the_best_of_all_subsets(seed, missing):
    case = Case.draw(seed, categorical=2, missing=missing, lightest=1, every_subset=True, depth=2)
    assert_same_trees(case)


@pytest.mark.parametrize("charge", ["model", "example"])
@pytest.mark.parametrize("seed", range(24))
def test_categories_are_split_in_the_order_of_their_means(seed, charge):
    case = Case.draw(seed, charge=charge, categorical=2, missing=0.1, groups=1)
    assert_same_trees(case)


@pytest.mark.parametrize("charge", ["model", "example"])
@pytest.mark.parametrize("seed", range(36))
def test_rows_count_and_pay_by_their_weight(seed, charge):
    case = Case.draw(seed, charge=charge, groups=2, missing=0.1, categorical=1)
    weight = np.random.default_rng(seed).integers(1, 9, size=case.rows).astype(float)
    assert_same_trees(replace(case, weight=weight, lightest=5))


@pytest.mark.parametrize("charge", ["model", "example"])
def test_a_row_of_weight_two_is_two_rows(charge):
    for seed in range(12):
        case = Case.draw(seed, charge=charge, groups=2, missing=0.1)
        weight = np.random.default_rng(seed).integers(1, 4, size=case.rows)
        times = np.repeat(np.arange(case.rows), weight)
        long = replace(case, X=case.X[times], target=case.target[times])
        heavy = replace(case, weight=weight.astype(float))
        trees = [tree_of(c.grower(c.bought()), c.target) for c in (long, heavy)]
        for repeated, weighted in zip(*trees, strict=True):
            assert sorted({int(times[i]) for i in repeated[0]}) == weighted[0]
            assert repeated[1:] == weighted[1:]


@pytest.mark.parametrize("lightest", [1, 3, 6, 11])
def test_no_leaf_is_lighter_than_allowed(lightest):
    for seed in range(12):
        case = Case.draw(seed, penalty=0.0, lightest=lightest, depth=4, missing=0.1)
        assert_same_trees(case)
        leaves = [node[0] for node in tree_of(case.grower(case.bought()), case.target)]
        assert all(len(rows) >= min(lightest, case.rows) for rows in leaves)


def test_of_equal_splits_the_lowest_node_then_feature_then_bin_wins():
    # Columns 1 and 2 are the same; their cuts after bin 0 and after bin 1 gain the same, and so
    # do the two halves that column 0 makes.
    X = np.array([[a, b, b] for a in (0, 1) for b in (0, 1, 2)], dtype=float)
    target = np.array([1024.0, 0, 1024, 9216, 8192, 9216])
    case = Case(X, np.zeros(3, bool), target, None, np.ones(3), {}, {}, "model", 1.0, 2, 1)
    assert_same_trees(case)
    growth = case.grower(case.bought()).grow(target)
    assert growth.feature[:3].tolist() == [0, 1, 1]
    assert growth.left[:3].tolist() == [1, 3, 5]
    assert growth.cut[:3].tolist() == [0, 0, 0]


def test_a_purchase_in_one_leaf_frees_the_feature_in_the_others_at_once():
    # Column 0 halves the table for free. Column 1 gains 8,100 in one half, 100 in the other; it
    # costs 2 x 4 rows x 100 = 800, which only the first half can pay.
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float).repeat(1, axis=0)
    target = np.array([1000.0, 1000.0 + 127.0, -1000.0, -1000.0 - 14.0])
    case = Case(
        X, np.zeros(2, bool), target, None, np.array([0.0, 1.0]), {}, {}, "model", 100.0, 2, 1
    )
    assert_same_trees(case)
    tree = tree_of(case.grower(case.bought()), target)
    assert [node[2] for node in tree if len(node) > 1] == [0, 1, 1]
    alone = replace(case, target=np.array([1000.0, 1000.0, -1000.0, -1000.0 - 14.0]))
    tree = tree_of(alone.grower(alone.bought()), alone.target)
    assert [node[2] for node in tree if len(node) > 1] == [0]


def test_the_first_member_of_a_group_pays_the_shared_price_for_all():
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=float)
    target = X @ np.array([4000.0, 1000.0, 100.0])
    case = Case(
        X, np.zeros(3, bool), target, None, np.zeros(3), {"lab": [0, 1, 2]}, {"lab": 1.0},
        "model", 400_000.0, 3, 1,
    )  # fmt: skip
    assert_same_trees(case)
    features = {node[2] for node in tree_of(case.grower(case.bought()), target)[:-8]}
    assert features == {0, 1, 2}  # columns 1 and 2 could never have paid the entry


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(40))
def test_skipping_features_that_cost_more_than_there_is_to_gain_changes_no_tree(seed, missing):
    case = Case.draw(seed, groups=2, missing=missing, depth=3)
    case = replace(case, penalty=10 * case.penalty)
    rng = np.random.default_rng(seed)
    targets = [rng.permutation(case.target) for _ in range(3)]

    def trees(features=None):
        grower = case.grower(case.bought(), features)
        return [tree_of(grower, target) for target in targets]

    assert trees() == trees(features=np.arange(len(case.own)))
    assert_same_trees(case, targets)


def test_a_feature_that_costs_more_than_there_is_to_gain_is_skipped_until_it_is_bought():
    case = Case.draw(1)
    case = replace(case, own=np.where(np.arange(len(case.own)) == 1, 1e9, 0.0))
    bought = case.bought()
    grower = case.grower(bought)
    assert 1 not in features_looked_at(grower, case.target)
    bought.features[1] = 1
    assert 1 in features_looked_at(grower, case.target)


@pytest.mark.parametrize("charge", ["model", "example"])
@pytest.mark.parametrize(("share", "splits"), [(0.99, 1), (1.01, 0)])
def test_a_feature_is_bought_for_up_to_all_that_there_is_to_gain(share, splits, charge):
    X = np.array([[0.0, 1.0], [1.0, 0.0]] * 10)
    target = 1000.0 * X[:, 1]
    spread = np.sum((target - target.mean()) ** 2)
    own = np.array([share, 2.0])
    case = Case(X, np.zeros(2, bool), target, None, own, {}, {}, charge, spread / 40, 3, 1)
    tree = tree_of(case.grower(case.bought()), target)
    assert len(tree) == 1 + 2 * splits
    assert_same_trees(case)


@pytest.mark.parametrize("charge", ["model", "example"])
def test_trees_do_not_depend_on_the_number_of_threads(charge, monkeypatch):
    monkeypatch.setattr(grower_module, "INLINE_WORK", 0)
    for seed in range(12):
        case = Case.draw(seed, charge=charge, groups=2, missing=0.1, categorical=1)
        case = replace(case, X=np.hstack([case.X] * 4), categorical=np.tile(case.categorical, 4),
                       own=np.tile(case.own, 4) + np.arange(4 * len(case.own)) / 64)  # fmt: skip
        one = tree_of(case.grower(case.bought()), case.target)
        with threads(3):
            assert tree_of(case.grower(case.bought()), case.target) == one


@pytest.mark.parametrize("depth", [1, 2, 5, 12])
def test_a_full_tree_of_any_depth_fits_into_its_arrays(depth):
    n = 200
    X = np.random.default_rng(0).permutation(n)[:, np.newaxis].astype(float)
    case = Case(X, np.zeros(1, bool), X[:, 0], None, np.zeros(1), {}, {}, "model", 0.0, depth, 1)
    grower = case.grower(case.bought())
    leaves = [node[0] for node in tree_of(grower, case.target) if len(node) == 1]
    assert sorted(i for rows in leaves for i in rows) == list(range(n))
    assert len(leaves) == min(n, 2**depth)
    assert grower.grown.depth.max() <= depth


def test_a_table_without_gain_stays_one_leaf():
    for case in (Case.draw(0, target=np.full(33, 7.0)), Case.draw(0, own=np.full(5, 1e30))):
        n = case.rows
        case = replace(case, X=np.arange(n * 5.0).reshape(n, 5) % 7, own=np.resize(case.own, 5))
        case = replace(case, categorical=np.zeros(5, bool))
        assert tree_of(case.grower(case.bought()), case.target) == [(list(range(n)),)]


def use_uncompiled_kernels(monkeypatch):
    """Make growers use the kernels as ordinary Python."""
    for module in ("growth", "hist_tree", "histogram", "row_blocks"):
        for name in uncompiled(module).__all__:
            for user in (grower_module, head_module, part_module, cluster_module):
                if hasattr(user, name):
                    monkeypatch.setattr(user, name, getattr(uncompiled(module), name))


def bits_of(case, targets):
    """Grow trees; return all that a model keeps of them, and what was bought."""
    bought = case.bought()
    grower = case.grower(bought)
    found = []
    for target in targets:
        tree = grower.grow(target)
        inner = tree.left >= 0
        values, out = grower.values(target, np.abs(target) + 0.1, 0.5), np.zeros(case.rows)
        grower.add(values, out)
        arrays = (
            tree.left, tree.n_rows, tree.feature[inner], tree.cut[inner],
            tree.gain[inner, tree.feature[inner]], tree.goes_left[inner], values, out,
        )  # fmt: skip
        found += [array.tobytes() for array in arrays]
    return [*found, bought.features.tobytes(), bought.paid.tobytes(), bought.group_paid.tobytes()]


@pytest.mark.parametrize("block", [1, 5, 16])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("charge", ["model", "example"])
def test_trees_do_not_depend_on_the_blocks(charge, weighted, block, monkeypatch):
    for seed in range(24):
        case = Case.draw(seed, charge=charge, groups=2, missing=0.15, categorical=seed % 3)
        rng = np.random.default_rng(seed)
        if weighted:
            case = replace(case, weight=rng.uniform(0.5, 2.0, size=case.rows))
        targets = [rng.normal(size=case.rows), 1e3 * case.target]
        whole = bits_of(case, targets)
        with monkeypatch.context() as patch:
            patch.setattr(grower_module, "MAX_PACKED_ROWS", 0)
            patch.setattr(grower_module, "BLOCK_ROWS", block)
            assert bits_of(case, targets) == whole


@pytest.mark.parametrize("charge", ["model", "example"])
@pytest.mark.parametrize("seed", range(24))
def test_the_tree_in_blocks_equals_brute_force(seed, charge, monkeypatch):
    monkeypatch.setattr(grower_module, "MAX_PACKED_ROWS", 0)
    monkeypatch.setattr(grower_module, "BLOCK_ROWS", 7)
    assert_same_trees(Case.draw(seed, charge=charge, groups=2, missing=0.1, categorical=1))


@pytest.mark.parametrize("block", [9, 1000])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("charge", ["model", "example"])
@pytest.mark.parametrize("seed", range(6))
def test_compiled_and_uncompiled_kernels_grow_the_same_trees(
    seed, charge, weighted, block, monkeypatch
):
    monkeypatch.setattr(grower_module, "MAX_PACKED_ROWS", block)
    monkeypatch.setattr(grower_module, "BLOCK_ROWS", block)
    case = Case.draw(seed, charge=charge, groups=2, missing=0.15, categorical=seed % 3)
    rng = np.random.default_rng(seed)
    if weighted:
        case = replace(case, weight=rng.uniform(0.5, 2.0, size=case.rows))
    targets = [rng.permutation(case.target) for _ in range(2)]

    def grow_all():
        bought = case.bought()
        grower = case.grower(bought)
        trees = []
        for target in targets:
            grown = grower.grow(target)
            parts = grown.left, grown.feature, grown.goes_left, grown.n_rows
            values = grower.values(target, np.abs(target) + 1.0 if weighted else None, 0.5)
            out = np.zeros(case.rows)
            grower.add(values, out)
            inner = grown.left >= 0
            trees.append([part[inner] for part in (*parts, grown.cut, grown.gain)])
            rows = [rows_of(grower, node) for node in range(len(grown.left))]
            trees.append([grown.left.copy(), rows, grown.depth.copy(), values, out])
        return [trees, bought.features, bought.paid, bought.group_paid, grower.gains(targets[0])]

    compiled = grow_all()
    monkeypatch.setattr(grower_module, "thread_count", lambda: 2)
    monkeypatch.setattr(grower_module, "INLINE_WORK", 0)
    use_uncompiled_kernels(monkeypatch)
    assert_same(grow_all(), compiled)


class LocalParts:
    """Parts of a table in this process, in place of those on workers."""

    def __init__(self, parts):
        self.parts = parts

    def call(self, name, *arguments):
        return [part.run([(name, arguments)]) for part in self.parts]

    def queue(self, name, *arguments, for_new=None):
        self.call(name, *arguments)

    def forget(self, *names):
        pass

    restart = forget


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("charge", ["model", "example"])
@pytest.mark.parametrize("seed", range(3))
def test_a_head_without_rows_grows_the_same_trees_uncompiled_too(
    seed, charge, weighted, monkeypatch
):
    case = Case.draw(seed, charge=charge, groups=2, missing=0.15, categorical=seed % 3)
    if weighted:
        weight = np.random.default_rng(seed).uniform(0.5, 2.0, size=case.rows)
        case = replace(case, weight=weight)
    binned, limits = case.binned(), {"max_depth": case.depth, "min_samples_leaf": case.lightest}

    def start_in_parts():
        setup = PartSetup(
            binned.edges, binned.categorical, case.prices(), charge, case.depth,
            partial(SquaredLoss, weight=None),
        )  # fmt: skip
        parts = LocalParts([
            TreePart(
                [(
                    np.ascontiguousarray(binned.bins[:, rows]), case.target[rows],
                    None if case.weight is None else case.weight[rows],
                )],
                setup,
            )
            for rows in (slice(0, 5), slice(5, None))
        ])  # fmt: skip
        sums = sum_rows(parts, case.rows, weighted)
        head = ClusterGrower(
            parts, BinnedParts(binned.stored[:0], binned.edges, binned.categorical, case.rows),
            Purchases(case.prices(), 0, charge), sums, penalty=case.penalty, **limits,
        )  # fmt: skip
        return ClusterBoosting(SquaredLoss(np.zeros(1), None), sums.mean, head, 0.5)

    def grown_by(boosting):
        """Return gains of the root, trees, and what was paid."""
        gains = [gain.copy() for gain in boosting.gains()]
        boosting.boost(2)
        forest = boosting.freeze()
        trees = forest.nodes.view(np.uint8), forest.values, forest.subsets, forest.base
        return [gains, *trees, boosting.head.purchases.features, boosting.head.total_due()]

    loss, grower = SquaredLoss(case.target, case.weight), case.grower(case.bought())
    expected = grown_by(Boosting(loss, grower, 0.5))
    assert_same(grown_by(start_in_parts()), expected)
    use_uncompiled_kernels(monkeypatch)
    assert_same(grown_by(start_in_parts()), expected)
