"""`thrifty check`: check the inputs of `thrifty fit` and estimate how long it would take."""

from __future__ import annotations

import click

from thrifty.cli.console import echo, show_json, show_settings, show_table
from thrifty.cli.fit_progress import step
from thrifty.cli.options import (
    JSON,
    TrainingOptions,
    finite,
    read_training_data,
    training_options,
)

__all__ = ["check", "format_duration"]


@click.command(short_help="Check the inputs of a fit and estimate its duration.")
@training_options
@click.option("--budget", type=click.FloatRange(min=0), callback=finite, metavar="B",
              help="Largest mean cost per example.")  # fmt: skip
@click.option("--cap", type=click.FloatRange(min=0), callback=finite, metavar="C",
              help="Largest cost of any single example.")  # fmt: skip
@JSON
def check(options: TrainingOptions, budget: float | None, cap: float | None, as_json: bool) -> None:
    """Check the inputs of a fit and estimate its duration.

    A dry run of `thrifty fit`: reads and checks the same files, with the same errors and exit
    codes, and trains on small samples to estimate how long the full run would take. Writes nothing.
    """
    data = read_training_data(options)
    import numpy as np

    from thrifty.frontier.fit_budget import split_table
    from thrifty.frontier.race import forecast
    from thrifty.frontier.scoring import find_metric

    parts = split_table(data.table, random_state=options.seed)
    sets = parts.suited_to(data.learners.values(), data.table)
    rng = np.random.default_rng(options.seed)
    prices = data.table.prices
    validation = None if sets.cross_fitted else sets.validation
    with step("training on small samples"):
        seconds = forecast(data.learners, sets.train, validation, rng)
    plan = {
        "task": data.table.task,
        "inferred": options.task is None,
        "target": options.target,
        "metric": find_metric(options.scoring, data.table.task).name,
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
    from thrifty.costs.money import money

    show_settings(plan)
    echo(f"metric: {plan['metric']}")
    for name, amount in (("budget", budget), ("cap", cap)):
        if amount is not None:
            share = f", {100 * amount / prices.full:.3g}% of the full price" if prices.full else ""
            echo(f"{name}: {money(amount, prices.unit)}{share}")
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
