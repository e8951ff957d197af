"""`thrifty check`: a dry run of `thrifty fit`."""

from __future__ import annotations

from typing import Any

import click

from thrifty.cli.console import progress, show_json, show_table
from thrifty.cli.options import Asked, Material, finite, read, training_options

__all__ = ["check"]


@click.command(short_help="Tell what a fit would do, without doing it.")
@training_options
@click.option("--budget", type=click.FloatRange(min=0), callback=finite, metavar="B",
              help="What an example may cost on average.")  # fmt: skip
@click.option("--cap", type=click.FloatRange(min=0), callback=finite, metavar="C",
              help="What no example may ever cost more than.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(asked: Asked, budget: float | None, cap: float | None, as_json: bool) -> None:
    """Tell what a fit would do, without doing it.

    Reads and checks all that `thrifty fit` would, learns from small samples to tell how long the
    rest would take, and writes nothing. Errors and exit codes are those of `thrifty fit`.
    """
    material = read(asked)
    with progress("trying small samples"):
        told = {**_plan(asked, material), "budget": budget, "cap": cap}
    if as_json:
        show_json(told)
    else:
        _show(told)


def _plan(asked: Asked, material: Material) -> dict[str, Any]:
    import numpy as np

    from thrifty.frontier.fit_budget import parts_of
    from thrifty.frontier.race import forecast
    from thrifty.frontier.scoring import quality

    task = material.task
    parts = parts_of(
        task, material.X, material.y, material.qid, material.groups, random_state=asked.seed
    )
    rng = np.random.default_rng(asked.seed)
    prices = material.prices.bind(material.names)
    return {
        "task": task,
        "guessed": asked.task is None,
        "target": asked.target,
        "metric": quality(asked.scoring, task).name,
        "features": len(material.names),
        "full": prices.full,
        "unit": prices.unit,
        "rows": {part: len(rows) for part, rows in parts.items()},
        "seconds": forecast(material.learners, parts["train"], parts["validation"], rng),
    }


def _show(told: dict[str, Any]) -> None:
    from thrifty.cli.story import show_task
    from thrifty.costs.money import money

    show_task(told)
    click.echo(f"quality: {told['metric']}")
    for limit in ("budget", "cap"):
        if told[limit] is not None:
            of = f", {100 * told[limit] / told['full']:.3g} % of that" if told["full"] else ""
            click.echo(f"{limit}: {money(told[limit], told['unit'])}{of}")
    seconds = told["seconds"]
    show_table(["learner", "about"], [[name, _time(t)] for name, t in seconds.items()])
    click.echo(f"about {_time(sum(seconds.values()))} in all; nothing was written")


def _time(seconds: float) -> str:
    """A time that is roughly known."""
    if seconds < 1:
        return "a second"
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 1.5 else "a second"
