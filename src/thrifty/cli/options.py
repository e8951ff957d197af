"""Options that several commands share, and the training data that they name."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from thrifty.cli.long_tables import TABLE, draw_rows, is_long, open_table
from thrifty.errors import DataError, raise_all

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from thrifty.costs import Prices
    from thrifty.learn.dataset import TrainingSet

__all__ = [
    "BUDGET",
    "CAP",
    "COSTS",
    "FILE",
    "JSON",
    "OUTPUT_MODEL",
    "PRICES",
    "RESUME",
    "UNIT",
    "WEIGHT_COLUMN",
    "OutputFile",
    "TrainingData",
    "TrainingOptions",
    "amounts",
    "check_outputs",
    "finite",
    "name_main",
    "read_prices",
    "read_training_data",
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


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The contents of the input files, checked.

    Parameters
    ----------
    table : TrainingSet
        The whole table with its target, queries and prices.
    groups : array of shape (n,) or None
        Group of each row.
    prices : Prices
    learners : dict of str to estimator
        The learners to train, by name, with the prices set.
    by : dict of str to array
        The columns to compare groups by, for the rows that are in the table.
    """

    table: TrainingSet
    groups: NDArray[Any] | None
    prices: Prices
    learners: dict[str, Any]
    by: dict[str, NDArray[Any]] = field(default_factory=dict)


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


def read_training_data(
    options: TrainingOptions,
    weight_column: str | None = None,
    costs: Path | None = None,
    by: Sequence[str] = (),
) -> TrainingData:
    """Read the table and the prices, and check everything that the learners would reject.

    Parameters
    ----------
    options : TrainingOptions
    weight_column : str, optional
        Column with the weights of the rows, which is not a feature.
    costs : Path, optional
        File with the costs of errors.
    by : sequence of str
        Columns to compare groups by; they may be features.

    Raises
    ------
    click.UsageError
        If the target is also named as queries, groups or a column to drop.
    DataError
        With all problems of prices and columns at once, or else all of the rows.
    """
    if is_long(options.table):
        return _read_long_table(options, weight_column, costs, by)
    prices = _check_before_reading(options, options.table, weight_column, by)
    from thrifty.cli.cost_files import read_costs_file
    from thrifty.cli.tables import read_groups, read_training_table, read_weights

    not_features = [*options.drop, *([] if weight_column is None else [weight_column])]
    read = read_training_table(
        options.table, options.target, options.qid, options.groups, not_features
    )
    X, y, qid, groups = read.X, read.y, read.qid, read.groups
    from thrifty.bundle import Schema
    from thrifty.frontier.scoring import find_metric
    from thrifty.frontier.tasks import guess_task, learners_named
    from thrifty.learn.dataset import TrainingSet, bind_prices, read_target
    from thrifty.learn.suspects import find_suspects
    from thrifty.learn.targets import queries

    task = options.task or guess_task(y, qid)
    errors: list[DataError] = []
    weight = learners = error_costs = None
    compared: dict[str, NDArray[Any]] = {}
    with _collecting(errors):
        if weight_column is not None:
            weight = read_weights(read.frame, weight_column, options.table)
    with _collecting(errors):
        compared = read_groups(read.frame, by, options.table)
    with _collecting(errors):
        learners = learners_named(options.learners, task)
    with _collecting(errors):  # here, row numbers in messages are still those of the file
        schema = Schema.of(X).sort()
        encoded = schema.encode(X)
        bound = bind_prices(prices, schema)
    with _collecting(errors):
        find_metric(options.scoring, task)
    with _collecting(errors):
        target = read_target(task, y, len(y))
        if costs is not None:
            if target[1] is None:
                raise DataError(f"--costs: {task} has no classes, so errors are not counted")
            error_costs = read_costs_file(costs, target[1].tolist())
    if options.qid is None and task == "ranking":
        errors.append(DataError("--qid: ranking needs the query of each row"))
    if options.qid is not None and task != "ranking":
        errors.append(DataError(f"--qid: {task} has no queries; omit it, or use --groups"))
    if errors or learners is None:
        _raise_collected(errors)
    for learner in learners.values():
        learner.set_params(prices=prices)
    query = queries(qid, len(X)) if task == "ranking" else None
    clusters = query if groups is None else queries(groups, len(X), "groups")
    table = TrainingSet(
        task, X, schema, bound, encoded, target[0], weight, target[1], query, clusters
    ).with_costs(error_costs)
    kept = None if weight is None else weight > 0
    if kept is not None:
        table, groups = table.take(kept), None if groups is None else groups[kept]
        compared = {name: values[kept] for name, values in compared.items()}
        if table.classes is not None:
            table.require_every_class()
    for suspect in find_suspects(table):
        warnings.warn(f"{options.table}: {suspect}", stacklevel=2)
    return TrainingData(table, groups, prices, learners, compared)


