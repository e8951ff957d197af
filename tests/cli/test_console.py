"""Printing: tables, the results of a fit, and progress."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from thrifty.cli.console import progress, show_fit, show_frontier, show_json, show_table


def facts(**changes) -> dict:
    """The part of `fit_facts` that is printed."""
    point = {"learner": "greedy-miser", "knob": {"penalty": 0.0123456, "trees": 7}, "bill": 8.75,
             "quality": 0.9, "features": 3, "chosen": True}  # fmt: skip
    return {
        "settings": {"task": "classification", "inferred": False, "features": 4, "full": 11.5,
                     "unit": "CAD", "metric": "accuracy",
                     "rows": {"train": 60, "validation": 20, "test": 20}, "cross_fitted": False},
        "chosen": {"learner": "greedy-miser", "test": {"bill": 8.5, "quality": 0.85}},
        "baselines": [{"name": "all features fetched", "bill": 10.0, "quality": 0.875}],
        "frontier": [point],
        "learners": [{"learner": "greedy-miser", "outcome": "ran"},
                     {"learner": "ladder", "outcome": "no time left"}],
        "bought": ["chol"],
        "headline": "8.50 CAD per example.",
        **changes,
    }  # fmt: skip


def test_a_fit_is_printed_with_savings_frontier_and_headline(capsys) -> None:
    show_fit(facts())
    printed = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert lines[0] == (
        "classification: 4 features, CAD 11.50 for all; 60 training rows, 20 validation rows, "
        "20 test rows"
    )
    assert "chosen: greedy-miser 8.50 0.8500 15.0%" in lines
    assert "all features fetched 10.00 0.8750 0.0%" in lines
    assert "greedy-miser * penalty 0.01235, trees 7 8.75 0.9000 3" in lines
    assert "ladder did not run: no time left" in lines
    assert lines[-1] == "On the test set: 8.50 CAD per example."
    assert "buys nothing" not in printed


def test_a_model_that_buys_nothing_and_free_features_are_printed(capsys) -> None:
    free = [{"name": "all features fetched", "bill": 0.0, "quality": 0.875}]
    show_fit(facts(bought=[], baselines=free))
    printed = capsys.readouterr().out
    assert "The model buys nothing" in printed
    assert "all features fetched 0.00 0.8750 -" in " ".join(printed.split())


def test_the_unit_is_in_the_heading_of_a_frontier(capsys) -> None:
    show_frontier(facts()["frontier"], "r2", "ms")
    show_frontier(facts()["frontier"], "r2", "")
    printed = capsys.readouterr().out
    assert printed.count("(ms)") == 1 and printed.count("mean bill") == 2


def test_brackets_in_a_table_are_not_markup(capsys) -> None:
    show_table(["name", "n"], [["[red]age[/red]", "1"]])
    assert "[red]age[/red]" in capsys.readouterr().out


def test_json_holds_no_nan() -> None:
    with pytest.raises(ValueError):
        show_json({"bill": float("nan")})


def test_progress_is_silent_without_a_terminal(capsys) -> None:
    with progress("training") as status:
        assert status is None
    assert isinstance(progress("training"), nullcontext)
    assert capsys.readouterr() == ("", "")
