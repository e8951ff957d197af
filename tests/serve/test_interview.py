"""An interview: typed values, current prices, known and skipped features, stopping."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty import DataError, GreedyMiserClassifier
from thrifty.bundle import Column
from thrifty.serve import Interview
from thrifty.serve.interview import read_value


def finish(interview: Interview, row) -> None:
    while question := interview.question:
        interview.tell(str(row[question.feature]))


def test_an_interview_ends_where_the_batch_ends(predictor, table) -> None:
    for row in range(0, 300, 41):
        interview = Interview(predictor)
        finish(interview, table.iloc[row])
        one = table.iloc[[row]]
        assert interview.best == predictor.predict(one)[0]
        assert interview.probability == predictor.predict_proba(one)[0].max()
        assert interview.receipt.total == predictor.bill(one)[0]
        assert interview.done and interview.others == ()


def test_a_question_has_the_current_price(predictor) -> None:
    interview = Interview(predictor)
    prices = {q.feature: q.price for q in (interview.question, *interview.others)}
    assert prices["chol"] == 7.0
    interview.tell("0.1", "chol")
    later = {q.feature: q.price for q in (interview.question, *interview.others)}
    assert later.get("fbs", 3.0) == 3.0


def test_the_question_for_a_category_lists_its_labels(predictor) -> None:
    interview = Interview(predictor, ["age=0", "chol=0", "fbs=0"])
    assert interview.question.labels == ("female", "male")


def test_a_known_value_is_free_whenever_it_is_entered(predictor, table) -> None:
    row = table.iloc[0]
    early = Interview(predictor, [f"chol={row['chol']}"])
    finish(early, row)
    late = Interview(predictor)
    while question := late.question:
        if question.feature == "chol":
            late.know(str(row["chol"]))
        else:
            late.tell(str(row[question.feature]))
    assert early.receipt.total == late.receipt.total
    assert early.best == late.best
    assert {p.feature: p.why for p in late.receipt.purchases}["chol"] == "known"


def test_a_known_value_keeps_the_earlier_steps(predictor) -> None:
    interview = Interview(predictor)
    first = interview.question.feature
    interview.skip()
    second = interview.question.feature
    interview.tell("male" if second == "sex" else "0.3")
    third = interview.question.feature
    interview.know("male" if third == "sex" else "0.3")
    why = {p.feature: p.why for p in interview.receipt.purchases}
    assert (why[first], why[second], why[third]) == ("skipped", "asked", "known")


def test_a_bad_value_changes_nothing(predictor) -> None:
    interview = Interview(predictor)
    before = interview.question
    bad = "neither" if before.labels else "abc"
    for act in (interview.tell, interview.know):
        with pytest.raises(DataError, match=bad):
            act(bad)
    assert interview.question == before
    assert interview.receipt.total == 0


def test_stopping_gives_the_best_so_far(predictor) -> None:
    interview = Interview(predictor)
    best = interview.best
    interview.stop()
    assert interview.done and interview.question is None
    assert interview.best == best
    assert interview.receipt.stopped == "stopped"
    with pytest.raises(DataError, match="nothing left to ask"):
        interview.tell("1")


def test_an_unknown_feature_is_reported_with_a_suggestion(predictor) -> None:
    with pytest.raises(DataError, match="did you mean 'chol'"):
        Interview(predictor, ["cohl=1"])


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("chol=3", ("3", "chol")),
        ("sex=a=b", ("a=b", "sex")),
        ("'a=b'", ("'a=b'", None)),
        ("3", ("3", None)),
    ],
)
def test_a_pair_is_split_after_the_name_of_a_feature(predictor, text, pair) -> None:
    assert Interview(predictor).pair(text) == pair


def test_a_pair_of_no_feature_is_reported_with_what_is_meant_or_wanted(predictor) -> None:
    interview = Interview(predictor)
    with pytest.raises(DataError, match="there is no feature 'cohl'; did you mean 'chol'?"):
        interview.pair("cohl=1")
    with pytest.raises(DataError, match="there is no feature 'bogus'; wanted now: fbs, chol$"):
        interview.pair("bogus = 1")


def test_a_label_with_an_equals_sign_is_a_value() -> None:
    model = GreedyMiserClassifier(n_estimators=5)
    table = pd.DataFrame({"size": ["x=1", "x=2"] * 40})
    model.fit(table, np.arange(80) % 2)
    assert Interview(model.predictor_).pair("x=1") == ("x=1", None)


def test_an_interview_says_why_and_how_sure_it_is(predictor) -> None:
    interview = Interview(predictor)
    assert interview.why.features == (interview.question.feature,)
    assert interview.interval is None  # this model has no evidence
    assert interview.probability == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize(
    ("categories", "text", "value"),
    [
        (None, "63", 63.0),
        (None, " -1.5e2 ", -150.0),
        (None, "true", 1.0),
        (None, "?", None),
        (("f", "m"), "m", "m"),
        (("f", "m"), "M", "m"),
        (("stop", "?"), "'?'", "?"),
        (("stop", "go"), '"stop"', "stop"),
        ((1, 2, 3), "2", 2),
        ((1, 2, 3), "2.0", 2),
        ((0.5, 1.5), "1.50", 1.5),
        ((False, True), "true", True),
        (("1", "01"), "01", "01"),
        (("a", "b"), "?", None),
    ],
)
def test_text_is_read_according_to_its_column(categories, text, value) -> None:
    read = read_value(Column("x", categories), text)
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize(
    ("categories", "text", "words"),
    [
        (None, "abc", "'abc' is not a number"),
        (None, "", "'' is not a number"),
        (None, "1,5", "decimal point"),
        (None, "inf", "not a finite number"),
        (None, "nan", "not a finite number"),
        (("f", "m"), "x", "'x' is not one of 'f', 'm'"),
        (("female", "male"), "femal", "did you mean 'female'"),
        (tuple(map(str, range(20))), "x", "and 8 more"),
    ],
)
def test_text_that_is_not_a_value_is_refused(categories, text, words) -> None:
    with pytest.raises(DataError, match=words):
        read_value(Column("x", categories), text)


def test_a_label_that_is_not_listed_is_the_category_for_all_others():
    column = Column("city", ("bonn", "ulm", "(other)"), "(other)")
    assert [read_value(column, text) for text in ("Ulm", "Kiel")] == ["ulm", "(other)"]


def test_a_value_beyond_the_training_rows_is_remarked_on(predictor, table) -> None:
    low, high = table["age"].min(), table["age"].max()
    interview = Interview(predictor, [f"age={high + 9}", "sex=male"])
    (remark,) = interview.remarks
    assert remark == (
        f"age: {high + 9:g} is outside the range of the training rows, {low:g} to {high:g}"
    )
    interview.tell("?", "chol")
    interview.know(str(table["fbs"].max()), "fbs")
    assert len(interview.remarks) == 1
    interview.know(str(table["fbs"].min() - 0.1), "fbs")
    assert interview.remarks[1].startswith("fbs: ")


@pytest.mark.parametrize("ranges", [None, 3, [], [[0.0]], [["a", "b"]], [None], {"age": [0, 1]}])
def test_ranges_of_a_file_that_are_none_are_ignored(predictor, ranges) -> None:
    odd = predictor.replace(provenance={"ranges": ranges})
    assert Interview(odd, ["age=1e9"]).remarks == ()
