"""The client against a server in a process of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from thrifty.client import Client, RequestError

TOKEN = "token-of-the-tests"


@pytest.fixture
def client(url) -> Iterator[Client]:
    with Client(url, TOKEN) as opened:
        yield opened


def test_rows_are_predicted_with_their_bills(client, predictor, table) -> None:
    rows = table.head(20)
    found = client.predict(rows.to_dict(orient="records"))
    assert [each.answer for each in found] == list(predictor.predict(rows))
    assert [each.bill for each in found] == predictor.bill(rows).tolist()


def test_an_example_is_led_without_a_case(client, predictor, table, patient) -> None:
    told: dict = {}
    step = client.next()
    while not step.done:
        told |= {ask.feature: patient[ask.feature] for ask in step.asks}
        step = client.next(told=told)
    assert step.best == predictor.predict(table.iloc[[3]])[0]
    assert step.spent == predictor.bill(table.iloc[[3]])[0]
    assert client.next(known=patient).spent == 0.0
    assert client.next(skipped=list(patient)).done


def test_the_model_is_described(client, predictor) -> None:
    model = client.model()
    assert (model.name, model.unit) == ("heart", "CAD")
    assert [each.feature for each in model.features] == list(predictor.schema.names)


def test_a_case_is_led_to_its_answer(client, predictor, table, patient) -> None:
    case = client.case(context={"patient": "p3"})
    while case.asks:
        case.tell({ask.feature: patient[ask.feature] for ask in case.asks})
    assert case.done
    assert case.answer == predictor.predict(table.iloc[[3]])[0]
    assert case.spent == case.state.total == predictor.bill(table.iloc[[3]])[0]


def test_what_is_at_hand_is_free(client, patient) -> None:
    case = client.case(context={"patient": "p3"})
    asked = {ask.feature: patient[ask.feature] for ask in case.asks}
    before = case.spent
    case.know(asked)
    assert case.spent - before <= sum(c.paid for c in case.state.charges if c.source == "records")
    assert {c.paid for c in case.state.charges if c.source == "client"} <= {0.0}


def test_a_feature_is_skipped_and_a_step_taken_back(client) -> None:
    case = client.case(context={"patient": "p3"})
    first = [ask.feature for ask in case.asks]
    case.skip(*first)
    assert set(first) <= set(case.state.skipped)
    case.back()
    assert [ask.feature for ask in case.asks] == first


def test_a_case_is_stopped_and_found_again(client) -> None:
    case = client.case("visit-1", context={"patient": "p3"}, cap=30.0)
    assert case.state.left == 30.0 - case.spent
    assert case.handle in [each.case for each in client.open_cases(limit=1000)]
    case.stop()
    assert case.done
    found = client.find_case(case.handle)
    assert (found.done, found.answer) == (True, case.answer)
    assert case.handle not in [each.case for each in client.open_cases(limit=1000)]


def test_another_client_leads_the_same_case(client, url, patient) -> None:
    case = client.case("visit-2", context={"patient": "p3"})
    with Client(url, TOKEN) as other:
        same = other.case("visit-2")
        same.tell({ask.feature: patient[ask.feature] for ask in same.asks})
    assert case.handle == same.handle
    case.refresh()
    assert case.state.asks == same.state.asks
    assert case.spent == same.spent > 0


def test_a_refusal_has_title_status_and_detail(client) -> None:
    with pytest.raises(RequestError, match=r"\(422\).*no feature 'ages'") as caught:
        client.next(told={"ages": 3})
    assert (caught.value.status, caught.value.title) == (422, "The values cannot be used")
    with pytest.raises(RequestError) as missing:
        client.find_case("nobody")
    assert missing.value.status == 404
    ended = client.case(context={"patient": "p3"})
    ended.stop()
    with pytest.raises(RequestError) as conflict:
        ended.tell({"age": 3})
    assert conflict.value.status == 409


def test_a_token_is_needed_and_never_shown(url, monkeypatch) -> None:
    monkeypatch.delenv("THRIFTY_TOKEN", raising=False)
    with Client(url) as client, pytest.raises(RequestError) as caught:
        client.model()
    assert caught.value.status == 401
    monkeypatch.setenv("THRIFTY_TOKEN", TOKEN)
    with Client(url) as client:
        assert client.model().name == "heart"
        assert TOKEN not in repr(client) + repr(vars(client))


def test_a_server_that_is_not_there_gives_no_answer() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(RequestError) as caught:
        client.model()
    assert (caught.value.status, caught.value.title) == (None, "No answer")


def test_several_threads_use_one_client(client, patient) -> None:
    found = []

    def ask() -> None:
        found.append(client.next(known=patient).best)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1
