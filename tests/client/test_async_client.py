"""The client for event loops, against a server in this process and one of its own."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from thrifty.client import AsyncClient, RequestError
from thrifty.serve import Ledger, Runtime
from thrifty.web import create_app

TOKEN = "token-of-the-tests"


@pytest.fixture
def run(predictor):
    """Run a function with a client of a server in this process, whose cases ask for everything."""

    def call(work):
        async def lead():
            with Ledger.temporary() as ledger:
                runtime = Runtime(predictor, [], ledger, asked=predictor.schema.names)
                server = httpx2.ASGITransport(create_app(predictor, "heart", runtime=runtime))
                async with AsyncClient("http://localhost", transport=server) as client:
                    return await work(client)

        return asyncio.run(lead())

    return call


def test_a_case_is_led_to_its_answer(run, predictor, table, patient) -> None:
    async def lead(client):
        case = await client.case()
        while case.asks:
            await case.tell({ask.feature: patient[ask.feature] for ask in case.asks})
        return case

    case = run(lead)
    assert case.done
    assert case.answer == predictor.predict(table.iloc[[3]])[0]
    assert case.spent == predictor.bill(table.iloc[[3]])[0]


def test_a_case_takes_every_step(run, patient) -> None:
    async def lead(client):
        case = await client.case("visit-1", cap=50.0)
        first = case.asks[0].feature
        await case.know({first: patient[first]})
        assert case.spent == 0.0
        skipped = case.asks[0].feature
        await case.skip(skipped)
        assert skipped in case.state.skipped
        await case.back()
        assert case.asks[0].feature == skipped
        (listed,) = await client.open_cases()
        assert listed.case == case.handle
        await case.stop()
        again = await client.find_case(case.handle)
        await again.refresh()
        return case.state, again.state

    ended, found = run(lead)
    assert ended.done and found.done
    assert ended.answer == found.answer


def test_rows_steps_and_the_model_are_asked_for(run, predictor, table) -> None:
    async def ask(client):
        rows = table.head(5).to_dict(orient="records")
        return await client.predict(rows), await client.next(), await client.model()

    predictions, step, model = run(ask)
    assert [each.answer for each in predictions] == list(predictor.predict(table.head(5)))
    assert not step.done
    assert model.name == "heart"


def test_many_cases_are_led_at_once_over_sockets(url, predictor, table) -> None:
    async def lead_all():
        async with AsyncClient(url, TOKEN) as client:

            async def lead(i):
                row = table.iloc[i]
                case = await client.case(context={"patient": f"p{i}"})
                while case.asks:
                    await case.tell({ask.feature: row[ask.feature] for ask in case.asks})
                return case.answer, case.spent

            return await asyncio.gather(*(lead(i) for i in range(12)))

    rows = table.head(12)
    expected = list(zip(predictor.predict(rows), predictor.bill(rows), strict=True))
    assert asyncio.run(lead_all()) == expected


def test_errors_are_those_of_the_other_client(run) -> None:
    async def fail(client):
        with pytest.raises(RequestError) as caught:
            await client.next(told={"ages": 1})
        return caught.value.status

    assert run(fail) == 422

    async def nobody():
        async with AsyncClient("http://127.0.0.1:9", TOKEN) as client:
            assert TOKEN not in repr(client)
            with pytest.raises(RequestError, match="No answer"):
                await client.model()

    asyncio.run(nobody())
