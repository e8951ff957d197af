"""The cascades, and the other rivals of trees of classifiers: each is what it says it is."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy.optimize import approx_fprime, minimize
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version

from thrifty import GreedyMiserClassifier, Prices, load
from thrifty.errors import DataError
from thrifty.learn.baselines import (
    AdaBoostRSClassifier,
    AndOrClassifier,
    CronusClassifier,
    EarlyExitClassifier,
    LinearSVMClassifier,
    PricedL1Classifier,
    PricedL1Regressor,
    PriceSubsetsClassifier,
    ProximityExitClassifier,
    SingleCostClassifier,
)
from thrifty.learn.baselines.and_or import _AndOr, joint_loss
from thrifty.learn.baselines.base import penalties, weighted_quantile
from thrifty.learn.baselines.early_exit import slacks
from thrifty.learn.baselines.priced_weights import LOSS, Dues, Node, plain_goal
from thrifty.learn.baselines.stage_inputs import column_inputs
from thrifty.learn.cost_tree.objective import Logistic
from thrifty.model import Cascade, LinearTree

SMALL = {"n_estimators": 12, "max_depth": 2, "min_samples_leaf": 5, "random_state": 0}
PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01)


def draw(seed, n=240, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    return X, np.digitize(value, [0.3] if classes == 2 else [-0.8, 0.8])


TRAIN, HELD, TEST = draw(0), draw(1), draw(2)

RIVALS = {
    "early exit": EarlyExitClassifier(PRICES, every=4, **SMALL),
    "proximity": ProximityExitClassifier(PRICES, every=4, **SMALL),
    "subsets": PriceSubsetsClassifier(PRICES, **SMALL),
    "cronus": CronusClassifier(PRICES, penalty=0.002, n_stages=3, **SMALL),
    "and-or": AndOrClassifier(PRICES, penalty=0.002, n_stages=3),
    "and-or, boosted": AndOrClassifier(PRICES, 0.002, n_stages=3, base="boosted", **SMALL),
    "adaboost": AdaBoostRSClassifier(PRICES, draws=6, n_estimators=8, random_state=0),
    "l1": PricedL1Classifier(PRICES, penalty=0.01),
    "single": SingleCostClassifier(PRICES, penalty=0.01),
    "single, boosted": SingleCostClassifier(PRICES, penalty=0.002, base="boosted", **SMALL),
    "svm": LinearSVMClassifier(PRICES),
}


def copy_of(rival, **parameters):
    return type(rival)(**rival.get_params() | parameters)


each = pytest.mark.parametrize("rival", RIVALS.values(), ids=list(RIVALS))


@each
def test_a_path_goes_up_from_the_constant(rival):
    points = list(rival.path(*TRAIN, validation=HELD))
    bills = [point.bill for point in points]
    assert bills == sorted(bills) and bills[0] == 0.0 and bills[-1] > 0.0
    assert max(point.quality for point in points) > points[0].quality + 0.1
    for point in points[::3]:
        assert point.bill == point.model.bill(HELD[0]).mean()
        assert point.quality == np.mean(point.model.predict(HELD[0]) == HELD[1])


@each
def test_a_point_is_what_fit_gives_for_its_knob(rival):
    for point in list(rival.path(*TRAIN, validation=HELD))[1::5]:
        model = copy_of(rival, **point.knob).fit(*TRAIN)
        np.testing.assert_array_equal(
            model.predict_proba(TEST[0]), point.model.predict_proba(TEST[0])
        )


@each
def test_a_rival_is_saved_and_walks(rival, tmp_path):
    model = rival.fit(*draw(0, classes=3))
    model.save(tmp_path / "rival.thrifty")
    again = load(tmp_path / "rival.thrifty")
    for x, bill in zip(TEST[0][:6], model.bill(TEST[0][:6]), strict=True):
        walk = again.walk()
        while walk.asks:
            walk.tell({walk.asks[0]: x[walk.asks[0]]})
        assert walk.receipt.total == bill
        assert walk.answer == model.predict(x[np.newaxis])[0]


@each
def test_a_validation_set_without_a_target_is_refused(rival):
    with pytest.raises(DataError, match=r"validation: give the table and its target, \(X, y\)"):
        rival.path(*TRAIN, validation=(HELD[0],))


# --- early exits ---------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "open_ended",
    [EarlyExitClassifier(threshold=1.0, every=4), ProximityExitClassifier(slack=None, every=4)],
)
def test_without_a_threshold_every_row_takes_the_whole_ensemble(open_ended, classes):
    if classes == 3 and isinstance(open_ended, ProximityExitClassifier):
        pytest.skip("one class against the rest is another ensemble")
    train = draw(0, classes=classes)
    model = open_ended.set_params(**SMALL).fit(*train)
    full = GreedyMiserClassifier(**SMALL).fit(*train)
    assert isinstance(model.model_, Cascade)
    np.testing.assert_array_equal(model.predict_proba(TEST[0]), full.predict_proba(TEST[0]))
    np.testing.assert_array_equal(model.used(TEST[0]), full.used(TEST[0]))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_leaves_at_the_first_exit_where_it_is_sure(classes):
    train, threshold = draw(0, classes=classes), 0.75
    model = EarlyExitClassifier(threshold=threshold, every=4, learning_rate=0.5, **SMALL)
    full = GreedyMiserClassifier(learning_rate=0.5, **SMALL).fit(*train).model_
    ends = 4 * np.arange(1, 4) * len(full.base)
    stages = [full.prefix(end).score(TEST[0]) for end in ends]
    sure = np.array([stage.max(axis=1) > threshold for stage in stages])
    stop = np.where(sure.any(axis=0), sure.argmax(axis=0), 2)
    assert len(np.unique(stop)) == 3
    np.testing.assert_array_equal(model.fit(*train).model_.block(TEST[0]), stop)
    due = np.array(stages)[stop, np.arange(len(stop))]
    np.testing.assert_allclose(model.predict_proba(TEST[0]), due)


def test_the_slack_shrinks_from_exit_to_exit():
    np.testing.assert_allclose(slacks(5), [1.0, 0.75, 0.5, 0.25, 0.0])
    assert slacks(1).tolist() == [0.0]
    model = ProximityExitClassifier(slack=2.0, top=0.1, every=4, **SMALL).fit(*TRAIN).model_
    running = Cascade.of(model.forest, model.ends).running(TRAIN[0])
    leading = np.sort(running, axis=1)[:, int(0.9 * len(TRAIN[1])) - 1]
    np.testing.assert_allclose(model.low, leading - np.array([2.0, 1.0, 0.0]))


def test_who_is_close_to_the_best_stays():
    model = ProximityExitClassifier(slack=0.0, top=0.2, every=4, **SMALL).fit(*TRAIN)
    stays = model.model_.block(TRAIN[0]) == 2
    assert 0.05 < stays.mean() < 0.3
    assert TRAIN[1][stays].mean() > TRAIN[1].mean() + 0.3


def test_weighted_quantiles_are_those_of_repeated_rows():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=9), rng.integers(1, 4, size=9)
    repeated = np.sort(np.repeat(values, weight))
    for k in range(1, len(repeated) + 1):
        found = weighted_quantile(values, weight / 7.0, k / len(repeated))
        assert found == repeated[k - 1]


# --- feature subsets, AdaBoostRS, linear SVM -------------------------------------


def test_a_subset_is_boosted_as_if_the_other_columns_did_not_exist():
    prices = Prices([1, 5, 1, 20, 5, 20])
    model = PriceSubsetsClassifier(prices, max_price=5, **SMALL).fit(*TRAIN)
    cheap = [0, 1, 2, 4]
    alone = GreedyMiserClassifier(**SMALL).fit(TRAIN[0][:, cheap], TRAIN[1])
    np.testing.assert_array_equal(
        model.predict_proba(TEST[0]), alone.predict_proba(TEST[0][:, cheap])
    )
    levels = [point.knob for point in model.path(*TRAIN, validation=HELD)][1:]
    assert levels == [{"max_price": 1.0}, {"max_price": 5.0}, {"max_price": 20.0}]


def test_a_group_counts_with_its_shared_price():
    model = PriceSubsetsClassifier(PRICES, max_price=2.0, **SMALL).fit(*TRAIN)
    assert not model.used(TEST[0])[:, 4:].any()  # each is 3 or 5 with the entry to the lab


def test_a_subset_without_features_is_the_constant():
    model = PriceSubsetsClassifier(PRICES, max_price=0.1, **SMALL).fit(*TRAIN)
    assert model.bill(TEST[0]).max() == 0.0
    np.testing.assert_allclose(model.predict_proba(TEST[0])[:, 1], TRAIN[1].mean())


@pytest.mark.parametrize("classes", [2, 3])
def test_all_trees_vote_as_in_adaboost(classes):
    train = draw(0, classes=classes)
    ours = AdaBoostRSClassifier(n_estimators=10, max_depth=2, random_state=0).fit(*train)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10)
    np.testing.assert_array_equal(ours.predict(TEST[0]), theirs.fit(*train).predict(TEST[0]))


def test_draws_estimate_the_whole_vote():
    whole = AdaBoostRSClassifier(PRICES, n_estimators=6, random_state=3).fit(*TRAIN).model_
    drawn = copy_of(RIVALS["adaboost"], draws=40_000, n_estimators=6, random_state=3)
    few = drawn.fit(*TRAIN).model_
    assert len(few.roots) == len(whole.roots)
    np.testing.assert_allclose(few.raw(TEST[0]), whole.raw(TEST[0]), atol=0.15)


def test_cheap_trees_are_drawn_more_often():
    dear = Prices([100, 100, 1, 1, 1, 1])
    for seed in range(3):
        model = AdaBoostRSClassifier(draws=3, n_estimators=20, max_depth=1, random_state=seed)
        blind = model.fit(*TRAIN).used(TEST[0]).any(axis=0)
        priced = copy_of(model, prices=dear).fit(*TRAIN).used(TEST[0]).any(axis=0)
        assert blind[0] and not priced[:2].any()


def test_a_table_that_tells_nothing_gives_the_shares_of_the_classes():
    X, y = np.ones((20, 2)), np.arange(20) % 4 // 3
    model = AdaBoostRSClassifier(draws=3).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[0], [0.75, 0.25])


def test_the_machine_ranks_rows_as_that_of_scikit_learn():
    model = LinearSVMClassifier(C=0.5).fit(*TRAIN)
    scaler = StandardScaler().fit(TRAIN[0])
    theirs = LinearSVC(C=0.5, dual=False).fit(scaler.transform(TRAIN[0]), TRAIN[1])
    outputs = theirs.decision_function(scaler.transform(TEST[0]))
    np.testing.assert_array_equal(
        np.argsort(model.predict_proba(TEST[0])[:, 1]), np.argsort(outputs)
    )
    assert np.mean(model.predict(TEST[0]) == (outputs > 0)) > 0.95


# --- cost-weighted L1 --------------------------------------------------------------


# How scikit-learn is asked for an L1 norm depends on its version.
NEW = parse_version(sklearn.__version__) >= parse_version("1.8")
L1 = {"l1_ratio": 1.0} if NEW else {"penalty": "l1"}


def weights_of(model):
    """Weights by slot of the only node."""
    frozen = model.model_
    weights = np.zeros(len(frozen.encoding.columns))
    weights[frozen.slots] = frozen.weights[:, 0]
    return weights


@pytest.mark.parametrize("penalty", [0.002, 0.02, 0.1])
def test_at_equal_prices_it_is_the_l1_solution_of_scikit_learn(penalty):
    Z = StandardScaler().fit_transform(TRAIN[0])
    ours = PricedL1Classifier(Prices([2.0] * 6), penalty=penalty).fit(*TRAIN)
    C = 1.0 / (len(Z) * 2.0 * penalty)
    theirs = LogisticRegression(**L1, C=C, solver="saga", tol=1e-12, max_iter=100_000)
    theirs.fit(Z, TRAIN[1])
    np.testing.assert_allclose(weights_of(ours), theirs.coef_[0], atol=2e-5)
    np.testing.assert_array_equal(weights_of(ours) == 0, theirs.coef_[0] == 0)


@pytest.mark.parametrize("penalty", [0.002, 0.02, 0.1])
def test_at_any_prices_it_is_the_lasso_on_columns_divided_by_them(penalty):
    rng, own = np.random.default_rng(3), np.array([1.0, 4.0, 0.5, 2.0, 1.0, 8.0])
    X = rng.normal(size=(120, 6)) @ rng.normal(size=(6, 6))
    y = X @ [1.0, 0.0, 2.0, 0.0, -1.0, 0.3] + rng.normal(size=120)
    ours = PricedL1Regressor(Prices(own), penalty=penalty).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    theirs = Lasso(alpha=penalty, tol=1e-12, max_iter=100_000).fit(Z / own, y)
    np.testing.assert_allclose(weights_of(ours), theirs.coef_ / own, atol=1e-5)


@pytest.mark.parametrize("penalty", [0.001, 0.01, 0.05])
def test_no_weight_can_be_changed_to_advantage(penalty):
    own = np.array([1.0, 4.0, 0.5, 0.0, 1.0, 3.0])
    model = PricedL1Classifier(Prices(own), penalty=penalty).fit(*TRAIN)
    Z, y = StandardScaler().fit_transform(TRAIN[0]), np.where(TRAIN[1] == 1, 1.0, -1.0)
    weights = weights_of(model)
    slopes = Z.T @ Logistic().slopes(Z @ weights + model.model_.bias[0, 0], y)[0] / len(y)
    on = weights != 0
    np.testing.assert_allclose(slopes[on], -penalty * (own * np.sign(weights))[on], atol=1e-6)
    assert (np.abs(slopes[~on]) <= penalty * own[~on] + 1e-9).all()
    assert on[3]  # what is free is not held back


def test_the_largest_penalty_of_the_path_buys_nothing_and_the_next_something():
    points = list(PricedL1Classifier(Prices([1.0] * 6)).path(*TRAIN, validation=HELD))
    assert [point.bill > 0 for point in points[:3]] == [False, False, True]


def test_a_regression_path_measures_r2():
    X, y = TRAIN[0], TRAIN[0] @ np.arange(6.0)
    points = list(PricedL1Regressor(PRICES).path(X, y, validation=(X, y)))
    assert points[0].bill == 0.0 and abs(points[0].quality) < 1e-12
    assert points[-1].quality > 0.999
    with pytest.raises(DataError, match="validation"):
        PricedL1Regressor().path(X, y, validation=(X,))


# --- a single node, Cronus, AND-OR --------------------------------------------------


def test_a_node_is_the_least_of_its_objective():
    X, y = TRAIN[0][:, :3], np.where(TRAIN[1] == 1, 1.0, -1.0)
    # Two columns share a price, one of them has a price of its own too.
    dues = Dues(np.array([1.0, 0.5]), np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]), np.arange(3))
    weight = np.full(len(y), 1.0 / len(y))
    node = Node(X, y, plain_goal(weight), dues, penalty=0.05)

    def objective(b):
        state = node.nothing._replace(weights=b[:3], bias=float(b[3]))
        return node.objective(state, state.outputs(X))

    found = node.descend(node.nothing)
    due = minimize(objective, np.full(4, 0.1), method="BFGS", options={"gtol": 1e-9})
    assert objective(np.append(*found)) == pytest.approx(due.fun, abs=1e-6)
    np.testing.assert_allclose(np.append(*found), due.x, atol=5e-3)
    assert objective(np.append(*found)) < objective(np.zeros(4))


def test_without_groups_a_node_chooses_as_l1_does():
    own = Prices([1.0, 4.0, 0.5, 2.0, 1.0, 8.0])
    for penalty in (0.003, 0.02):
        l1 = PricedL1Classifier(own, penalty=penalty).fit(*TRAIN)
        single = SingleCostClassifier(own, penalty=penalty).fit(*TRAIN)
        np.testing.assert_array_equal(single.used(TEST[0]), l1.used(TEST[0]))


def test_a_node_pays_for_a_group_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] + 0.8 * X[:, 2] + 0.8 * X[:, 3] > 0).astype(int)
    panel = Prices(groups={"panel": [0, 1]}, shared={"panel": 1.0}, own=[0, 0, 1, 1])
    model = SingleCostClassifier(panel, penalty=0.25).fit(X, y)
    assert model.used(X)[0].tolist() == [True, True, False, False]


def test_weights_of_what_is_chosen_are_not_shrunk():
    free = SingleCostClassifier(Prices([1, 1, 1, 999, 999, 999]), penalty=0.001).fit(*TRAIN)
    alone = SingleCostClassifier().fit(TRAIN[0][:, :3], TRAIN[1])
    assert free.used(TEST[0])[0].tolist() == [True] * 3 + [False] * 3
    np.testing.assert_allclose(
        free.predict_proba(TEST[0]), alone.predict_proba(TEST[0][:, :3]), atol=1e-3
    )


@pytest.mark.parametrize("name", ["single", "single, boosted", "cronus", "and-or"])
def test_the_dearer_money_is_the_less_is_bought(name):
    full = copy_of(RIVALS[name], penalty=0.0).fit(*TRAIN)
    none = copy_of(RIVALS[name], penalty=10.0).fit(*TRAIN)
    assert none.used(TEST[0]).sum() == 0 < full.used(TEST[0]).all(axis=0).sum()


def gate(seed, n=800):
    """Only who is high in the cheap column needs the dear one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, ((X[:, 0] > 0.5) & (X[:, 1] > 0)).astype(int)


