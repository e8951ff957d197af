"""Sources return what is asked for and no more; a failure names the feature."""

from __future__ import annotations

import pandas as pd
import pytest

from thrifty.errors import SourceError
from thrifty.serve import CallSource, RowSource, Source
from thrifty.serve.sources import fetch


class Panel:
    """A laboratory that always returns its whole panel."""

    def fetch(self, features):
        return {"chol": 1.0, "fbs": 2.0}


class Broken:
    def fetch(self, features):
        raise TimeoutError("no answer")


def test_both_sources_are_sources() -> None:
    assert isinstance(RowSource({}), Source)
    assert isinstance(CallSource(len), Source)
    assert not isinstance({}, Source)


def test_a_row_returns_what_is_asked_for() -> None:
    assert fetch(RowSource({"age": 3, "chol": 4}), ("age",)) == {"age": 3}
    assert fetch(RowSource(pd.Series({"age": 3, "chol": 4})), ("chol",)) == {"chol": 4}


def test_a_missing_value_is_a_value() -> None:
    assert fetch(RowSource({"age": None}), ("age",)) == {"age": None}


def test_one_function_or_one_per_feature_is_called() -> None:
    called = []
    assert fetch(CallSource(lambda name: called.append(name)), ("a", "b")) == {"a": None, "b": None}
    assert called == ["a", "b"]
    assert fetch(CallSource({"a": lambda: 1, "b": lambda: 2}), ("b",)) == {"b": 2}


def test_what_was_not_asked_for_is_ignored() -> None:
    assert fetch(Panel(), ("chol",)) == {"chol": 1.0}


@pytest.mark.parametrize("source", [RowSource({"a": 1}), CallSource({"a": lambda: 1})])
def test_features_that_are_left_out_are_named(source) -> None:
    with pytest.raises(SourceError, match="features 'b', 'c': no value from the source"):
        fetch(source, ("a", "b", "c"))


def test_a_call_that_fails_is_named_and_its_cause_is_kept() -> None:
    def call(name):
        return {"a": 1}[name]

    with pytest.raises(SourceError, match=r"^feature 'b': fetching failed \(KeyError") as caught:
        fetch(CallSource(call), ("a", "b"))
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_source_that_fails_is_reported_with_the_features_wanted() -> None:
    with pytest.raises(SourceError, match="features 'a', 'b'.*no answer") as caught:
        fetch(Broken(), ("a", "b"))
    assert isinstance(caught.value.__cause__, TimeoutError)


def test_a_source_that_returns_no_mapping_has_failed() -> None:
    class Odd:
        def fetch(self, features):
            return 3

    with pytest.raises(SourceError, match="feature 'a'"):
        fetch(Odd(), ("a",))
