"""Law 1: a walk gives what the batch gives, in whatever order the values arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from thrifty.bundle import NamedWalk, Receipt
from thrifty.bundle.reason import NATURAL_ENDS
from thrifty.checks.batch_outputs import BatchOutputs, table_prices
from thrifty.checks.cases import Case
from thrifty.checks.verdict import LawError, law, require, same

__all__ = ["check_walks", "law_known", "law_reasons", "law_rows_alone", "law_walks"]

# Number of test rows that are walked.
N_ROWS = 12
# In which order a walk gets its values; see `_walk`.
ORDERS = ("one_by_one", "last_first", "together", "shuffled", "at_once", "resumed")

Example = Mapping[Any, Any]


@law("a walk gives what the batch gives")
def law_walks(estimator: Any, case: Case) -> None:
    """Compare prediction, scores, used features, bill and receipt, for six orders of values."""
    check_walks(case.fit(estimator), case, range(N_ROWS))


@law("values known before a walk are free, and change no prediction")
def law_known(estimator: Any, case: Case) -> None:
    """Start a walk with half of the values: it pays for the others that it reads."""
    fitted = case.fit(estimator)
    batch = BatchOutputs.of(fitted, case.test_table)
    evaluations = fitted.predictor_.evaluations(case.test_table)
    prices = table_prices(fitted.predictor_)
    for row in range(N_ROWS):
        example = case.example(row)
        is_known = np.array([(row + j) % 2 == 0 for j in range(len(example))])
        known = {name: example[name] for name, on in zip(example, is_known, strict=True) if on}
        walk = _answer_requests(fitted.walk(known), example, slice(None))
        paid = batch.used[row] & ~is_known
        due = prices.bill(paid[np.newaxis], int(evaluations[row]))[0]
        same(f"scores (row {row})", np.atleast_1d(batch.scores[row]), walk.scores)
        _expect(row, "total with known values", due.item(), walk.receipt.total)


@law("a row alone is what it is in its batch")
def law_rows_alone(estimator: Any, case: Case) -> None:
    """Predict tables of one row and compare them with the rows of the whole table."""
    fitted = case.fit(estimator)
    batch = BatchOutputs.of(fitted, case.test_table)
    tables = [case.table(case.test.values[row : row + 1]) for row in range(N_ROWS)]
    alone = [BatchOutputs.of(fitted, table) for table in tables]
    for name in ("predictions", "scores", "used", "bill"):
        rows = np.concatenate([getattr(outputs, name) for outputs in alone])
        same(f"{name} alone", getattr(batch, name)[:N_ROWS], rows)


@law("a walk says why it asks and what it can cost, and that changes nothing")
def law_reasons(estimator: Any, case: Case) -> None:
    """Walk twice, once reading every reason twice: requests, scores and receipts are the same.

    No bill is larger than what the walk said before the purchase.
    """
    fitted = case.fit(estimator)
    for row in range(N_ROWS):
        example, asking, silent = case.example(row), fitted.walk(), fitted.walk()
        while asking.asks:
            why, again = asking.why, asking.why
            require(why is not None and why == again, f"{why!r} becomes {again!r} (row {row})")
            bought = asking.asks[: len(why.features)]
            require(len(bought) > 0, f"a walk asks {asking.asks} for no reason")
            _expect(row, "features of a reason", bought, why.features)
            _expect(row, "requests after a reason", silent.asks, asking.asks)
            bound = asking.largest_bill(bought[:1])
            for walk in (asking, silent):
                walk.tell({bought[0]: example[bought[0]]})
            bill = asking.receipt.total
            require(bill <= bound, f"a bill of {bill!r} where at most {bound!r} was due")
        same(f"scores after reasons (row {row})", silent.scores, asking.scores)
        _expect(row, "receipt after reasons", silent.receipt, asking.receipt)
        require(asking.why is None, f"a walk that is done says {asking.why!r}")


def check_walks(fitted: Any, case: Case, rows: Iterable[int]) -> None:
    """Compare the walks of a fitted estimator or a `Predictor` with its batch on test rows.

    Parameters
    ----------
    fitted : fitted estimator or Predictor
    case : Case
    rows : iterable of int
        Numbers of the test rows to walk.

    Raises
    ------
    LawError
        If a walk differs from its row of the batch.
    """
    batch = BatchOutputs.of(fitted, case.test_table)
    for row in rows:
        used = {name for name, on in zip(case.names, batch.used[row], strict=True) if on}
        prediction, bill = batch.predictions[row].item(), batch.bill[row].item()
        for order in ORDERS:
            walk = _walk(fitted.walk, case.example(row), order, np.random.default_rng(row))
            receipt, how = walk.receipt, f"told {order}"
            same(f"scores {how} (row {row})", np.atleast_1d(batch.scores[row]), walk.scores)
            _expect(row, f"answer {how}", prediction, walk.answer)
            _expect(row, f"best answer {how}", prediction, walk.best)
            _expect(row, f"features read {how}", used, _bought(receipt))
            _expect(row, f"total {how}", bill, receipt.total)
            _expect(row, f"features unread {how}", walk.told.keys() - used, set(receipt.unread))
            require(
                receipt.stopped in NATURAL_ENDS,
                f"a walk {how} that asks for nothing more says {receipt.stopped!r} (row {row})",
            )


def _walk(
    start: Callable[[], NamedWalk], example: Example, order: str, rng: np.random.Generator
) -> NamedWalk:
    """Start a walk and complete it with the values of an example, in one of the `ORDERS`."""
    walk = start()
    if order == "one_by_one":
        return _answer_requests(walk, example, slice(1))
    if order == "last_first":
        return _answer_requests(walk, example, slice(-1, None))
    if order == "together":
        return _answer_requests(walk, example, slice(None))
    if order == "at_once":
        walk.tell(example)
        return walk
    if order == "shuffled":
        # Every value in a random order, requested or not.
        names = list(example)
        for j in rng.permutation(len(names)):
            walk.tell({names[j]: example[names[j]]})
        return walk
    # Resumed: stored after every value and continued from the values told so far.
    while walk.asks:
        walk.tell({walk.asks[0]: example[walk.asks[0]]})
        again = start()
        again.tell(walk.told)
        require(again.asks == walk.asks, f"resumed, a walk asks {again.asks}, not {walk.asks}")
        before, after = walk.receipt, again.receipt
        # A receipt takes longer to print than to compare.
        if _bought(after) != _bought(before) or after.total != before.total:
            raise LawError(f"resumed, a walk has bought {after}, not {before}")
        same("scores of a resumed walk", walk.scores, again.scores)
        walk = again
    return walk


def _answer_requests(walk: NamedWalk, example: Example, which: slice) -> NamedWalk:
    """Complete a walk with requested values only, the part `which` of its requests at a time."""
    while walk.asks:
        require(len(set(walk.asks)) == len(walk.asks), f"a walk asks {walk.asks}")
        again = [feature for feature in walk.asks if feature in walk.told]
        require(not again, f"a walk asks again for {again}")
        require(walk.answer is None, f"a walk answers {walk.answer!r} and still asks {walk.asks}")
        walk.tell({feature: example[feature] for feature in walk.asks[which]})
    require(not walk.receipt.unread, f"a walk asked for {walk.receipt.unread} and read none of it")
    return walk


def _bought(receipt: Receipt) -> set[Any]:
    """Return the features on a receipt."""
    return {purchase.feature for purchase in receipt.purchases}


def _expect(row: int, what: str, due: object, found: object) -> None:
    """Raise `LawError` unless two values are equal."""
    require(found == due, f"{what} of row {row}: {found!r} where the batch has {due!r}")
