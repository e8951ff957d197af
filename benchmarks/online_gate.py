"""The online gate in the environment of the lower bound, under drift, and its speed.

Regret is in expectation over the advice of the experts: the mean loss of the expert that the gate
followed, or the cost of asking, minus the loss of the best expert. In the environment of Nan 2018,
sec. 6.3, experts that never ask are wrong with probability 1/2, one of them with a slightly smaller
one, and one expert always asks, at the cost.
"""

from __future__ import annotations

import time

import numpy as np
from _harness import report

from thrifty.serve import ASK, OnlineGate
from thrifty.serve.gate_rates import regret_bound

ROUNDS = (1_000, 4_000, 16_000, 64_000, 256_000)
SEEDS = 6
CALLS = 20_000


def panel(k):
    """Return experts that read their advice from the example, and one that always asks."""
    return [*((lambda x, j=j: x[j]) for j in range(k - 1)), lambda x: ASK]


def play(gate, rows):
    """Return the expert that was followed in each round; the last one if the gate asked.

    All labels are 0.
    """
    last = len(rows[0])
    followed = []
    for x in rows:
        decision = gate.decide(x)
        if decision.asks:
            gate.feedback(0)
        followed.append(last if decision.asks else decision.expert)
    return np.array(followed)


def regret(k, cost, rounds, seed, horizon=None, **factors):
    """Return the regret in the environment of the lower bound; the horizon is doubled if None."""
    gap = (16 * rounds) ** (-1 / 3) * np.log(k - 1) ** (1 / 3)
    losses = np.append(np.full(k - 1, 0.5), cost)
    losses[seed % (k - 1)] -= gap
    rows = np.random.default_rng(seed).random((rounds, k - 1)) < losses[:-1]
    gate = OnlineGate(panel(k), cost, horizon, random_state=seed, **factors)
    return (losses[play(gate, rows.astype(int).tolist())] - losses.min()).sum()


def growth():
    """Yield mean regrets by number of rounds, their exponent, and their share of the bound."""
    cases = ((4, 1.0, True), (16, 1.0, True), (64, 1.0, True), (16, 0.6, True), (16, 1.0, False))
    for k, cost, known in cases:
        means = [
            np.mean([regret(k, cost, T, seed, T if known else None) for seed in range(SEEDS)])
            for T in ROUNDS
        ]
        slope = np.polyfit(np.log(ROUNDS), np.log(means), 1)[0]
        shares = [mean / regret_bound(k, cost, T) for mean, T in zip(means, ROUNDS, strict=True)]
        horizon = "known" if known else "doubled"
        figures = [f"{mean:.0f}" for mean in means]
        yield k, cost, horizon, *figures, f"{slope:.3f}", f"{max(shares):.2f}"


def drift():
    """Yield regrets by phase: the best of 16 experts, by a gap of 0.2, changes twice."""
    k, rounds = 16, 60_000
    for changes, horizon in ((0, rounds), (2, rounds), (2, None)):
        phases = []
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            losses = np.full((3, k), 0.5)
            losses[:, -1] = 1.0
            losses[np.arange(3), rng.permutation(k - 1)[:3]] = 0.3
            means = np.repeat(losses, rounds // 3, axis=0)
            rows = (rng.random((rounds, k - 1)) < means[:, :-1]).astype(int).tolist()
            gate = OnlineGate(panel(k), 1.0, horizon, changes, random_state=seed)
            lost = means[np.arange(rounds), play(gate, rows)] - means.min(axis=1)
            phases.append(lost.reshape(3, -1).sum(axis=1))
        by_phase = [f"{phase:.0f}" for phase in np.mean(phases, axis=0)]
        total = np.sum(np.mean(phases, axis=0))
        bound = regret_bound(k, 1.0, rounds, 2)
        name = "known" if horizon else "doubled"
        yield changes, name, *by_phase, f"{total:.0f}", f"{total / bound:.2f}"


def speed():
    """Yield microseconds of `decide` and `feedback`; the experts only look up their advice."""
    for k in (4, 16, 64):
        cached = [0] * (k - 1)
        local, asking, feedback = [], [], []
        gate = OnlineGate(panel(k), 1.0, horizon=CALLS, random_state=0)
        for _ in range(CALLS):
            start = time.perf_counter_ns()
            decision = gate.decide(cached)
            (asking if decision.asks else local).append(time.perf_counter_ns() - start)
            if decision.asks:
                start = time.perf_counter_ns()
                gate.feedback(0)
                feedback.append(time.perf_counter_ns() - start)
        medians = [np.median(times) / 1e3 for times in (feedback, local, asking)]
        figures = (*medians, np.quantile(local + asking, 0.99) / 1e3)
        yield k, *(f"{figure:.1f}" for figure in figures), "<= 50"


def main():
    """Write all three tables."""
    report(
        "online_gate",
        ("experts", "cost", "horizon", *(f"T = {T}" for T in ROUNDS), "exponent", "of the bound"),
        [*growth()],
    )
    report(
        "online_gate_drift",
        ("changes", "horizon", "phase 1", "phase 2", "phase 3", "total", "of the bound"),
        [*drift()],
    )
    report(
        "online_gate_speed",
        ("experts", "feedback", "decide, local", "decide, asks", "decide, 99 %", "limit"),
        [*speed()],
    )


if __name__ == "__main__":
    main()
