"""A shadow replays cases on another model; it buys nothing and never gets in the way."""

from __future__ import annotations

import threading

import pytest
from paced_points import chain_points
from scripted import NAMES, chain_predictor, each

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.model import Forest
from thrifty.serve import Case, Runtime, Shadow
from thrifty.serve import shadow as module

POINTS = chain_points()


def served(predictor, shadow, n=1, **case):
    """Serve some cases whose values are all 1.0; return the receipts and the source."""
    source = each("lab", *NAMES)
    with Runtime(predictor, [source], shadow=shadow) as runtime:
        receipts = [runtime.answer(Case(**case)) for _ in range(n)]
    return receipts, source


def test_agreement_and_bills_are_counted():
    shadow = Shadow(POINTS.predictors[1])
    served(POINTS.predictors[2], shadow, n=3)
    found = shadow.metrics()
    assert (found["replayed"], found["agreed"], found["changed"]) == (3, 3, 0)
    assert (found["billed"], found["served_bill"]) == (3.0, 57.0)


def test_another_answer_is_counted():
    shadow = Shadow(POINTS.predictors[0].replace(model=Forest.constant([0.9, 0.1], "mean", 4)))
    served(POINTS.predictors[2], shadow)
    assert shadow.metrics()["changed"] == 1


def test_what_the_other_model_lacks_is_counted_and_not_bought():
    shadow = Shadow(POINTS.predictors[2])
    _, source = served(POINTS.predictors[1], shadow, n=2)
    found = shadow.metrics()
    assert (found["incomplete"], found["lacking"]) == (2, {"chol": 2})
    assert {query.features for query in source.asked} == {("age",)}


def test_known_values_are_free_for_the_other_model_too():
    shadow = Shadow(POINTS.predictors[1])
    served(POINTS.predictors[2], shadow, known={"age": 1.0})
    assert shadow.metrics()["billed"] == 0.0


def values(constant: float) -> Predictor:
    schema = Schema.of({name: [0.5] for name in NAMES})
    prices = Prices(dict.fromkeys(NAMES, 1.0)).bind(NAMES)
    return Predictor(Forest.constant([constant], "sum", n_features=4), schema, prices)


def test_values_are_compared_by_their_difference():
    shadow = Shadow(values(2.5))
    served(values(4.0), shadow)
    found = shadow.metrics()
    assert (found["changed"], found["difference"]) == (1, 1.5)
    shadow = Shadow(values(4.0))
    served(values(4.0), shadow)
    assert shadow.metrics()["agreed"] == 1


def test_a_shadow_that_fails_leaves_the_case_alone(monkeypatch):
    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr(module, "replay", fail)
    shadow = Shadow(chain_predictor())
    (receipt,), _ = served(chain_predictor(), shadow)
    assert receipt.answer == "ill" and shadow.metrics()["failed"] == 1


def test_cases_do_not_wait_for_a_slow_shadow(monkeypatch):
    go_on = threading.Event()

    def slow(*_):
        go_on.wait(10)
        raise RuntimeError

    monkeypatch.setattr(module, "replay", slow)
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    shadow = Shadow(chain_predictor())
    with Runtime(chain_predictor(), [each("lab", *NAMES)], shadow=shadow) as runtime:
        for _ in range(5):
            assert runtime.answer(Case()).answer == "ill"
        assert shadow.metrics()["dropped"] == 3
        go_on.set()
    assert shadow.metrics()["failed"] == 2


def test_a_closed_shadow_drops_what_comes_later():
    shadow = Shadow(chain_predictor())
    shadow.close()
    shadow.submit({}, {}, "ill", 0.0)
    assert shadow.metrics()["dropped"] == 1


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_shadow_may_be_any_point(index):
    shadow = Shadow(POINTS.predictors[index])
    served(POINTS.predictors[2], shadow)
    assert shadow.metrics()["billed"] == POINTS.bills[index]
