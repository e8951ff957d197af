"""A quality target: the cheapest point that reaches it on new data, or the nearest, named."""

from __future__ import annotations

import contextlib
import math
import re

import numpy as np
import points as by_hand
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from points import curve

from thrifty.errors import BudgetError
from thrifty.frontier.confidence import lower_bound, share_bound, student_bound
from thrifty.frontier.quality_target import cheapest_with_confidence, rank_points


def drawn(bill, hits, **changes):
    """Make a point with these contributions of the validation rows."""
    gains = np.asarray(hits, dtype=np.float64)
    given = {"gains": gains, "training_bill": (float(bill), 0.0), **changes}
    return by_hand.point(bill, gains.mean(), f"at {bill}", **given)


def share(true, n=600, seed=0):
    return np.random.default_rng(seed).permutation(n) < true * n


def test_the_cheapest_point_that_is_certainly_good_enough_is_taken() -> None:
    found = curve(drawn(0, share(0.5)), drawn(2, share(0.9)), drawn(5, share(0.95)))
    assert cheapest_with_confidence(found, 0.8, 0.95).bill == 2
    assert found.cheapest(0.8, 0.95).bill == 2
    assert found.cheapest(0.92, 0.95).bill == 5


def test_a_point_that_is_just_good_enough_on_the_validation_rows_is_left() -> None:
    found = curve(drawn(0, share(0.5)), drawn(2, share(0.81)), drawn(5, share(0.95)))
    assert found.cheapest(0.8).bill == 2
    assert found.cheapest(0.8, 0.95).bill == 5


def test_the_quality_is_reached_after_the_choice_as_often_as_it_says() -> None:
    """Forty points around the target, of which the luckiest look good."""
    rng = np.random.default_rng(0)
    qualities = np.linspace(0.7, 0.9, 40)
    short, refused, draws = {None: 0, 0.9: 0}, 0, 200
    for _ in range(draws):
        found = curve(
            *(drawn(k, rng.random(300) < q, knob={"true": q}) for k, q in enumerate(qualities))
        )
        for confidence in short:
            try:
                short[confidence] += found.cheapest(0.8, confidence).knob["true"] < 0.8
            except BudgetError:
                refused += 1
    assert short[0.9] <= 0.1 * draws + 3 * math.sqrt(0.09 * draws)
    assert short[None] > 0.5 * draws
    assert refused < 0.2 * draws


def test_the_order_of_testing_does_not_depend_on_the_rows_that_test() -> None:
    one = curve(*(drawn(bill, share(0.6 + bill / 20, seed=bill)) for bill in range(6)))
    order = np.random.default_rng(0).permutation(600)
    ranking, testing = order[:120], order[120:]
    changed = []
    for p in one.points:
        gains = p.gains.copy()
        gains[testing] = 1.0 - gains[testing]
        changed.append(drawn(p.bill, gains))
    bills = [[ranked.point.bill for ranked in rank_points(c)] for c in (one, curve(*changed))]
    assert bills[0] == bills[1]
    best = max(one.points, key=lambda p: p.gains[ranking].mean())
    assert bills[0][0] == best.bill


def test_accuracy_is_ranked_together_with_the_brier_score() -> None:
    hits, brier = share(0.8), np.full(600, -0.2)
    plain = curve(drawn(1, hits, neg_brier=brier), drawn(2, hits, neg_brier=brier))
    assert [ranked.point.bill for ranked in rank_points(plain)] == [1]
    clear = curve(drawn(1, hits, neg_brier=brier), drawn(2, hits, neg_brier=brier / 2))
    assert [ranked.point.bill for ranked in rank_points(clear)] == [2, 1]


def test_testing_ends_at_the_first_point_that_is_not_certain() -> None:
    order = np.random.default_rng(0).permutation(600)
    looks_best = share(0.95).astype(float)
    looks_best[order[120:]] = 0.0  # fails on the rows that test
    found = curve(drawn(1, share(0.9)), drawn(2, looks_best))
    assert rank_points(found)[0].point.bill == 2
    with pytest.raises(BudgetError, match="no model reaches"):
        found.cheapest(0.8, 0.95)


def test_a_target_out_of_reach_names_the_nearest_and_what_can_be_promised() -> None:
    found = curve(drawn(0, share(0.5)), drawn(3, share(0.9)))
    with pytest.raises(BudgetError) as error:
        found.cheapest(0.95, 0.95)
    words = str(error.value)
    assert words.startswith("no model reaches accuracy 0.95 with 95% confidence; the nearest, hand")
    assert "has 0.9000 on the validation rows at a mean bill of CAD 3.00" in words
    (promised,) = re.findall(r"ask for (0\.\d+),", words)
    assert 0.85 < float(promised) < 0.9
    assert found.cheapest(float(promised), 0.95).bill == 3