CHEAP_FIRST = Prices([1, 20, 5])
CASCADES = [
    CronusClassifier(CHEAP_FIRST, penalty=0.05, max_depth=1, keep=0.6),
    AndOrClassifier(CHEAP_FIRST, penalty=0.001, class_weight="balanced"),
]


@pytest.mark.parametrize("cascade", CASCADES)
def test_a_cascade_buys_what_is_dear_only_for_who_passes(cascade):
    model = cascade.fit(*gate(0))
    X, y = gate(1)
    dear = model.used(X)[:, 1]
    assert model.used(X)[:, 0].all() and 0.15 < dear.mean() < 0.6
    assert dear[y == 1].mean() > 0.95
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("cascade", CASCADES)
def test_bills_of_six_rows_by_hand(cascade):
    model, X = cascade.fit(*gate(0)), gate(1)[0][:6]
    tree = model.model_
    assert isinstance(tree, LinearTree) and tree.left.tolist() == [-1] * len(tree.left)
    bills = []
    for x in X:
        paid, node = set(), 0
        while node >= 0:
            span, value = slice(tree.starts[node], tree.starts[node + 1]), 0.0
            for slot, weight in zip(tree.slots[span], tree.route[span], strict=True):
                column, z = plain_input(tree, slot, x)
                paid.add(column)
                value += weight * z
            node = tree.right[node] if value > tree.threshold[node] else -1
        bills.append(sum([1, 20, 5][column] for column in paid))
    assert len(set(bills)) > 1
    np.testing.assert_allclose(model.bill(X), bills)


