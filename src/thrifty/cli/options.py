"""What the verbs that learn share: their options, and what is read from the files these name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.faults import Faults
from thrifty.cli.pricelist import read_prices

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    from thrifty.costs import Prices

__all__ = ["FILE", "Asked", "Material", "finite", "read", "training_options"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
TASKS = click.Choice(["classification", "regression", "ranking"])


def finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Refuse infinity and NaN, which click takes for numbers."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.")
    return value


OPTIONS = (
    click.argument("table", type=FILE),
    click.option("--target", required=True, metavar="COL", help="The column to predict."),
    click.option("--prices", type=FILE,
                 help="Price list, CSV or TOML; without one each feature is 1."),
    click.option("--unit", help="What the prices count, such as CAD or ms."),
    click.option("--task", type=TASKS, help="What to predict; guessed from the target without it."),
    click.option("--qid", metavar="COL", help="The column that names the query, for ranking."),
    click.option("--groups", metavar="COL", help="Rows with the same value here stay together."),
    click.option("--drop", multiple=True, metavar="COL", help="A column to leave out; repeatable."),
    click.option("--scoring", metavar="NAME",
                 help="What quality is; without it accuracy, r2 or ndcg@5."),
    click.option("--learner", "learners", multiple=True, metavar="NAME",
                 help="A learner to use, such as greedy-miser; repeatable; without it all race."),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """The shared options as they were given."""

    table: Path
    target: str
    prices: Path | None
    unit: str | None
    task: str | None
    qid: str | None
    groups: str | None
    drop: tuple[str, ...]
    scoring: str | None
    learners: tuple[str, ...]
    seed: int

    @property
    def files(self) -> list[Path | None]:
        """The files that are read."""
        return [self.table, self.prices]


@dataclass(frozen=True, eq=False)
class Material:
    """What the files hold, checked: all that learning needs."""

    X: DataFrame
    y: NDArray[Any]
    qid: NDArray[Any] | None
    groups: NDArray[Any] | None
    prices: Prices
    task: str
    learners: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [str(name) for name in self.X.columns]


def training_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the shared options; it gets them as one `Asked`."""

    @wraps(verb)
    def call(**given: Any) -> None:
        verb(Asked(**{field.name: given.pop(field.name) for field in fields(Asked)}), **given)

    for option in reversed(OPTIONS):
        call = option(call)
    return call


def read(asked: Asked) -> Material:
    """Read table, target, queries, groups and prices, and refuse what cannot be used.

    Raises
    ------
    DataError
        With all that is wrong, as far as it can be told at once.
    """
    _refuse_clashes(asked)
    from thrifty.cli.tables import read_training

    faults = Faults()
    prices = faults.of(read_prices, asked.prices, asked.unit)
    columns = faults.of(
        read_training, asked.table, asked.target, asked.qid, asked.groups, asked.drop
    )
    if columns is None:
        raise faults.error
    from thrifty.frontier.tasks import guess_task, learners_named

    X, y, qid, groups = columns
    task = asked.task or guess_task(y, qid)
    learners = faults.of(learners_named, asked.learners, task)
    _check(faults, asked, X, y, task)
    if prices is not None:
        faults.of(prices.bind, [str(name) for name in X.columns])
    if faults or prices is None or learners is None:
        raise faults.error
    racers = {name: learner.set_params(prices=prices) for name, learner in learners.items()}
    return Material(X, y, qid, groups, prices, task, racers)


def _refuse_clashes(asked: Asked) -> None:
    """Refuse a target that is to be something else too."""
    others = {"--qid": [asked.qid], "--groups": [asked.groups], "--drop": asked.drop}
    for option, names in others.items():
        if asked.target in names:
            raise click.UsageError(f"'{asked.target}' is named by --target and by {option}.")


def _check(faults: Faults, asked: Asked, X: DataFrame, y: NDArray[Any], task: str) -> None:
    """Refuse what the learners would refuse, while rows still have their numbers."""
    from thrifty.bundle import Schema
    from thrifty.errors import DataError
    from thrifty.frontier.scoring import quality
    from thrifty.frontier.tasks import TASKS

    faults.of(lambda: Schema.of(X).encode(X))
    faults.of(quality, asked.scoring, task)
    if len(y):  # else the table was refused
        faults.of(TASKS[task].check, y, len(y))
    if asked.qid is None and task == "ranking":
        faults.add(DataError("--qid: ranking needs the query of each row"))
    if asked.qid is not None and task != "ranking":
        faults.add(DataError(f"--qid: {task} has no queries; leave it out, or give --groups"))
