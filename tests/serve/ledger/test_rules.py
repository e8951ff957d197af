"""Who may buy what: the rules, apart from any database."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from thrifty.serve.ledger.records import Entry, Header, Intent, Settlement
from thrifty.serve.ledger.rules import Request, Step, abandon, grant, settle, stamp, take_step

HEADER = Header("case")


def request(owner, *items, limit=None, besides=(), **options):
    return Request(HEADER, [Intent(item, 2.0, **options) for item in items], owner, limit, besides)


def granted(*arguments, entries=None, now=0.0, **options):
    found = {} if entries is None else entries
    grants, changed = grant(request(*arguments, **options), found, now)
    found |= {entry.item: entry for entry in changed}
    return grants, found


def test_the_same_request_once_more_is_granted_once_more():
    _, entries = granted("me", "a")
    grants, _ = granted("me", "a", entries=entries)
    assert grants.mine == {"a": "me"}


def test_what_counts_besides_is_within_the_limit_too():
    assert granted("me", "a", limit=3.0, besides=(1.0,))[0].mine
    assert granted("me", "a", limit=3.0, besides=(0.6, 0.5))[0].over


def test_a_limit_that_is_reached_already_does_not_hide_what_was_bought():
    _, entries = granted("me", "a")
    entries["a"] = replace(entries["a"], state="settled", paid=9.0)
    grants, _ = granted("you", "a", entries=entries, limit=1.0)
    assert not grants.over and grants.entries["a"].paid == 9.0


def test_a_settlement_of_nothing_does_not_hold():
    settlement = Settlement("case", "a", "me", "settled", 2.0, "delivered")
    assert settle(settlement, None, 0.0) == (False, None)


def test_a_second_settlement_that_differs_does_not_hold():
    _, entries = granted("me", "a")
    first = Settlement("case", "a", "me", "settled", 2.0, "delivered")
    holds, entry = settle(first, entries["a"], 1.0)
    assert holds and entry.settled_at == 1.0
    assert settle(replace(first, state="void"), entry, 2.0) == (False, None)


def test_nobody_can_settle_what_was_abandoned():
    _, entries = granted("me", "a")
    lost = abandon(entries["a"], 5.0)
    assert (lost.state, lost.paid, lost.epoch) == ("assumed", 2.0, 1)
    settlement = Settlement("case", "a", "me", "settled", 2.0, "delivered")
    assert settle(settlement, lost, 6.0) == (False, None)


STEP = st.tuples(
    st.integers(0, 3),  # who
    st.sampled_from("ab"),  # what
    st.sampled_from(["intend", "settled", "void", "assumed", "wait"]),
)


@given(steps=st.lists(STEP, max_size=30), take_over=st.booleans())
def test_an_item_has_one_owner_at_a_time_and_is_delivered_once(steps, take_over):
    entries, now, owned, delivered = {}, 0.0, {}, []
    for number, (who, item, what) in enumerate(steps):
        if what == "wait":
            now += 6.0
        elif what == "intend":
            grants, entries = granted(
                f"{who}.{number}", item, entries=entries, now=now, lease=10.0, take_over=take_over
            )
            if item in grants.mine:
                assert item not in delivered
                owned[who, item] = grants.mine[item]
        elif (who, item) in owned:
            settlement = Settlement("case", item, owned.pop((who, item)), what, 2.0, what)
            holds, entry = settle(settlement, entries.get(item), now)
            if entry is not None:
                assert holds
                entries[item] = entry
                if what == "settled":
                    delivered.append(item)
    assert len(delivered) == len(set(delivered))


def told(owner, item="client/age", epoch=1):
    return Entry("case", item, owner, epoch, "settled", 2.0, 0.0, 0.0)


def test_a_step_is_taken_if_the_case_is_as_it_was_seen():
    step = Step(HEADER, stamp({}), (told("me"),))
    assert take_step(step, {}) == (True, [told("me")])
    assert take_step(step, {"client/age": told("you")}) == (False, [])
    assert take_step(step, {"lab": told("you", "lab")}) == (False, [])


def test_the_same_step_once_more_has_been_taken():
    step = Step(HEADER, stamp({}), (told("me"),))
    assert take_step(step, {"client/age": told("me")}) == (True, [])


def test_any_change_of_a_case_is_in_its_stamp():
    entry = told("me")
    others = [
        {},
        {"client/age": replace(entry, owner="you")},
        {"client/age": replace(entry, epoch=2)},
        {"client/age": replace(entry, state="void")},
        {"client/age": entry, "lab": told("me", "lab")},
    ]
    assert all(stamp(other) != stamp({"client/age": entry}) for other in others)
