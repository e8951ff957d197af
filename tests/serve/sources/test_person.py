"""Questions that wait for a person."""

from __future__ import annotations

import asyncio

import pytest
from scripted import NAMES, chain_predictor, each

from thrifty.errors import DataError
from thrifty.serve import Case, NotFoundError, PersonSource, Query, Runtime


async def until_pending(source, n=1):
    while len(source.pending) < n:
        await asyncio.sleep(0.001)
    return source.pending


def test_a_question_waits_for_its_answer():
    source = PersonSource("nurse", ["age"])

    async def ask():
        query = Query(("age",), context={"who": "ann"}, key="k")
        waiting = asyncio.create_task(source.fetch(query))
        (question,) = await until_pending(source)
        assert (question.features, question.context) == (("age",), {"who": "ann"})
        assert "ann" not in repr(question)
        await asyncio.to_thread(source.answer, question.key, {"age": 63})
        return await waiting

    assert asyncio.run(ask()) == {"age": 63} and not source.pending


def test_a_question_may_be_declined():
    source = PersonSource("nurse", ["age"])

    async def ask():
        waiting = asyncio.create_task(source.fetch(Query(("age",), key="k")))
        await until_pending(source)
        source.decline("k")
        await waiting

    with pytest.raises(NotFoundError, match="declined"):
        asyncio.run(ask())


def test_a_question_is_put_once_however_many_ask():
    source = PersonSource("nurse", ["age"])

    async def ask():
        queries = [Query(("age",), key="k") for _ in range(3)]
        waiting = [asyncio.create_task(source.fetch(query)) for query in queries]
        await until_pending(source)
        waiting[0].cancel()
        await asyncio.sleep(0.01)
        assert len(source.pending) == 1
        source.answer("k", {"age": 1})
        return await asyncio.gather(*waiting[1:])

    assert asyncio.run(ask()) == [{"age": 1}] * 2


def test_a_question_that_nobody_waits_for_is_withdrawn():
    source = PersonSource("nurse", ["age"])

    async def ask():
        waiting = asyncio.create_task(source.fetch(Query(("age",), key="k")))
        await until_pending(source)
        waiting.cancel()
        await asyncio.sleep(0.01)

    asyncio.run(ask())
    assert not source.pending
    with pytest.raises(DataError, match="no such question waits"):
        source.answer("k", {"age": 1})


def test_an_answer_that_comes_as_the_asker_gives_up_is_dropped():
    source = PersonSource("nurse", ["age"])

    async def ask():
        waiting = asyncio.create_task(source.fetch(Query(("age",), key="k")))
        await until_pending(source)
        source.answer("k", {"age": 1})
        waiting.cancel()
        await asyncio.sleep(0.01)

    asyncio.run(ask())


def test_a_person_serves_a_case():
    source = PersonSource("nurse", ["age"])
    runtime = Runtime(chain_predictor(), [source, each("rest", *NAMES[1:])])

    async def run():
        case = asyncio.create_task(runtime.serve(Case("a")))
        (question,) = await until_pending(source)
        source.answer(question.key, {"age": -1.0})
        return await case

    receipt = asyncio.run(run())
    assert (receipt.answer, receipt.spent) == ("well", 1.0)
