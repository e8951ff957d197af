"""Printing: tables, the results of a fit, and progress."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from thrifty.cli.console import (
    echo,
    progress,
    show_fit,
    show_frontier,
    show_json,
    show_table,
    show_text,
)


def result(bill, quality, **more) -> dict:
    return {"bill": bill, "bill_low": bill, "bill_high": bill + 1.0, "quality": quality,
            "quality_low": quality - 0.05, "quality_high": quality + 0.05, **more}  # fmt: skip


def point(bill, quality, **more) -> dict:
    return {"learner": "greedy-miser", "knob": {"penalty": 0.0123456, "trees": 7}, "bill": bill,
            "quality": quality, "quality_interval": [quality - 0.1, quality + 0.1], "features": 3,
            "chosen": False, "dominated": False, **more}  # fmt: skip


def facts(**changes) -> dict:
    """The part of `fit_facts` that is printed."""
    test = result(8.5, 0.85)
    return {
        "settings": {"task": "classification", "inferred": False, "features": 4, "full": 10.0,
                     "unit": "CAD", "metric": "accuracy", "quality": None,
                     "rows": {"train": 60, "validation": 20, "test": 20}, "cross_fitted": False},
        "chosen": {"learner": "greedy-miser", "test": test, "validation": point(8.75, 0.9)},
        "test": test,
        "alternative": None,
        "total": None,
        "baselines": [result(10.0, 0.875, name="plain forest on all features")],
        "constant": result(0.0, 0.5, name="constant"),
        "frontier": [point(0.0, 0.5, features=0), point(8.75, 0.9, chosen=True)],
        "learners": [{"learner": "greedy-miser", "outcome": "ran"},
                     {"learner": "ladder", "outcome": "no time left"}],
        "remarks": [],
        "comparison": "CAD 8.50 per example.",
        **changes,
    }  # fmt: skip


def printed(capsys) -> list[str]:
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_a_fit_is_printed_with_intervals_frontier_and_comparison(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    show_fit(facts())
    lines = printed(capsys)
    assert lines[0] == (
        "classification: 4 features, CAD 10.00 for all; 60 training rows, 20 validation rows, "
        "20 test rows"
    )
    assert "chosen: greedy-miser 8.50 [8.50, 9.50] 85.0% [80.0, 90.0] 15.0%" in lines
    assert "plain forest on all features 10.00 [10.00, 11.00] 87.5% [82.5, 92.5] 0.0%" in lines
    assert "greedy-miser * penalty 0.01235, trees 7 8.75 90.0% [80.0, 100.0] 3" in lines
    assert "ladder did not run: no time left" in lines
    assert lines[-1] == "On the test set: CAD 8.50 per example."


def test_the_constant_is_shown_on_both_sets(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    show_fit(facts())
    lines = printed(capsys)
    assert "constant, buys nothing 0.00 [0.00, 1.00] 50.0% [45.0, 55.0] 100.0%" in lines
    assert "greedy-miser constant, buys nothing 0.00 50.0% [40.0, 60.0] 0" in lines


def test_remarks_come_first(capsys) -> None:
    show_fit(facts(remarks=["The model is a constant.", "A baseline is better."]))
    assert printed(capsys)[:2] == ["The model is a constant.", "A baseline is better."]


def test_free_features_have_no_saving(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    show_fit(facts(settings={**facts()["settings"], "full": 0.0}))
    assert "plain forest on all features 10.00 [10.00, 11.00] 87.5% [82.5, 92.5] -" in printed(
        capsys
    )


def test_a_point_that_another_beats_as_printed_is_not_listed(capsys, monkeypatch) -> None:
    points = [point(2.111, 0.9469), point(2.112, 0.9471), point(4.38, 0.9469), point(5.0, 0.96)]
    monkeypatch.setenv("COLUMNS", "120")
    show_frontier(points, "accuracy", "min")
    listed = [line for line in printed(capsys) if line.startswith("greedy-miser")]
    assert [line.split()[5:7] for line in listed] == [["2.11", "94.7%"], ["5.00", "96.0%"]]


def test_of_many_points_the_ends_the_chosen_one_and_some_others_are_listed(
    capsys, monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    points = [point(1.0 + i, 0.5 + i / 100, chosen=i == 17) for i in range(40)]
    show_frontier(points, "accuracy", "min")
    lines = printed(capsys)
    listed = [line for line in lines if line.startswith("greedy-miser")]
    assert 12 <= len(listed) <= 13
    assert listed[0].split()[-4] == "50.0%" and listed[-1].split()[-4] == "89.0%"
    assert sum("*" in line for line in listed) == 1
    assert f"{40 - len(listed)} models in between are not shown; --json lists all." in lines
    show_frontier(points[:12], "accuracy", "min")
    assert len([line for line in printed(capsys) if line.startswith("greedy-miser")]) == 12


@pytest.mark.parametrize(
    ("quality", "tied", "alternative", "why"),
    [
        (None, False, None, "judged by labels and probabilities together"),
        (None, True, None, "ahead of all cheaper ones by less than the digits show"),
        (None, False, point(4.42, 0.8315), "the strongest, as the budget excludes nothing"),
        (0.8, False, None, "shown to be good enough"),
    ],
)
def test_a_chosen_point_that_is_beaten_is_mentioned_apart(
    capsys, quality, tied, alternative, why
) -> None:
    beaten = point(15.08, 0.83, chosen=True, dominated=True, tied=tied)
    best = point(4.42, 0.8315)
    settings = {**facts()["settings"], "quality": quality}
    chosen = {"learner": "ladder", "validation": beaten, "test": result(15.0, 0.8)}
    given = {"settings": settings, "chosen": chosen, "alternative": alternative}
    show_fit(facts(**given, frontier=[best, beaten]))
    text = " ".join(printed(capsys))
    assert "The chosen model is not on this frontier, but" in text and why in text
    assert "ladder, mean bill CAD 15.08, accuracy 83.0%" in text
    assert "greedy-miser *" not in text


def test_the_unit_is_in_the_heading_of_a_frontier(capsys) -> None:
    show_frontier(facts()["frontier"], "r2", "ms")
    show_frontier(facts()["frontier"], "r2", "")
    text = capsys.readouterr().out
    assert text.count("(ms)") == 1 and text.count("mean bill") == 2


def test_brackets_in_a_table_are_not_markup(capsys) -> None:
    show_table(["name", "n"], [["[red]age[/red]", "1"]])
    assert "[red]age[/red]" in capsys.readouterr().out


def test_sentences_are_broken_between_words_on_a_terminal(capsys, monkeypatch) -> None:
    sentence = "why: age, cp together (CAD 2.00): expected to cut the risk of a wrong answer"
    show_text(sentence, "  ")
    assert capsys.readouterr().out == f"  {sentence}\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    show_text(sentence, "  ")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40 and all(line.startswith("  ") for line in lines)
    assert " ".join(" ".join(lines).split()) == sentence


def test_json_holds_no_nan() -> None:
    with pytest.raises(ValueError):
        show_json({"bill": float("nan")})


def test_progress_is_silent_without_a_terminal(capsys) -> None:
    with progress("training") as status:
        assert status is None
    assert isinstance(progress("training"), nullcontext)
    assert capsys.readouterr() == ("", "")


def test_what_a_terminal_would_act_on_is_escaped(capsys) -> None:
    echo("one\ntwo\x1b[31m\u202e")
    show_table(["name\n(\x1b)"], [["a\x1b[1m\nb"]])
    out = capsys.readouterr().out
    assert out.startswith("one\ntwo\\x1b[31m\\u202e\n")
    assert "(\\x1b)" in out and "a\\x1b[1m\\nb" in out
