"""Sections of a card: the blocks that both forms of it are written from."""

from __future__ import annotations

import pytest

from thrifty.report import card_facts, fit_facts
from thrifty.report.card_sections import (
    Bullets,
    Grid,
    Pairs,
    card_sections,
    groups_section,
    with_interval,
)


@pytest.fixture(scope="module")
def facts(found):
    sets = {"training": found.sets.train, "test": found.test}
    facts = fit_facts(found, target="illness")
    by = {"age": found.test.table["<b>age</b>"]}
    return facts | card_facts(found.predictor, sets, by=by, date="2026-03-01")


@pytest.fixture(scope="module")
def sections(facts):
    return {section.heading: section.blocks for section in card_sections(facts)}


def test_tables_have_a_cell_for_every_column(sections) -> None:
    grids = [block for blocks in sections.values() for block in blocks if isinstance(block, Grid)]
    assert len(grids) == 6
    for grid in grids:
        assert grid.rows and {len(row) for row in grid.rows} == {len(grid.columns)}


def test_every_figure_of_the_results_has_its_interval(sections, facts) -> None:
    results, classes = (block for block in sections["Results"] if isinstance(block, Grid))
    names = [baseline["name"] for baseline in facts["baselines"]]
    assert [row[0] for row in results.rows][: 1 + len(names)] == ["this model", *names]
    assert all(" to " in cell for cell in results.rows[0][1:])
    assert [int(row[1]) for row in classes.rows] == [sum(row) for row in facts["confusion"]["rows"]]


def test_the_source_is_named_or_said_to_be_unknown(sections) -> None:
    (pairs, *_) = sections["Data"]
    assert isinstance(pairs, Pairs) and pairs.pairs["source"] == "not stated"
    assert pairs.pairs["rows"] == "180 training, 60 test"


def test_two_classes_need_one_column_of_shares(facts) -> None:
    (grid, text) = groups_section(facts).blocks
    assert grid.columns[:1] == ["age"] and grid.columns[-1] == "predicted well"
    assert len(grid.columns) == 5 and len(grid.rows) == 4
    assert isinstance(text, str | Bullets)


def test_a_metric_that_is_not_defined_for_a_group_is_said_to_be(facts) -> None:
    entry = facts["by"][0]
    unknown = {**entry["groups"][0], "quality": None, "quality_low": None, "quality_high": None}
    (grid, _) = groups_section({**facts, "by": [{**entry, "groups": [unknown]}]}).blocks
    assert grid.rows[0][2] == "not defined"


def test_the_constant_is_listed_and_unknown_ends_are_left_out(facts) -> None:
    unknown = dict.fromkeys(["bill_low", "bill_high", "quality_low", "quality_high"])
    given = {**facts, "constant": {"bill": 0.0, "quality": 0.5, **unknown}}
    blocks = {s.heading: s.blocks for s in card_sections(given)}["Results"]
    assert blocks[0].rows[-1] == ["constant, buys nothing", "$<$ 0.00", "50.0%"]


def test_a_model_that_buys_nothing_has_no_list_of_purchases(facts) -> None:
    blocks = {s.heading: s.blocks for s in card_sections({**facts, "bought": []})}["Prices"]
    assert "No feature is bought" in blocks[-1] and not any(isinstance(b, Grid) for b in blocks)


def test_an_interval_without_width_is_left_out() -> None:
    assert with_interval("3.00", "3.00", "3.00") == "3.00"
    assert with_interval("3.00", "2.90", "3.10") == "3.00 (2.90 to 3.10)"
