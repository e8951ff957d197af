"""Options that several commands share."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.inputs.long_tables import TABLE

if TYPE_CHECKING:
    from thrifty.costs import Prices

__all__ = [
    "BUDGET",
    "CAP",
    "COSTS",
    "FILE",
    "JSON",
    "OUTPUT_MODEL",
    "PRICES",
    "RESUME",
    "TASKS",
    "UNIT",
    "WEIGHT_COLUMN",
    "OutputFile",
    "TrainingOptions",
    "amounts",
    "check_outputs",
    "finite",
    "name_main",
    "read_prices",
    "training_options",
]


class OutputFile(click.Path):
    """Type of an option for a file to write: its folder must exist and be writable.

    What is written to directly, such as ``/dev/stdout`` or a pipe, must be writable itself.
    """

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Check the file and its folder."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.exists() and not path.is_file():
            return path
        if not path.parent.is_dir():
            self.fail(f"There is no folder '{path.parent}'; create it first.", param, ctx)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            self.fail(f"Folder '{path.parent}' is not writable.", param, ctx)
        return path


def check_outputs(outputs: list[Path | None], inputs: list[Path | None]) -> None:
    """Raise a usage error if an output file is also an input or another output."""
    taken = {path.resolve() for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        if path.resolve() in taken:
            raise click.UsageError(f"'{path}' is named twice; give each file its own name.")
        taken.add(path.resolve())


def finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Reject infinity and NaN, which click accepts as floats."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.")
    return value


def amounts(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> float | dict[str, float] | None:
    """Read amounts such as ``30`` and ``latency=60``; "" is the key of the main currency."""
    read: dict[str, float] = {}
    for value in values:
        name, _, number = value.rpartition("=")
        nonnegative: Any = click.FloatRange(min=0)
        amount = finite(ctx, param, nonnegative.convert(number, param, ctx))
        if name in read:
            raise click.BadParameter(f"{name or 'the main currency'} has two amounts.")
        read[name] = amount or 0.0
    if not read:
        return None
    return read[""] if list(read) == [""] else read


def name_main(given: float | dict[str, float] | None, unit: str) -> Any:
    """Return amounts by currency, with the unit as the name of the main one."""
    from thrifty.costs.bound import MAIN  # imports numpy

    if not isinstance(given, dict):
        return given
    main = unit or MAIN
    if "" in given and main in given:
        raise click.UsageError(f"{main} is the main currency, and has two amounts; give one.")
    return {name or main: amount for name, amount in given.items()}


FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
TASKS = click.Choice(["classification", "regression", "ranking"])
WEIGHT_COLUMN = click.option(
    "--weight-column", metavar="COL",
    help="Column with the weight of each row; it is not a feature.",
)  # fmt: skip
COSTS = click.option(
    "--costs", type=FILE,
    help="What errors cost, in the unit of the prices: a CSV file with the columns "
    "true,predicted,cost, or a TOML file. Then the total cost of features and errors is minimized, "
    "and --budget is optional.",
)  # fmt: skip
BUDGET = click.option(
    "--budget", multiple=True, callback=amounts, metavar="B",
    help="Largest mean cost per example; give this or --quality. Repeat as CURRENCY=B or latency=B "
    "for other currencies of the price list and for latency.",
)  # fmt: skip
CAP = click.option(
    "--cap", multiple=True, callback=amounts, metavar="C",
    help="Largest cost of any single example; repeatable like --budget.",
)  # fmt: skip
PRICES = click.option(
    "--prices", type=FILE, help="Price list, CSV or TOML; by default every feature costs 1."
)
UNIT = click.option("--unit", help="Unit of the prices, such as CAD or ms.")
OUTPUT_MODEL = click.option(
    "-o", "--output", required=True, type=OutputFile(), help="Model file to write."
)
RESUME = click.option(
    "--resume", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
    help="Save finished curves here, and continue from those that exist.",
)  # fmt: skip
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
TRAINING = (
    click.argument("table", type=TABLE),
    click.option("--target", required=True, metavar="COL", help="Column to predict."),
    PRICES,
    UNIT,
    click.option("--task", type=TASKS,
                 help="Kind of prediction; by default inferred from the target."),
    click.option("--qid", metavar="COL", help="Column with the query ID, for ranking."),
    click.option("--groups", metavar="COL",
                 help="Column with a group ID, such as the patient; a group is never split "
                      "across sets."),
    click.option("--drop", multiple=True, metavar="COL", help="Column to ignore; repeatable."),
    click.option("--scoring", metavar="NAME",
                 help="Quality metric; by default accuracy, r2 or ndcg@5."),
    click.option("--learner", "learners", multiple=True, metavar="NAME",
                 help="Learner to use, such as greedy-miser; repeatable; by default a ladder."),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
                 help="Random seed of the split and the learners."),
)  # fmt: skip


@dataclass(frozen=True)
class TrainingOptions:
    """The options of `training_options` as they were given; see their help texts."""

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


def training_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with the options for training; it gets them as `TrainingOptions`."""

    @wraps(command)
    def call(**given: Any) -> None:
        options = {each.name: given.pop(each.name) for each in fields(TrainingOptions)}
        command(TrainingOptions(**options), **given)

    for option in reversed(TRAINING):
        call = option(call)
    return call


def read_prices(path: Path | None, unit: str | None) -> Prices:
    """Read a price list; without a file every feature costs 1."""
    from thrifty.costs import Prices

    return Prices(unit=unit or "") if path is None else Prices.read(path, unit=unit)
