"""Work in the background, and requests at once."""

from __future__ import annotations

import asyncio

from scripted import NAMES, chain_predictor, each

from thrifty.serve.ledger.none import NoLedger
from thrifty.serve.runtime.catalog import Catalog
from thrifty.serve.runtime.shared import Shared


def shared_by(source):
    predictor = chain_predictor()
    return Shared(predictor, "m", Catalog(predictor, [source], ()), NoLedger(), {}, 1.0, False)


def test_work_that_fails_is_forgotten_and_not_reported_by_the_loop():
    shared = shared_by(each("lab", *NAMES))
    reported = []

    async def fail():
        raise ValueError

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda *facts: reported.append(facts))
        task = shared.start(fail())
        assert shared.tasks == {task}
        await asyncio.wait({task})
        del task
        await asyncio.sleep(0)

    asyncio.run(run())
    assert not shared.tasks and not reported


def test_a_source_has_one_semaphore():
    shared = shared_by(each("lab", *NAMES, at_once=3))
    first, second = (shared.catalog.by_feature[name] for name in NAMES[:2])
    assert shared.turn(first) is shared.turn(second)
    assert shared.turn(first)._value == 3