def plain_input(tree, slot, x):
    """Column and value of an input: of a stump, or of a slot."""
    if tree.base is None:
        column = tree.encoding.columns[slot]
        return column, (x[column] - tree.encoding.centers[slot]) / tree.encoding.scales[slot]
    root = tree.base.roots[slot]
    column = int(tree.base.nodes["feature"][root]) & 0xFFFF
    right = x[column] > tree.base.nodes["threshold"][root]
    return column, tree.base.values[tree.base.nodes["child"][root] + right, 0]


def test_each_stage_of_cronus_sends_on_the_share_it_should():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = (X.sum(axis=1) + rng.normal(size=2000) > 2).astype(int)
    model = CronusClassifier(Prices([1, 3, 9]), penalty=0.3, max_depth=1, keep=0.7)
    visited = model.fit(X, y).model_.visited(X)[y == 0]
    shares = visited[:, 1:].sum(axis=0) / visited[:, :-1].sum(axis=0)
    assert len(shares) == 2 and (shares <= 0.7 + 1e-9).all() and (shares > 0.55).all()


def test_without_a_penalty_cronus_weighs_all_trees_at_once():
    model = CronusClassifier(**SMALL).fit(*TRAIN).model_
    trees = GreedyMiserClassifier(**SMALL).fit(*TRAIN).model_
    assert len(model.left) == 1 and len(model.slots) == len(trees.roots)
    np.testing.assert_array_equal(model.base.raw(TEST[0]), trees.raw(TEST[0]))


