"""A ledger grants every item once, keeps what was settled, and resolves what was abandoned."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from thrifty.errors import LedgerError
from thrifty.serve import Ledger
from thrifty.serve.ledger.records import Ending, Header, Intent, Settlement
from thrifty.serve.ledger.sqlite import SqliteStore

ENDING = Ending("complete", "complete: nothing was left to ask", '"ill"', "[]", 3.0, 5.0, "CAD")


def header_of(ledger, case="a", subject=None):
    return ledger.header(case, subject, "model", '[["age", 63]]')


def intend(ledger, *items, case="a", subject=None, limit=None, quoted=2.0, **options):
    intents = [Intent(item, quoted, **options) for item in items]
    return ledger.intend(header_of(ledger, case, subject), intents, limit).result()


def settle(ledger, grants, item, values='[["chol", 233]]', paid=2.0, state="settled", case="a"):
    header = header_of(ledger, case)
    settlement = Settlement(header.case, item, grants.mine[item], state, paid, "delivered", values)
    return ledger.settle([settlement], hurry=True).result(timeout=10) == [True]


def find(ledger, case="a", subject=None, max_age=0.0):
    return ledger.find(header_of(ledger, case, subject), max_age).result()


# --- buying once -------------------------------------------------------------


def test_an_item_is_granted_to_the_first_only(ledger):
    assert list(intend(ledger, "blood").mine) == ["blood"]
    second = intend(ledger, "blood")
    assert not second.mine and second.entries["blood"].state == "intent"


def test_two_processes_are_granted_an_item_once(open_ledger):
    grants = [intend(open_ledger(), "blood") for _ in range(2)]
    assert [len(each.mine) for each in grants] == [1, 0]


def test_requests_in_one_commit_are_granted_an_item_once(ledger):
    wishes = [ledger.intend(header_of(ledger), [Intent("blood", 2.0)]) for _ in range(16)]
    assert sum(len(wish.result().mine) for wish in wishes) == 1


def test_what_was_settled_is_not_granted_again_and_its_values_are_there(ledger):
    assert settle(ledger, intend(ledger, "blood"), "blood")
    again = intend(ledger, "blood")
    assert not again.mine
    assert again.entries["blood"].values == '[["chol", 233]]'
    assert again.entries["blood"].paid == 2.0


def test_cases_do_not_share_items(ledger):
    intend(ledger, "blood")
    assert intend(ledger, "blood", case="b").mine


def test_what_failed_free_of_charge_is_granted_again(ledger):
    settle(ledger, intend(ledger, "blood"), "blood", None, 0.0, "void")
    grants = intend(ledger, "blood")
    assert grants.mine and grants.entries["blood"].epoch == 1


def test_any_text_comes_back_as_it_was(ledger):
    text = json.dumps([['q"u\\o{t}e,', "NULL"], ["ø 🜚", "\x00"], ["", ""]], ensure_ascii=False)
    settle(ledger, intend(ledger, 'i"t\\e{m},'), 'i"t\\e{m},', text)
    assert find(ledger).entries['i"t\\e{m},'].values == text


def test_amounts_come_back_to_the_bit(ledger):
    grants = intend(ledger, "blood", quoted=0.1 + 0.2)
    settle(ledger, grants, "blood", paid=1 / 3)
    entry = find(ledger).entries["blood"]
    assert (entry.quoted, entry.paid) == (0.1 + 0.2, 1 / 3)


# --- the limit ---------------------------------------------------------------


def test_nothing_is_granted_beyond_the_limit_of_a_case(open_ledger):
    first, second = open_ledger(), open_ledger()
    settle(first, intend(first, "a", limit=5.0, quoted=3.0), "a", paid=3.0)
    over = intend(second, "b", limit=5.0, quoted=2.5)
    assert over.over and not over.mine and "b" not in find(first).entries
    assert intend(second, "b", limit=5.0, quoted=2.0).mine


def test_the_intents_of_a_round_are_granted_together_or_not_at_all(ledger):
    assert intend(ledger, "a", "b", limit=3.9).over
    assert not find(ledger).entries
    assert len(intend(ledger, "a", "b", limit=4.0).mine) == 2


def test_what_was_not_charged_frees_the_limit(ledger):
    settle(ledger, intend(ledger, "a", limit=2.0), "a", None, 0.0, "void")
    assert intend(ledger, "b", limit=2.0).mine


def test_open_purchases_count_against_the_limit(ledger):
    intend(ledger, "a", limit=3.0)
    assert intend(ledger, "b", limit=3.0).over


# --- abandoned purchases -----------------------------------------------------


def test_an_abandoned_purchase_is_assumed_to_be_paid(open_ledger, clock):
    dead, alive = open_ledger(), open_ledger()
    grants = intend(dead, "blood", lease=10.0)
    clock.now += 9.0
    assert intend(alive, "blood").entries["blood"].state == "intent"
    clock.now += 1.0
    again = intend(alive, "blood")
    entry = again.entries["blood"]
    assert not again.mine
    assert (entry.state, entry.paid, entry.values) == ("assumed", 2.0, None)
    assert not settle(dead, grants, "blood")  # too late: not acknowledged
    assert find(alive).entries["blood"].state == "assumed"


def test_an_abandoned_purchase_is_taken_over_if_that_charges_nothing(open_ledger, clock):
    dead, alive = open_ledger(), open_ledger()
    lost = intend(dead, "blood", lease=10.0)
    clock.now += 10.0
    grants = intend(alive, "blood", take_over=True)
    assert grants.mine and grants.entries["blood"].epoch == 1
    assert not settle(dead, lost, "blood")
    assert settle(alive, grants, "blood")


def test_abandoned_purchases_are_assumed_even_when_the_limit_is_reached(ledger, clock):
    intend(ledger, "a", lease=10.0)
    clock.now += 10.0
    grants = intend(ledger, "a", "b", limit=3.0)
    assert grants.over and grants.entries["a"].state == "assumed"
    assert find(ledger).entries["a"].state == "assumed"


def test_open_purchases_are_visible_and_recovered(open_ledger, clock):
    dead, alive = open_ledger(), open_ledger()
    intend(dead, "old", lease=10.0)
    clock.now += 5.0
    intend(dead, "new", lease=10.0)
    clock.now += 5.0
    assert [entry.item for entry in alive.open_purchases()] == ["old", "new"]
    assert [entry.item for entry in alive.recover()] == ["old"]
    assert [entry.item for entry in alive.open_purchases()] == ["new"]
    assert alive.recover() == []


def test_a_purchase_that_was_settled_meanwhile_is_not_assumed(ledger):
    grants = intend(ledger, "blood")
    (entry,) = ledger.open_purchases()
    settle(ledger, grants, "blood")
    assert not ledger.assume_paid(entry)


def test_a_settlement_that_is_sent_twice_holds_once(ledger):
    grants = intend(ledger, "blood")
    assert settle(ledger, grants, "blood") and settle(ledger, grants, "blood")


def test_waiting_ends_with_the_settlement_of_the_other(open_ledger):
    winner, loser = open_ledger(), open_ledger()
    grants = intend(winner, "blood")

    async def race():
        waiting = asyncio.create_task(loser.wait(header_of(loser).case, ["blood"]))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        await asyncio.to_thread(settle, winner, grants, "blood")
        return await asyncio.wait_for(waiting, 10)

    assert asyncio.run(race())["blood"].state == "settled"


# --- subjects ----------------------------------------------------------------


def test_values_of_the_same_subject_are_found_while_they_are_fresh(ledger, clock):
    for case, values in (("a", "[1]"), ("b", "[2]")):
        grants = intend(ledger, "blood", case=case, subject="ann")
        settle(ledger, grants, "blood", values, case=case)
        clock.now += 10.0
    assert find(ledger, "c", "ann", max_age=15.0).kept["blood"].values == "[2]"
    assert not find(ledger, "c", "ann", max_age=5.0).kept
    assert not find(ledger, "c", "bob", max_age=15.0).kept
    assert not find(ledger, "c", None, max_age=15.0).kept


# --- the end of a case, upkeep -----------------------------------------------


def test_the_end_of_a_case_is_recorded(ledger):
    intend(ledger, "blood")
    ledger.finish(header_of(ledger), ENDING).result()
    row = find(ledger).row
    assert row.ending == ENDING and row.header == header_of(ledger)


def test_a_case_that_bought_nothing_is_recorded_too(ledger):
    ledger.finish(header_of(ledger), ENDING).result()
    assert [(row.ending, entries) for row, entries in ledger.cases()] == [(ENDING, [])]


def test_all_cases_are_listed_with_their_purchases(ledger, clock, monkeypatch):
    monkeypatch.setattr("thrifty.serve.ledger.ledger.PAGE_SIZE", 2)
    for case in "abcde":
        intend(ledger, "x", "y", case=case)
        clock.now += case == "c"
    listed = list(ledger.cases())
    assert len({row.header.case for row, _ in listed}) == 5
    assert all([entry.item for entry in entries] == ["x", "y"] for _, entries in listed)
    assert [row.started_at for row, _ in listed] == sorted(row.started_at for row, _ in listed)


def test_old_values_are_erased_and_old_cases_deleted(ledger, clock):
    settle(ledger, intend(ledger, "blood"), "blood")
    ledger.finish(header_of(ledger), ENDING).result()
    clock.now += 86_400.0 * 2
    intend(ledger, "open", case="b")
    settle(ledger, intend(ledger, "new", case="c"), "new", case="c")
    assert ledger.retain(values_days=1.0) == (1, 0)
    entry = find(ledger).entries["blood"]
    assert (entry.values, entry.paid) == (None, 2.0)
    assert find(ledger).row.header.known is None
    assert ledger.retain(cases_days=1.0) == (0, 1)
    assert find(ledger).row is None and not find(ledger).entries
    clock.now += 86_400.0 * 2
    assert ledger.retain(cases_days=1.0) == (0, 1)  # not the one with an open purchase


def test_a_named_text_changes_only_for_who_has_read_it(ledger):
    assert ledger.state("pacer") is None
    assert ledger.swap_state("pacer", 0, "a") and not ledger.swap_state("pacer", 0, "b")
    assert ledger.swap_state("pacer", 1, "c") and not ledger.swap_state("pacer", 1, "d")
    assert ledger.state("pacer") == (2, "c")


# --- ids and keys ------------------------------------------------------------


def test_no_id_is_in_the_ledger(ledger):
    intend(ledger, "blood", case="application-17", subject="ann")
    stored = repr(list(ledger.cases()))
    assert "application-17" not in stored and "ann" not in stored


def test_another_key_is_refused(open_ledger, monkeypatch):
    open_ledger()
    monkeypatch.setenv("THRIFTY_LEDGER_KEY", "z" * 40)
    with pytest.raises(LedgerError, match="another key"):
        open_ledger()


def test_a_purchase_has_the_same_key_in_every_process(open_ledger):
    keys = {open_ledger().idempotency_key(Header("a"), "blood") for _ in range(2)}
    assert len(keys) == 1


# --- what goes wrong ---------------------------------------------------------


def test_a_closed_ledger_says_so(open_ledger):
    ledger = open_ledger()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        intend(ledger, "blood")
    with pytest.raises(LedgerError, match="closed"):
        ledger.open_purchases()


def test_what_waits_is_written_before_a_ledger_is_closed(open_ledger):
    ledger = open_ledger(delay=60.0)
    grants = intend(ledger, "blood")
    header = header_of(ledger)
    settlement = Settlement(header.case, "blood", grants.mine["blood"], "settled", 2.0, "delivered")
    written = ledger.settle([settlement])
    ledger.close()
    assert written.result(timeout=0) == [True]


def test_a_settlement_joins_the_next_commit(open_ledger):
    ledger = open_ledger(delay=60.0)
    grants = intend(ledger, "blood")
    header = header_of(ledger)
    settlement = Settlement(header.case, "blood", grants.mine["blood"], "settled", 2.0, "delivered")
    written = ledger.settle([settlement])
    assert not written.done()
    intend(ledger, "other")
    assert written.done()


def test_a_wish_that_is_cancelled_before_it_is_written_is_not_granted(open_ledger, clock):
    ledger = open_ledger()

    hold, started = threading.Event(), threading.Event()
    ledger._writer.submit(lambda store: (started.set(), hold.wait()))
    started.wait()
    wish = ledger.intend(header_of(ledger), [Intent("blood", 2.0)])
    assert wish.cancel()
    hold.set()
    assert intend(ledger, "blood").mine


def test_the_repr_has_no_secret(ledger):
    assert "kkk" not in repr(ledger) and "Ledger(ledger " in repr(ledger)


# --- cases that wait for a client --------------------------------------------


def step(ledger, *answers, case="a", number=1):
    """Take a step of a case as it is now."""
    record = find(ledger, case)
    return ledger.take_step(record, ledger.draft(record.row.header, number, answers)).result()


def wait(ledger, case="a", **options):
    header = ledger.header(case, None, "model", "[]", **options)
    ledger.finish(header, None).result()
    return header


TOLD = ("client/age", 1.0, "delivered", '[["age", 63]]')


def test_a_case_that_waits_is_there_for_every_process(open_ledger):
    header = wait(open_ledger(), cap=20.0, context='["patient"]')
    row = find(open_ledger()).row
    assert (row.header, row.ended_at, row.ending) == (header, None, None)
    assert (row.header.cap, row.header.context) == (20.0, '["patient"]')


def test_what_a_client_answers_is_an_entry(open_ledger, clock):
    ledger = open_ledger()
    wait(ledger)
    assert step(ledger, TOLD, ("client/sex", 0.0, "declined", None))
    entries = find(open_ledger()).entries
    told, declined = entries["client/age"], entries["client/sex"]
    assert (told.state, told.charged, told.outcome, told.values) == ("settled", *TOLD[1:])
    assert (declined.charged, declined.outcome, declined.values) == (0.0, "declined", None)
    assert told.owner == declined.owner and told.settled_at == clock.now


def test_a_step_on_what_has_changed_is_not_taken(open_ledger):
    one, other = open_ledger(), open_ledger()
    wait(one)
    record = find(one)
    drafts = [ledger.draft(record.row.header, 1, [TOLD]) for ledger in (one, other)]
    assert one.take_step(record, drafts[0]).result()
    assert not other.take_step(record, drafts[1]).result()
    assert find(one).entries["client/age"].owner == drafts[0][0].owner


def test_of_steps_in_one_commit_one_is_taken(ledger):
    wait(ledger)
    record = find(ledger)
    drafts = [ledger.draft(record.row.header, 1, [TOLD]) for _ in range(16)]
    taken = [ledger.take_step(record, draft) for draft in drafts]
    assert sorted(each.result() for each in taken) == [False] * 15 + [True]


def test_what_is_withdrawn_costs_nothing_and_can_be_told_again(ledger):
    wait(ledger)
    step(ledger, TOLD)
    step(ledger, ("client/age", 0.0, "withdrawn", None), number=2)
    entry = find(ledger).entries["client/age"]
    assert (entry.state, entry.charged, entry.values) == ("void", 0.0, None)
    assert step(ledger, TOLD, number=3) and find(ledger).entries["client/age"].charged == 1.0


def test_a_step_needs_a_case(ledger):
    with pytest.raises(LedgerError, match="needs a case"):
        ledger.take_step(find(ledger), ())


def test_open_cases_are_those_that_have_not_ended_the_oldest_first(ledger, clock):
    for case in ("b", "a", "c"):
        clock.now += 1
        wait(ledger, case)
    step(ledger, TOLD, case="a")
    ledger.finish(header_of(ledger, "b"), ENDING).result()
    cases = [ledger.header(case, None, "", None).case for case in "ac"]
    found = ledger.open_cases(10).result()
    assert [row.header.case for row, _ in found] == cases
    assert [len(entries) for _, entries in found] == [1, 0]
    assert len(ledger.open_cases(1).result()) == 1 and ledger.count_open().result() == 2
    wait(ledger, "b")  # it goes on
    assert ledger.count_open().result() == 3


def test_what_was_spent_since_is_the_sum_of_all_charges(ledger, clock):
    wait(ledger)
    settle(ledger, intend(ledger, "old"), "old", paid=7.0)
    clock.now += 10
    settle(ledger, intend(ledger, "paid"), "paid", paid=2.5)
    settle(ledger, intend(ledger, "failed"), "failed", paid=0.0, state="void")
    intend(ledger, "under way", quoted=4.0)
    step(ledger, TOLD)
    assert ledger.spent_since(clock.now).result() == 2.5 + 4.0 + 1.0
    assert ledger.spent_since(0.0).result() == 14.5
    assert ledger.spent_since(clock.now + 1).result() == 0.0


def test_a_temporary_ledger_goes_when_it_is_closed():
    with Ledger.temporary() as ledger:
        path = ledger._store.path
        assert path.exists() and intend(ledger, "blood").mine
    assert not path.parent.exists()


def test_a_temporary_ledger_that_cannot_be_opened_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(SqliteStore, "connect", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Ledger.temporary()
    assert list(tmp_path.iterdir()) == []
