"""Pacing under drift: what is spent against the budget, and the quality that pacing loses.

A simulation: 20 operating points with diminishing returns, 30,000 cases, bills that scatter with a
coefficient of variation of 0.8 and shift by 50 % at once or slowly. Quality is in points. The best
in hindsight knows every shift: it takes the best point of each case at one cost weight, so that
the whole run costs the budget.

The second table is a real model in a `Runtime`: patients of the heart table, a source that delivers
their values, 16 cases at a time. After half of the cases, only those patients come whose bills at
the point of the budget are the highest, or the lowest.
"""

from __future__ import annotations

import asyncio

import numpy as np
from _harness import report

from thrifty import BudgetClassifier
from thrifty.data import heart
from thrifty.frontier.operating_points import operating_points
from thrifty.serve import Case, FunctionSource, Ledger, OperatingPoint, Pacer, Pacing, Runtime

CASES = 30_000
WINDOW = 2_000
SEEDS = range(100, 105)
BUDGETS = (2.0, 5.0, 15.0)
BILLS = np.concatenate([[0.0], np.geomspace(0.5, 50.0, 19)])
QUALITIES = 65 + 27 * np.log1p(BILLS) / np.log1p(50.0)
SCATTER = 0.8

TIME = np.arange(CASES)
SHIFTS = {
    "none": np.ones(CASES),
    "up 50 % at once": np.where(TIME < CASES // 2, 1.0, 1.5),
    "down 50 % at once": np.where(TIME < CASES // 2, 1.0, 0.5),
    "up 50 % slowly": np.linspace(1.0, 1.5, CASES),
    "up and down, four times": np.where(TIME // 7500 % 2, 1.5, 1.0),
}
DELAYS = (0, 200)


def play(budget, factors, delay, seed, step):
    """Return the bills and qualities of a run whose bills arrive `delay` cases late."""
    shape = SCATTER**-2
    noise = np.random.default_rng(seed).gamma(shape, 1 / shape, CASES)
    points = [OperatingPoint(*each) for each in zip(BILLS, QUALITIES, strict=True)]
    pacer, tickets, bills = Pacer(points, budget, step), [], np.empty(CASES)
    for t in range(CASES):
        tickets.append(pacer.choose())
        bills[t] = BILLS[tickets[t].index] * factors[t] * noise[t]
        if t >= delay:
            pacer.settle(tickets[t - delay], bills[t - delay])
    return bills, QUALITIES[[ticket.index for ticket in tickets]]


def best_in_hindsight(budget, factors):
    """Return the mean quality of the best points at the one price that spends the budget."""
    slopes = np.diff(QUALITIES) / np.diff(BILLS)
    low, high = 0.0, slopes.max() / factors.min()
    for _ in range(60):
        price = (low + high) / 2
        chosen = (slopes[:, None] > price * factors).sum(axis=0)
        low, high = (price, high) if (BILLS[chosen] * factors).mean() > budget else (low, price)
    # The budget lies between these two choices: mix them.
    dear, cheap = ((slopes[:, None] > price * factors).sum(axis=0) for price in (low, high))
    spent = [(BILLS[each] * factors).mean() for each in (dear, cheap)]
    share = (budget - spent[1]) / (spent[0] - spent[1]) if spent[0] > spent[1] else 0.0
    return share * QUALITIES[dear].mean() + (1 - share) * QUALITIES[cheap].mean()


def rows():
    """Yield the worst figures over budgets and seeds, for each shift, delay and step."""
    for name, factors in SHIFTS.items():
        for delay, step in (*((delay, 0.02) for delay in DELAYS), (0, 1e-9)):
            runs, windows, losses = [], [], []
            for budget in BUDGETS:
                best = best_in_hindsight(budget, factors)
                for seed in SEEDS:
                    bills, qualities = play(budget, factors, delay, seed, step)
                    runs.append(abs(bills.mean() / budget - 1))
                    means = bills.reshape(-1, WINDOW).mean(axis=1)
                    windows.append(np.abs(means / budget - 1).max())
                    losses.append(best - qualities.mean())
            method = "fixed point" if step < 1e-6 else "paced"
            lost = f"{max(losses):.2f}" if step > 1e-6 else "-"
            yield name, method, delay, f"{max(runs):.2%}", f"{max(windows):.1%}", lost


SERVED = 12_000
AT_ONCE = 16
SERVED_BUDGETS = (10.0,)


async def serve_cases(points, budget, patients, table, paced):
    """Return what each of some patients has spent, with pacing or with one point."""

    def fetch(query):
        row = query.context["row"]
        return {name: table[name].iloc[row] for name in query.features}

    source = FunctionSource("records", fetch, list(table), at_once=AT_ONCE)
    turns, spent = asyncio.Semaphore(AT_ONCE), np.empty(len(patients))
    with Ledger.temporary() as ledger:
        pacing = Pacing(points, budget) if paced else None
        chosen = points.at_budget(budget)
        predictor = points.predictor if paced else chosen.predictor
        async with Runtime(predictor, [source], ledger, pacing=pacing) as runtime:

            async def serve(t):
                async with turns:
                    receipt = await runtime.serve(Case(context={"row": patients[t]}))
                    spent[t] = receipt.spent

            await asyncio.gather(*map(serve, range(len(patients))))
    return spent


def served_rows():
    """Yield the worst figures of a real model, for each budget and shift of the patients."""
    data = heart()
    model = BudgetClassifier(data.prices, max(SERVED_BUDGETS), random_state=0)
    model.fit(data.X, data.y)
    points = operating_points(model.frontier_, model.predictor_)
    for budget in SERVED_BUDGETS:
        bills = points.at_budget(budget).predictor.bill(data.X)
        order = np.argsort(bills, kind="stable")
        shifts = {
            "none": np.arange(len(bills)),
            "dearer half": order[len(bills) // 2 :],
            "cheaper half": order[: len(bills) // 2],
        }
        for name, later in shifts.items():
            rng = np.random.default_rng(0)
            patients = np.concatenate(
                [rng.integers(len(bills), size=SERVED // 2), rng.choice(later, SERVED // 2)]
            ).tolist()
            for method, paced in (("paced", True), ("fixed point", False)):
                spent = asyncio.run(serve_cases(points, budget, patients, data.X, paced))
                windows = spent.reshape(-1, WINDOW).mean(axis=1)
                yield (
                    budget, name, method, f"{spent.mean():.2f}",
                    f"{abs(spent.mean() / budget - 1):.2%}",
                    f"{np.abs(windows / budget - 1).max():.1%}",
                )  # fmt: skip


def main():
    """Write the tables."""
    report(
        "pacing_served",
        ("budget", "later patients", "method", "mean spent", "whole run", "window, worst"),
        [*served_rows()],
    )
    report(
        "pacing",
        ("shift", "method", "bills late by", "whole run, worst", "window, worst", "quality lost"),
        [*rows(), ("limit", "paced", "0", "1%", "4%", "0.10")],
    )


if __name__ == "__main__":
    main()
