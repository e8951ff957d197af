"""`thrifty check`: check the inputs of `thrifty fit` and estimate how long it would take."""

from __future__ import annotations

from pathlib import Path

import click

from thrifty.cli.console import echo, show_json, show_settings, show_table
from thrifty.cli.fit_progress import step
from thrifty.cli.inputs.training import read_training_data
from thrifty.cli.options import (
    BUDGET,
    CAP,
    COSTS,
    JSON,
    WEIGHT_COLUMN,
    TrainingOptions,
    name_main,
    training_options,
)

__all__ = ["check", "format_duration"]


@click.command(short_help="Check the inputs of a fit and estimate its duration.")
@training_options
@BUDGET
@CAP
@WEIGHT_COLUMN
@COSTS
@JSON
def check(
    options: TrainingOptions,
    budget: float | dict[str, float] | None,
    cap: float | dict[str, float] | None,
    weight_column: str | None,
    costs: Path | None,
    as_json: bool,
) -> None:
    """Check the inputs of a fit and estimate its duration.

    A dry run of `thrifty fit`: reads and checks the same files, with the same errors and exit
    codes, and trains on small samples to estimate how long the full run would take. Writes nothing.
    """
    data = read_training_data(options, weight_column, costs)
    import numpy as np

    from thrifty.frontier.fit_budget import split_table
    from thrifty.frontier.race import forecast
    from thrifty.frontier.scoring import find_metric
    from thrifty.frontier.several_budgets import amount, read_amounts

    prices = data.table.prices
    budget, cap = name_main(budget, prices.unit), name_main(cap, prices.unit)
    budgets, caps = read_amounts(budget, prices), read_amounts(cap, prices, "cap")
    main = next(iter(prices.currencies))
    sets = split_table(data.table, random_state=options.seed)
    if not budgets.keys() - {main}:  # several budgets need rows that are held out
        sets = sets.suited_to(data.learners.values(), data.table)
    rng = np.random.default_rng(options.seed)
    default = None if costs is None else "neg_error_cost"
    validation = None if sets.cross_fitted else sets.validation
    with step("training on small samples"):
        seconds = forecast(data.learners, sets.train, validation, rng)
    plan = {
        "task": data.table.task,
        "inferred": options.task is None,
        "target": options.target,
        "metric": find_metric(options.scoring or default, data.table.task).name,
        "features": data.table.n_features,
        "full": prices.full,
        "unit": prices.unit,
        "rows": sets.sizes,
        "cross_fitted": sets.cross_fitted,
        "seconds": seconds,
        "budget": budget,
        "cap": cap,
    }
    if as_json:
        show_json(plan)
        return
    show_settings(plan)
    echo(f"metric: {plan['metric']}")
    for what, limits in (("budget", budgets), ("cap", caps)):
        for name, limit in limits.items():
            is_share = name == main and prices.full > 0
            share = f", {100 * limit / prices.full:.3g}% of the full price" if is_share else ""
            echo(f"{what}: {amount(limit, name, prices)}{share}")
    show_table(["learner", "time"], [[name, format_duration(t)] for name, t in seconds.items()])
    echo(f"{format_duration(sum(seconds.values()))} in total; nothing was written")


def format_duration(seconds: float) -> str:
    """Format a rough estimate of a duration.

    Examples
    --------
    >>> from thrifty.cli.check import format_duration
    >>> format_duration(0.2), format_duration(95), format_duration(9000)
    ('about 1 second', 'about 95 seconds', 'about 2 hours')
    """
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.0f} seconds" if seconds >= 1.5 else "about 1 second"
