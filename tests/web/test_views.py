"""Figures in words."""

from __future__ import annotations

import pytest

from thrifty import Prices
from thrifty.bundle import Predictor, Purchase, Schema
from thrifty.model import Forest
from thrifty.serve import CaseReceipt, Charge
from thrifty.web.views import (
    about_model,
    answer_lines,
    charge_lines,
    cost_and_quality,
    ended_words,
    has_client_step,
    pace_words,
    purpose_words,
    spending,
    standing_of,
)


def receipt(**parts) -> CaseReceipt:
    return CaseReceipt(**{"purchases": (), "evaluation": 0.0, "total": 0.0, "unit": "EUR", **parts})


def test_a_probability_comes_with_its_interval():
    now = standing_of(receipt(answer="yes", probability=0.78, interval=(0.7, 0.84)))
    assert (now.answer, now.share, now.low, now.high) == ("yes", 0.78, 0.7, 0.84)
    assert now.words == (
        "Probability 78%. Of similar labeled examples, 70% to 84% were answered right "
        "(95% interval)."
    )


@pytest.mark.parametrize(
    ("share", "words"), [(0.9999, "over 99%"), (1.0, "100%"), (0.0001, "under 1%"), (0.0, "0%")]
)
def test_what_is_nearly_sure_is_not_called_certain(share, words):
    assert standing_of(receipt(answer=1, probability=share)).words == f"Probability {words}."


def test_a_value_has_no_bar():
    now = standing_of(receipt(answer=4.123456789, interval=(3.5, 5.25)))
    assert (now.answer, now.share) == ("4.12346", None)
    assert now.words == "95% of similar labeled examples were between 3.5 and 5.25."
    assert standing_of(receipt(answer=4.0)).words == ""


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"stopped": "cap", "reason": "cap of EUR 3.00 reached"}, "Cap of EUR 3.00 reached."),
        ({"stopped": "stopped"}, "Stopped on request: this was the best answer so far."),
        ({"stopped": "sure"}, "Sure."),
        ({}, "Not done yet."),
    ],
)  # fmt: skip
def test_why_a_case_ended_is_a_sentence(parts, words):
    assert ended_words(receipt(**parts)) == words


def test_the_lines_of_a_receipt_say_what_was_paid():
    purchases = (
        Purchase("age", 63.0, 1.0, "asked"),
        Purchase("sex", None, 2.0, "required"),
        Purchase("chol", "high", 0.0, "known"),
        Purchase("thal", None, 0.0, "skipped"),
    )
    lines = answer_lines(receipt(purchases=purchases, unread=("fbs",)))
    assert [(line.feature, line.value, line.price) for line in lines] == [
        ("age", "63", "EUR 1.00"),
        ("sex", "came back empty", "EUR 2.00"),
        ("chol", "high", "free"),
        ("thal", "not possible", "free"),
        ("fbs", "answered", "not used"),
    ]


def test_charges_say_where_they_come_from():
    charges = (
        Charge("client/age", "client", ("age",), "delivered", 1.0),
        Charge("bureau", "bureau", ("a", "b"), "assumed", 3.0),
        Charge("gone", "gone", (), "open", 2.0),
    )
    lines = [*charge_lines(receipt(charges=charges))]
    assert [(line.feature, line.value, line.price) for line in lines] == [
        ("age", "delivered, entered by hand", "EUR 1.00"),
        ("a, b", "unclear: counts as paid, source bureau", "EUR 3.00"),
        ("gone", "under way: counts as paid, source gone", "EUR 2.00"),
    ]


def test_a_step_of_a_person_can_be_taken_back():
    assert not has_client_step(receipt(charges=(Charge("lab", "lab", (), "delivered", 1.0),)))
    assert has_client_step(receipt(charges=(Charge("client/a", "client", (), "known", 0.0),)))
    assert has_client_step(receipt(stopped="stopped"))
    answered = (Charge("client/a", "client", (), "known", 0.0),)
    assert not has_client_step(receipt(charges=answered, stopped="expired"))


def test_spending_beyond_a_limit_leaves_nothing():
    found = spending(12.0, 10.0, "EUR", "the cap", "No cap.")
    assert (found.share, found.words) == (1.0, "EUR 0.00 left of the cap of EUR 10.00.")
    assert spending(0.0, 0.0, "EUR", "the cap", "No cap.").share == 1.0
    assert spending(1.0, None, "EUR", "the cap", "No cap.").words == "No cap."


@pytest.mark.parametrize(
    ("n_cases", "words"),
    [
        (0, "No case has ended yet; the budget is EUR 5.00."),
        (1, "EUR 4.00 per case on average so far (1 case); the budget is EUR 5.00."),
    ],
)
def test_the_pace_is_that_of_cases_that_have_ended(n_cases, words):
    pace = {"budget": 5.0, "mean_spent": 4.0, "cases": n_cases + 3, "open": 3}
    assert pace_words(pace, "EUR") == words


def test_a_model_says_what_it_predicts(predictor):
    assert purpose_words(predictor) == (
        "Predicts one of 2 classes: no, yes. It asks only for what a case needs. Prices are in CAD."
    )


@pytest.mark.parametrize(
    ("n_classes", "words"), [(0, "Predicts a number."), (9, "9 classes: 0, 1, 2, 3, 4, 5, ...")]
)
def test_a_model_may_have_no_classes_or_many(n_classes, words):
    model = Forest.constant([0.1] * max(n_classes, 1), "sum", n_features=1)
    classes = [*range(n_classes)] or None
    predictor = Predictor(model, Schema.of([[0.0]]), Prices([1.0]).bind(1), classes)
    assert words in purpose_words(predictor)


def test_a_model_says_what_a_case_may_cost(predictor):
    facts = dict(about_model(predictor))
    assert facts["Reads at most"] == f"{int(predictor.reads.sum())} features"
    assert facts["A case costs at most"].startswith("CAD ")


def test_cost_and_quality_are_those_on_held_out_rows(predictor):
    origin = {"metric": "accuracy", "held_out": {"bill": 3.22, "quality": 0.965}, "budget": 5}
    words = cost_and_quality(predictor.replace(provenance=origin))
    assert words == (
        "CAD 3.22 per case on average, accuracy 96.5%, on rows that it had not seen. It was chosen "
        "for a budget of CAD 5.00."
    )


@pytest.mark.parametrize("origin", [None, {}, {"held_out": 3}, {"held_out": {"bill": "x"}}])
def test_a_file_without_figures_is_not_quoted(predictor, origin):
    assert cost_and_quality(predictor.replace(provenance=origin)) == ""
