"""Evidence: intervals that hold at every stage, gains as measured, and files that are audited."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from thrifty.bundle import Evidence, Predictor, Schema, States, load
from thrifty.bundle.evidence import Cell, _cuts
from thrifty.bundle.file import pack, unpack
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError
from thrifty.model import Forest

BILLS = np.array([1.0, 4.0, 9.0])


def draw(n, seed):
    """Rows that end at one of three stages; the model is too sure of itself, more so at first."""
    rng = np.random.default_rng(seed)
    stage = rng.integers(3, size=n)
    confidence = rng.uniform(0.5, 1.0, size=n)
    p_right = 0.5 + np.array([0.5, 0.7, 1.0])[stage] * (confidence - 0.5)
    y = rng.integers(2, size=n)
    said = np.where(rng.random(n) < p_right, y, 1 - y)
    scores = np.empty((n, 2))
    scores[np.arange(n), said], scores[np.arange(n), 1 - said] = confidence, 1 - confidence
    return y, scores, BILLS[stage], said == y


def test_the_share_of_right_answers_lies_in_the_interval_at_every_stage():
    y, scores, bills, _ = draw(6000, seed=0)
    evidence = Evidence.of(y, None, scores, bills)
    _, new, new_bills, is_right = draw(200_000, seed=1)
    confidence = new.max(axis=1)
    covered, n_bins = np.zeros(3), 12
    for k, bill in enumerate(BILLS):
        for low in np.linspace(0.5, 1.0, n_bins, endpoint=False):
            rows = (new_bills == bill) & (confidence >= low) & (confidence < low + 0.5 / n_bins)
            p = confidence[rows].mean()
            found = evidence.interval(bill, np.array([p, 1 - p]), is_done=True)
            covered[k] += found[0] <= is_right[rows].mean() <= found[1]
    assert (covered / n_bins >= 0.9).all(), covered


def test_an_interval_shows_what_a_stage_does_to_the_same_probability():
    y, scores, bills, _ = draw(6000, seed=0)
    evidence = Evidence.of(y, None, scores, bills)
    intervals = [evidence.interval(bill, np.array([0.1, 0.9]), is_done=True) for bill in BILLS]
    centers = [(low + high) / 2 for low, high in intervals]
    np.testing.assert_allclose(centers, [0.7, 0.78, 0.9], atol=0.05)


def test_residuals_of_values_lie_in_the_interval_at_every_stage():
    rng = np.random.default_rng(0)

    def residuals(n):
        stage = rng.integers(3, size=n)
        return stage, rng.normal(size=n) * np.array([4.0, 2.0, 1.0])[stage]

    stage, error = residuals(3000)
    scores = rng.normal(size=3000)
    evidence = Evidence.of(scores + error, None, scores, BILLS[stage])
    new_stage, new_error = residuals(60_000)
    for k, bill in enumerate(BILLS):
        low, high = evidence.interval(bill, np.array([10.0]), is_done=True)
        value = 10.0 + new_error[new_stage == k]
        assert 0.93 < np.mean((value >= low) & (value <= high)) < 0.97


def test_the_interval_of_the_other_of_two_classes_is_the_rest():
    y, scores, bills, _ = draw(2000, seed=0)
    evidence = Evidence.of(y, None, scores, bills)
    low, high = evidence.interval(4.0, np.array([0.2, 0.8]), True, place=1)
    assert evidence.interval(4.0, np.array([0.2, 0.8]), True) == (low, high)
    assert evidence.interval(4.0, np.array([0.2, 0.8]), True, place=0) == (1 - high, 1 - low)


def test_of_three_classes_only_the_most_probable_has_an_interval():
    y = np.arange(300) % 3
    evidence = Evidence.of(y, None, np.tile([0.5, 0.3, 0.2], (300, 1)), np.ones(300))
    scores = np.array([0.5, 0.3, 0.2])
    assert evidence.interval(1.0, scores, True, place=0) is not None
    assert evidence.interval(1.0, scores, True, place=2) is None


def test_no_interval_leaves_the_range_of_probabilities():
    y = np.zeros(200, dtype=int)
    evidence = Evidence.of(y, None, np.tile([0.7, 0.3], (200, 1)), np.ones(200))
    low, high = evidence.interval(1.0, np.array([0.99, 0.01]), True)
    assert 0.9 < low < high == 1.0


def test_there_is_no_evidence_below_the_first_stage_nor_on_the_way_if_nobody_looked():
    y, scores, bills, _ = draw(600, seed=0)
    evidence = Evidence.of(y, None, scores, bills)
    assert evidence.interval(0.5, scores[0], is_done=True) is None
    assert evidence.interval(4.0, scores[0], is_done=False) is None
    assert evidence.find(100.0, scores[0], is_done=True).bill == 9.0


def test_what_rows_gain_and_pay_is_that_of_their_cell():
    n = 400
    y = np.arange(n) % 2
    half = np.tile([0.5, 0.5], (n, 1))
    final = np.where(y[:, np.newaxis] == [0, 1], 1.0, 0.0)
    interim = [States.alike(n, np.array([0.5, 0.5]), 0.0), States(np.arange(n), half, np.ones(n))]
    evidence = Evidence.of(y, None, final, np.full(n, 7.0), interim)
    cell = evidence.find(0.5, np.array([0.5, 0.5]), is_done=False)
    assert (cell.bill, cell.now, cell.later, cell.total) == (0.0, 0.5, 0.0, 7.0)
    assert evidence.find(1.0, np.array([0.5, 0.5]), is_done=False).bill == 1.0


def test_passes_without_rows_are_no_passes():
    y, scores, bills, _ = draw(100, seed=0)
    empty = States(np.empty(0, dtype=np.intp), np.empty((0, 2)), np.empty(0))
    assert Evidence.of(y, None, scores, bills, [empty]).interim.shape == (0, 9)


def test_weights_count_as_so_many_rows_and_their_effective_number_is_smaller():
    y, scores, bills, _ = draw(50, seed=0)
    twice = np.repeat(np.arange(50), np.where(y == 1, 2, 1))
    weighted = Evidence.of(y, np.where(y == 1, 2.0, 1.0), scores, bills)
    repeated = Evidence.of(y[twice], None, scores[twice], bills[twice])
    columns = [Cell._fields.index(name) for name in ("confidence", "now", "later", "total")]
    np.testing.assert_allclose(weighted.ends[0, columns], repeated.ends[0, columns])
    assert weighted.ends[0, 2] < 50 < repeated.ends[0, 2]


def test_rows_without_weight_do_not_count():
    y, scores, bills, _ = draw(300, seed=0)
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    weighted = Evidence.of(y, weight, scores, bills)
    np.testing.assert_allclose(
        weighted.ends, Evidence.of(y[:200], None, scores[:200], bills[:200]).ends
    )


def test_a_probability_that_is_rounded_up_keeps_the_evidence_sound():
    above = np.nextafter(1.0, 2.0)
    scores = np.tile([above, 0.0], (100, 1))
    evidence = Evidence.of(np.zeros(100, dtype=int), np.full(100, 0.1), scores, np.ones(100))
    assert evidence.is_sound and evidence.is_of_classes


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_errors_that_overflow_are_not_sound():
    y = np.full(100, 1e308)
    assert not Evidence.of(y, None, -y, np.ones(100)).is_sound


def test_a_long_table_is_summarized_by_a_part_of_its_rows():
    y, scores, bills, _ = draw(20_000, seed=0)
    evidence = Evidence.of(y, None, scores, bills)
    assert evidence.ends[:, 2].sum() == pytest.approx(5000)


@pytest.mark.parametrize("seed", range(5))
def test_runs_are_long_enough_and_keep_equal_values_together(seed):
    values = np.sort(np.random.default_rng(seed).integers(12, size=300).astype(float))
    cuts = [*_cuts(values, fewest=30, most=5), 300]
    assert np.diff(cuts).min() >= 60 and len(cuts) - 1 <= 5
    assert all(values[cut - 1] < values[cut] for cut in cuts[1:-1])


# --- the model file ----------------------------------------------------------


@pytest.fixture
def predictor():
    y, scores, bills, _ = draw(600, seed=0)
    evidence = Evidence.of(y, None, scores, bills, [States(np.arange(600), scores, bills / 2)])
    model = Forest.constant([0.4, 0.6], "mean", n_features=1)
    return Predictor(model, Schema.of([[0.0]]), Prices([1.0]).bind(1), [0, 1], evidence=evidence)


def test_evidence_is_saved_with_the_model(predictor, tmp_path):
    predictor.save(tmp_path / "m.thrifty")
    found = load(tmp_path / "m.thrifty").evidence
    np.testing.assert_array_equal(found.ends, predictor.evidence.ends)
    np.testing.assert_array_equal(found.interim, predictor.evidence.interim)


def test_a_file_without_evidence_has_none_and_no_interval(predictor):
    old = unpack(pack(predictor.replace(evidence=None)))
    assert old.evidence is None
    assert old.walk().interval is None and old.walk().receipt.interval is None


def damaged(predictor, **changes):
    predictor.evidence = dataclasses.replace(predictor.evidence, **changes)  # unchecked
    return pack(predictor)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("rows", 0.0, "rows must be above 0"),
        ("bill", -1.0, "must not be negative"),
        ("confidence", 1.5, "a confidence is above 1"),
        ("low", 2.0, "an interval ends before it starts"),
        ("total", np.nan, "finite numbers"),
        ("start", 0.99, "in the order of bills"),
    ],
)
def test_damaged_evidence_is_refused(predictor, column, value, words):
    ends = predictor.evidence.ends.copy()
    ends[0, Cell._fields.index(column)] = value
    with pytest.raises(BundleError, match=words):
        unpack(damaged(predictor, ends=ends))


def test_evidence_of_values_is_refused_for_classes(predictor):
    values = np.arange(200.0)
    ends = Evidence.of(values, None, values / 2, np.ones(200)).ends
    with pytest.raises(DataError, match="the evidence is that of a model of values"):
        predictor.replace(evidence=Evidence(ends, np.empty((0, 9))))
    interim = predictor.evidence.interim.copy()
    interim[0, Cell._fields.index("high")] = 1.5
    with pytest.raises(BundleError, match="the parts of the file do not match"):
        unpack(damaged(predictor, interim=interim))


def test_evidence_of_another_shape_is_refused(predictor):
    with pytest.raises(BundleError, match="evidence.ends: expected numbers of the shape"):
        unpack(damaged(predictor, ends=np.zeros((3, 2))))
    with pytest.raises(BundleError, match="evidence.passes: expected numbers of the shape"):
        unpack(damaged(predictor, interim=np.zeros((3, 9), dtype=np.int64)))


def test_half_of_the_evidence_is_refused(predictor):
    arrays = predictor.evidence.arrays()
    del arrays["evidence.passes"]
    with pytest.raises(BundleError, match="'evidence.passes' is absent"):
        Evidence.take(arrays)
