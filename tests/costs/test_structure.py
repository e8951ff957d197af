"""What comes along: precedence and panels, when prices are bound and read from a model file."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from thrifty.costs import BoundPrices, Prices
from thrifty.costs.structure import Structure
from thrifty.errors import BundleError, PriceError

NAMES = ["age", "xray", "mri", "chol", "fbs"]
OWN = {"age": 1, "xray": 20, "mri": 300, "chol": 5, "fbs": 3}
BLOOD = {"groups": {"blood": ["chol", "fbs"]}, "shared": {"blood": 2}}


@pytest.fixture
def clinic():
    prices = Prices(
        OWN, **BLOOD, requires={"mri": ["xray"], "blood": ["age"]}, panels=["blood"],
        delays={"mri": 45, "blood": 30, "fbs": 10}, delay_unit="min", unit="CAD",
        also={"mSv": Prices({"xray": 0.5}, shared={"blood": 0.25})},
    )  # fmt: skip
    return prices.bind(NAMES)


def test_whoever_uses_a_feature_buys_what_it_requires_and_its_panel(clinic):
    assert clinic.bill(np.eye(5, dtype=bool)).tolist() == [1, 20, 320, 11, 11]
    assert clinic.bill(np.eye(5, dtype=bool), with_required=False).tolist() == [1, 20, 300, 10, 10]
    assert clinic.also["mSv"].bill(np.eye(5, dtype=bool)).tolist() == [0, 0.5, 0.5, 0.25, 0.25]
    assert clinic.first_prices.tolist() == [1, 20, 320, 11, 11]


def test_what_is_bought_or_known_is_not_paid_again(clinic):
    assert clinic.marginal(2, ()) == 320
    assert clinic.marginal(2, {1}) == 300
    assert clinic.marginal(2, set(), {1}) == 300
    assert clinic.marginal(2, {2}) == 0
    assert clinic.marginal(3, {0}) == 10
    assert clinic.marginal(3, {0, 4}) == 0
    # A panel costs what it costs, whoever knows a part of it.
    assert clinic.marginal(4, {0}, {3}) == 10


def test_a_breakdown_lists_what_comes_along(clinic):
    text = clinic.breakdown(np.array([False, False, True, False, False]))
    assert text == "CAD 320.00: xray 20.00 + mri 300.00"


def test_delays_of_a_feature_precede_those_of_its_group(clinic):
    assert clinic.delays.tolist() == [0, 0, 45, 30, 10]
    assert Prices([1]).bind(1).delays is None


def test_prices_after_a_purchase_are_those_of_the_rest(clinic):
    after = clinic.after([2])
    assert after.bill(np.eye(5, dtype=bool)).tolist() == [1, 0, 0, 11, 11]
    assert clinic.closure([2, 4]).tolist() == [0, 1, 2, 3, 4]


def test_a_panel_of_one_feature_is_that_feature():
    bound = Prices([3, 1], groups={"g": [0]}, shared={"g": 2}, panels=["g"]).bind(2)
    assert bound.structure is None
    assert bound.bill(np.eye(2, dtype=bool)).tolist() == [5, 1]


def test_every_problem_of_the_structure_is_listed():
    prices = Prices(
        OWN, **BLOOD,
        requires={"mri": ["xrai", "blood"], "chol": ["fbs"], "age": ["mri"], "blood": ["age"]},
        panels=["blod"], delays={"mir": 3}, delay_unit=3,
        also={"": Prices(), "ms": Prices({"age": 1}, groups={"g": ["age"]}, calls={"x": 1})},
    )  # fmt: skip
    with pytest.raises(PriceError) as caught:
        prices.bind(NAMES)
    assert str(caught.value).split("\n  - ")[1:] == [
        "requires of 'mri': 'xrai' is neither a column nor a group; did you mean 'xray'?",
        "panel of the unknown group 'blod'; did you mean 'blood'?",
        "requires: 'age' and 'mri' and 'chol' and 'fbs' would have to be bought before each "
        "other; drop one entry",
        "delays: 'mir' is neither a column nor a group; did you mean 'mri'?",
        "delay_unit: 3 is not text",
        ": the name must be text, and neither 'price' nor 'latency'",
        "ms: groups belongs to the main price list; move it there",
        "ms: call 'x' has no price in the main list",
    ]


def test_a_delay_that_is_none_is_refused_when_the_list_is_made():
    with pytest.raises(PriceError) as caught:
        Prices(OWN, delays={"age": -1, "xray": float("nan")})
    assert str(caught.value).split("\n  - ")[1:] == [
        "delay of 'age': -1.0 is negative; a delay is 0 or more",
        "delay of 'xray': nan is not a delay; write 0 if there is none",
    ]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"requires": {0: [0]}}, "feature 0 would have to be bought before itself"),
        ({"requires": {0: [7]}}, "requires of 0: 7 is outside the table"),
        (
            {"requires": {1: [0]}, "groups": {"g": [0, 1]}, "panels": ["g"]},
            "feature 0 and feature 1 would have to be bought before each other",
        ),
        ({"panels": ["g"]}, "panel of the unknown group 'g'; add it to groups"),
    ],
)
def test_what_cannot_be_ordered_is_refused(settings, problem):
    with pytest.raises(PriceError, match=problem):
        Prices([1, 1, 1], **settings).bind(3)


def test_a_group_with_the_name_of_a_column_is_ambiguous():
    prices = Prices({"a": 1, "g": 1}, groups={"g": ["a"]}, requires={"g": ["a"]})
    with pytest.raises(PriceError, match="'g' is a column and a group; rename the group"):
        prices.bind(["a", "g"])


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"requires": {"a": "b"}}, "requires of 'a': 'b' is not a list of features"),
        ({"panels": "blood"}, "panels: 'blood' is not a list of groups"),
        ({"also": {"ms": 3}}, "also 'ms': 3 is not a Prices"),
        ({"also": 3}, "also: 3 is not a mapping"),
    ],
)
def test_what_is_no_list_is_refused_at_once(settings, problem):
    with pytest.raises(PriceError, match=problem):
        Prices([1.0], **settings)


def test_a_price_list_shows_and_compares_its_structure():
    prices = Prices([1, 2], requires={0: [1]}, delays={0: 3}, also={"ms": Prices([1, 1])})
    assert repr(prices) == (
        "Prices([1.0, 2.0], requires={0: [1]}, delays={0: 3.0}, also={'ms': Prices([1.0, 1.0])})"
    )
    assert prices == copy.deepcopy(prices)
    assert prices != Prices([1, 2], requires={0: [1]}, delays={0: 4}, also=prices.also)


# --- the model file -----------------------------------------------------------


def test_a_model_file_keeps_the_structure(clinic):
    plain = clinic.plain()
    assert plain["requires"] == [[2, 1], [3, 0], [4, 0]]
    assert plain["panels"] == [[3, 4]]
    assert BoundPrices.build(plain) == clinic
    assert copy.copy(clinic) == clinic
    assert not {"requires", "panels", "delays", "delay_unit", "also"} & set(
        Prices([1]).bind(1).plain()
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("requires", []),
        ("requires", [[2]]),
        ("requires", [[2, 9]]),
        ("requires", [[2, -1]]),
        ("requires", [[2, True]]),
        ("requires", [[2, 1], [2, 0]]),
        ("requires", [[2, 1], [1, 2]]),
        ("requires", [[3, 4]]),
        ("requires", {"2": [1]}),
        ("panels", [[3, 4], [4, 0]]),
        ("panels", 3),
        ("delays", [1.0]),
        ("delays", [1.0, 2.0, 3.0, 4.0, -5.0]),
        ("delays", None),
        ("delay_unit", 3),
        ("also", {}),
        ("also", []),
        ("also", {"ms": {}}),
        ("also", {"ms": {"own": [1.0], "shared": [1.0], "evaluation": 0.0, "calls": {}}}),
        ("also", {"ms": {"own": [1.0] * 5, "shared": [-1.0], "evaluation": 0.0, "calls": {}}}),
        ("also", {"ms": {"own": [1.0] * 5, "shared": [1.0], "evaluation": "x", "calls": {}}}),
        ("also", {"ms": {"own": [1.0] * 5, "shared": [1.0], "evaluation": 0, "calls": {"a": 1}}}),
    ],
)
def test_a_damaged_structure_is_refused(clinic, field, value):
    with pytest.raises(BundleError):
        BoundPrices.build(clinic.plain() | {field: value})


def test_what_was_not_to_be_had_takes_along_what_requires_it():
    chain = Structure({1: (0,), 2: (1,)}, panels=((2, 3),))
    assert chain.requiring([0]) == {0, 1, 2, 3}
    assert chain.requiring([3]) == {3}
    assert chain.dependents([1]) == {1, 2, 3}


def test_requirements_that_bring_too_many_along_are_refused():
    chain = {j: [j - 1] for j in range(1, 1500)}
    with pytest.raises(PriceError, match="too many features come along"):
        Prices([1.0] * 1500, requires=chain).bind(1500)
    plain = Prices([1.0] * 1500).bind(1500).plain()
    plain["requires"] = [[j, *needed] for j, needed in chain.items()]
    with pytest.raises(BundleError, match="too large"):
        BoundPrices.build(plain)


def test_a_large_panel_is_one_bundle():
    prices = Prices([1.0] * 3000, groups={"all": range(2999)}, panels=["all"]).bind(3000)
    used = np.zeros((1, 3000), dtype=bool)
    used[0, 7] = True
    assert prices.structure.bought(used).sum() == 2999
    assert prices.structure.bought_with(0) is prices.structure.bought_with(2998)


def test_a_cycle_through_a_panel_is_found():
    assert Structure({0: (1,)}, panels=((0, 1),)).has_cycle
    assert Structure({0: (2,), 2: (1,)}, panels=((0, 1),)).has_cycle
    assert not Structure({0: (2,), 2: (3,)}, panels=((0, 1),)).has_cycle