def test_stages_of_and_or_read_what_is_up_to_their_price():
    prices = Prices([5, 1, 20, 1, 50, 150])
    for base in ("raw", "boosted"):
        model = AndOrClassifier(prices, base=base, n_stages=3, **SMALL).fit(*TRAIN).model_
        reads = [set(np.flatnonzero(node.slots.support).tolist()) for node in model.nodes]
        assert reads[0] <= {0, 1, 3} and reads[0] < reads[1] <= {0, 1, 2, 3, 4} and 4 in reads[1]
        assert reads[2] == set(range(6)) if base == "raw" else reads[1] <= reads[2]


def test_the_joint_loss_is_the_largest_or_the_product():
    losses = np.array([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1], [3.0, 0.0, 0.5]])
    found = joint_loss(losses, np.array([1.0, -1.0, -1.0]))
    np.testing.assert_allclose(found, [0.7, 0.014, 0.0], atol=1e-5)


def and_or(n_stages=3):
    model = AndOrClassifier(PRICES, n_stages=n_stages)
    task = model._task(*TRAIN, None)
    return model._one_learner(task)


def joint_objective(learner, stages, penalty):
    outputs = [stage.outputs(learner.inputs.Z) for stage in stages]
    losses = np.column_stack([LOSS.value(f, learner.y) for f in outputs])
    prices = [learner.inputs.dues.prices @ learner.inputs.dues.roots(s.weights) for s in stages]
    ridge = sum(0.5e-4 * stage.weights @ stage.weights for stage in stages)
    return learner.weight @ joint_loss(losses, learner.y) + penalty * sum(prices) + ridge


