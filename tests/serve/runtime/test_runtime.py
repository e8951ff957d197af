"""The runtime: its faces, its loops, and its end."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest
from scripted import NAMES, each

from thrifty import Call, GatedClassifier, GreedyMiserClassifier
from thrifty.errors import DataError, LedgerError
from thrifty.serve import Case, FunctionSource, Runtime, connect


def test_the_face_without_an_event_loop_serves_many_threads(chain, ledger):
    source = each("lab", *NAMES)
    with Runtime(chain, [source], ledger) as runtime:
        answers = []
        threads = [
            threading.Thread(target=lambda i=i: answers.append(runtime.answer(Case(f"{i % 2}"))))
            for i in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(answers) == 8 and {receipt.answer for receipt in answers} == {"ill"}
    assert len(source.asked) == 2 * len(NAMES) and source.closed


def test_a_runtime_serves_in_several_event_loops(chain):
    runtime = Runtime(chain, [each("lab", *NAMES, at_once=1)])
    for _ in range(2):
        assert asyncio.run(runtime.serve(Case())).answer == "ill"
    assert runtime.answer(Case()).answer == "ill"
    runtime.close()
    runtime.close()


def test_a_runtime_that_was_never_used_can_be_closed(chain):
    Runtime(chain, [each("lab", *NAMES)]).close()


def test_closing_waits_for_purchases_under_way(chain, ledger, still_clock):
    release = threading.Event()

    async def slow(query):
        still_clock.now += 0.1
        await asyncio.to_thread(release.wait)
        return 1.0

    late = FunctionSource("late", slow, ["age"], timeout=0.01)
    with Runtime(chain, [late, each("rest", *NAMES[1:])], ledger) as runtime:
        receipt = runtime.answer(Case("a"))
        assert receipt.skipped == ("age",) and runtime.open_purchases == 1
        threading.Timer(0.05, release.set).start()  # while it closes
    assert not ledger.open_purchases()
    states = {entry.item: entry.state for _, entries in ledger.cases() for entry in entries}
    assert states["late/age"] == "settled"


def test_a_ledger_that_fails_on_closing_says_so_and_sources_are_closed(chain, ledger):
    source = each("lab", *NAMES)
    runtime = Runtime(chain, [source], ledger)
    runtime.answer(Case("a"))
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        runtime.close()
    assert source.closed


def test_a_blocking_function_that_hangs_does_not_keep_a_case(chain):
    release = threading.Event()
    hanging = FunctionSource("hang", lambda query: release.wait(), ["age"], timeout=0.05)
    runtime = Runtime(chain, [hanging, each("rest", *NAMES[1:])], linger=0.05)
    receipt = asyncio.run(runtime.serve(Case(deadline=60.0)))
    release.set()
    assert receipt.skipped == ("age",) and receipt.stopped == "complete"


def test_the_digest_is_that_of_the_model(chain):
    one, other = Runtime(chain, [each("lab", *NAMES)]), Runtime(chain, [each("b", *NAMES)])
    assert one.model == other.model and len(one.model) == 64
    assert repr(one) == "Runtime(Predictor(forest, 4 features, 2 classes), 1 sources)"


def test_an_impossible_linger_is_refused(chain):
    with pytest.raises(DataError, match="linger: -1"):
        Runtime(chain, [each("lab", *NAMES)], linger=-1)


def test_reasons_are_on_the_receipt_if_wanted(chain):
    for reasons in (False, True):
        runtime = Runtime(chain, [each("lab", *NAMES)], reasons=reasons)
        receipt = asyncio.run(runtime.serve(Case()))
        assert all((p.reason is not None) is reasons for p in receipt.purchases)


# --- the calls of a gate are purchases


@pytest.fixture(scope="module")
def gate():
    X = np.random.default_rng(0).uniform(-1, 1, size=(400, 3))
    y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] * X[:, 2] > 0)
    remote = GreedyMiserClassifier(random_state=0).fit(X, y)
    call = Call("remote", 5.0, needs=[0, 1, 2], fn=remote.predict_proba)
    model = GatedClassifier(call, share=0.5, penalty=0.01, random_state=0).fit(X, y)
    return model, remote, X


def test_a_call_of_an_expensive_model_is_bought_once(gate, ledger):
    model, remote, X = gate
    predictor = connect(model.predictor_, remote.predictor_)
    bills = model.bill(X)
    row = X[int(np.argmax(bills))].tolist()
    source = FunctionSource("row", lambda query: dict(enumerate(row)), [0, 1, 2])
    with Runtime(predictor, [source], ledger) as runtime:
        receipts = [runtime.answer(Case("a")) for _ in range(2)]
    for receipt in receipts:
        assert receipt.answer == model.predict([row])[0]
        assert receipt.total == model.bill([row])[0] == bills.max()
        assert receipt.spent == pytest.approx(receipt.total)
    charge = {charge.item: charge for charge in receipts[0].charges}["remote"]
    assert (charge.outcome, charge.paid) == ("delivered", 5.0)
    assert runtime.answer(Case(cap=5.5)).spent <= 5.5
    runtime.close()


def test_a_call_that_fails_leaves_the_local_answer(gate):
    model, _, X = gate
    predictor = connect(model.predictor_, "http://127.0.0.1:1/")
    row = X[int(np.argmax(model.bill(X)))].tolist()
    source = FunctionSource("row", lambda query: dict(enumerate(row)), [0, 1, 2])
    with Runtime(predictor, [source]) as runtime:
        receipt = runtime.answer(Case())
    charge = {charge.item: charge for charge in receipt.charges}["remote"]
    assert (charge.outcome, charge.paid) == ("failed", 0.0)
    assert receipt.answer in (False, True)