def _read_long_table(
    options: TrainingOptions, weight_column: str | None, costs: Path | None, by: Sequence[str]
) -> TrainingData:
    """Check a table that is not read as a whole, and draw rows of it; see `read_training_data`."""
    for option, name in (("--qid", options.qid), ("--groups", options.groups)):
        if name is not None:
            raise DataError(f"{option}: the rows of a long table are not kept together; omit it")
    table = open_table(options.table, options.target, options.drop, weight_column)
    prices = _check_before_reading(options, table.files[0], weight_column, by)
    from thrifty.cli.cost_files import read_costs_file
    from thrifty.cli.tables import read_groups
    from thrifty.frontier.scoring import find_metric
    from thrifty.frontier.tasks import learners_named
    from thrifty.learn.suspects import find_suspects

    if options.task == "ranking":
        raise DataError("--task: a ranking needs its rows in memory")
    train = draw_rows(table, options.task, prices, by, options.seed)
    errors: list[DataError] = []
    learners, compared = None, {}
    with _collecting(errors):
        learners = learners_named(options.learners, train.task)
    with _collecting(errors):
        find_metric(options.scoring, train.task)
    with _collecting(errors):
        compared = read_groups(train.table, by, options.table)
    with _collecting(errors):
        if costs is not None:
            if train.classes is None:
                raise DataError(f"--costs: {train.task} has no classes, so errors are not counted")
            train = train.with_costs(read_costs_file(costs, train.classes.tolist()))
    if errors or learners is None:
        _raise_collected(errors)
    for learner in learners.values():
        learner.set_params(prices=prices)
    for suspect in find_suspects(train):
        warnings.warn(f"{options.table}: {suspect}", stacklevel=2)
    return TrainingData(train, None, prices, learners, compared)


def _check_before_reading(
    options: TrainingOptions, table: Path, weight_column: str | None, by: Sequence[str]
) -> Prices:
    """Return the prices; check them and the columns first, as reading the table takes seconds."""
    clashes = {
        "--qid": [options.qid],
        "--groups": [options.groups],
        "--drop": options.drop,
        "--weight-column": [weight_column],
    }
    for option, names in clashes.items():
        if options.target in names:
            raise click.UsageError(f"'{options.target}' is named by --target and by {option}.")
    named = [options.target, *filter(None, (options.qid, options.groups, weight_column))]
    return check_prices_and_columns(
        table, [*named, *options.drop], options.prices, options.unit, by
    )


def check_prices_and_columns(
    table: Path,
    named: Sequence[str],
    prices: Path | None,
    unit: str | None,
    by: Sequence[str] = (),
) -> Prices:
    """Return the prices; check them and the names of the columns, before any row is read.

    Parameters
    ----------
    table : Path
    named : sequence of str
        Columns that must exist and are not features, such as the target.
    prices : Path or None
        The price list.
    unit : str or None
    by : sequence of str
        Columns that must exist, and may be features.

    Raises
    ------
    DataError
        With all problems of both.
    """
    from thrifty.cli.tables import check_columns, likely_features
    from thrifty.table_files import read_columns

    errors: list[DataError] = []
    read, features = None, None
    with _collecting(errors):
        read = read_prices(prices, unit).without(named)
    with _collecting(errors):
        columns = read_columns(table)
        features = likely_features(columns, named)
        check_columns(table, columns, [*named, *by])
    if read is not None and features is not None:
        with _collecting(errors):
            read.bind(features)
    if errors or read is None:
        _raise_collected(errors)
    return read


@contextmanager
def _collecting(errors: list[DataError]) -> Iterator[None]:
    """Append a `DataError` of the block to `errors` instead of raising it."""
    try:
        yield
    except DataError as error:
        errors.append(error)


def _raise_collected(errors: list[DataError]) -> NoReturn:
    """Raise the only error as it is, or one error that lists all of them."""
    if len(errors) == 1:
        raise errors[0]
    raise_all(DataError, "inputs", [str(e).replace("\n", "\n    ") for e in errors])
    raise AssertionError("there is no error to raise")