def test_a_sweep_never_raises_the_joint_objective():
    learner = and_or()
    assert isinstance(learner, _AndOr)
    stages, values = list(learner.starts), []
    for _ in range(4):
        values.append(joint_objective(learner, stages, 0.01))
        learner.sweep(stages, learner.allowed, 0.01)
    values.append(joint_objective(learner, stages, 0.01))
    assert (np.diff(values) <= 1e-12).all() and values[-1] < values[0] - 0.01


def test_the_slope_of_a_stage_is_that_of_the_joint_loss():
    learner = and_or()
    rng = np.random.default_rng(0)
    losses = rng.uniform(0.1, 2.0, size=(len(learner.y), 3))

    def joint(column):
        return learner.weight @ joint_loss(np.column_stack([losses[:, :2], column]), learner.y)

    values, slopes = learner._goal(losses[:, :2])(losses[:, 2])
    assert values.sum() == pytest.approx(joint(losses[:, 2]))
    np.testing.assert_allclose(slopes, approx_fprime(losses[:, 2], joint, 1e-7), atol=1e-7)


def test_inputs_that_are_columns_stand_for_the_table():
    task = PricedL1Classifier(PRICES)._task(*TRAIN, None)
    inputs = column_inputs(task)
    np.testing.assert_allclose(inputs.Z, StandardScaler().fit_transform(TRAIN[0]))
    np.testing.assert_allclose(task.tolls, [1, 2, 1, 0.5, 5, 3])
    assert inputs.dues.prices.tolist() == [1, 2, 1, 0.5, 3, 1, 2]
    assert inputs.dues.members[-1].tolist() == [0, 0, 0, 0, 1, 1]


def test_penalties_fall_to_none():
    found = penalties(3.0, points=4)
    np.testing.assert_allclose(found, [3.0, 0.3, 0.03, 0.003, 0.0])