def test_without_a_confidence_the_nearest_is_named_too() -> None:
    found = curve(drawn(0, share(0.5)), drawn(3, share(0.9)))
    with pytest.raises(BudgetError, match=r"no model reaches accuracy 0.95; .* ask for 0.9000"):
        found.cheapest(0.95)


@pytest.mark.parametrize("confidence", [None, 0.95])
@pytest.mark.parametrize("quality", [math.nan, None, "0.9"])
def test_a_quality_is_a_number(quality, confidence) -> None:
    with pytest.raises(BudgetError, match=f"quality: {quality!r} is not a number"):
        curve(drawn(0, share(0.5))).cheapest(quality, confidence)


def test_few_rows_are_too_few() -> None:
    with pytest.raises(BudgetError, match="2 validation rows are too few"):
        curve(drawn(0, [1, 1])).cheapest(0.5, 0.95)


# --- bounds by metric --------------------------------------------------------


def only_bound(found, confidence=0.95):
    """The largest target that the one point of a curve reaches."""
    with pytest.raises(BudgetError) as error:
        found.cheapest(1.5, confidence)
    return float(re.findall(r"ask for (-?[\d.]+|-inf),", str(error.value))[0])


def test_accuracy_has_the_exact_bound_of_a_share() -> None:
    found = curve(drawn(1, share(0.9)))
    hits = rank_points(found)[0].gains
    assert only_bound(found) == pytest.approx(share_bound(int(hits.sum()), 480, 0.95), abs=1e-4)
    # The definition: with the bound as the true share, so many hits or more have chance 5 %.
    assert share_bound(10, 10, 0.95) == pytest.approx(0.05 ** (1 / 10))
    assert share_bound(0, 10, 0.95) == 0.0


def test_contributions_between_0_and_1_are_bounded_by_betting() -> None:
    gains = np.random.default_rng(1).random(300)
    found = curve(drawn(1, gains), task="ranking", scoring="ndcg@5")
    assert only_bound(found) == pytest.approx(
        lower_bound(rank_points(found)[0].gains, 0.95), abs=1e-4
    )


def test_other_metrics_have_students_bound() -> None:
    gains = np.random.default_rng(1).normal(0.5, 1.0, 300)
    found = curve(drawn(1, gains), task="regression", scoring="r2")
    tested = rank_points(found)[0].gains
    assert only_bound(found) == pytest.approx(student_bound(tested, 0.95), abs=1e-4)
    assert student_bound(np.ones(1), 0.95) == -math.inf


def test_rows_of_one_cluster_are_one_observation() -> None:
    clusters = np.repeat(np.arange(60), 10)
    hits = np.repeat(share(0.9, n=60), 10)
    alone, together = curve(drawn(1, hits)), curve(drawn(1, hits), clusters=clusters)
    assert len(rank_points(together)[0].gains) == 48
    assert only_bound(together) < only_bound(alone)


def test_clusters_of_other_metrics_are_expanded_linearly() -> None:
    clusters = np.repeat(np.arange(50), [2, 4] * 25)
    gains = np.random.default_rng(0).normal(0.4, 1.0, 150)
    found = curve(drawn(1, gains), clusters=clusters, scoring="roc_auc")
    tested = rank_points(found)[0].gains
    assert len(tested) == 40
    assert only_bound(found) < gains.mean()


@pytest.mark.parametrize("n", [20, 150])
def test_lower_bounds_hold_as_often_as_they_say(n) -> None:
    rng, draws = np.random.default_rng(0), 600
    above = {"share": 0, "betting": 0}
    for _ in range(draws):
        hits = (rng.random(n) < 0.8).astype(float)
        above["share"] += share_bound(int(hits.sum()), n, 0.9) > 0.8
        above["betting"] += lower_bound(hits, 0.9) > 0.8
    for count in above.values():
        assert count / draws <= 0.1 + 4 * math.sqrt(0.1 * 0.9 / draws)


shares = st.lists(st.floats(0.3, 1.0), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None)
@given(shares, st.floats(0.2, 0.99), st.integers(0, 100))
def test_a_target_is_met_by_the_bound_or_refused(qualities, target, seed) -> None:
    rng = np.random.default_rng(seed)
    found = curve(*(drawn(bill, rng.random(90) < q) for bill, q in enumerate(qualities)))
    try:
        chosen = found.cheapest(target, 0.95)
    except BudgetError as error:
        assert "the nearest" in str(error)
        return
    gains = next(ranked.gains for ranked in rank_points(found) if ranked.point is chosen)
    assert share_bound(int(gains.sum()), len(gains), 0.95) >= target
    if target < 0.9:  # what is harder to reach is never cheaper
        with contextlib.suppress(BudgetError):
            assert found.cheapest(target + 0.05, 0.95).bill >= chosen.bill
