"""The training data that the options of a command name, checked before any learner starts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from thrifty.cli.inputs.long_tables import draw_rows, is_long, open_table
from thrifty.cli.options import TrainingOptions, read_prices
from thrifty.errors import DataError, raise_all

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from thrifty.costs import Prices
    from thrifty.learn.dataset import TrainingSet

__all__ = ["TrainingData", "check_prices_and_columns", "read_training_data"]


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
    read = _read_long_table if is_long(options.table) else _read_table
    data = read(options, weight_column, costs, by)
    from thrifty.learn.suspects import find_suspects

    for learner in data.learners.values():
        learner.set_params(prices=data.prices)
    for suspect in find_suspects(data.table):
        warnings.warn(f"{options.table}: {suspect}", stacklevel=2)
    return data


def _read_table(
    options: TrainingOptions, weight_column: str | None, costs: Path | None, by: Sequence[str]
) -> TrainingData:
    """Read a table as a whole; see `read_training_data`."""
    prices = _check_before_reading(options, options.table, weight_column, by)
    from thrifty.cli.inputs.tables import read_groups, read_training_table, read_weights

    not_features = [*options.drop, *([] if weight_column is None else [weight_column])]
    read = read_training_table(
        options.table, options.target, options.qid, options.groups, not_features
    )
    X, y, qid, groups = read.X, read.y, read.qid, read.groups
    from thrifty.bundle import Schema
    from thrifty.frontier.tasks import guess_task
    from thrifty.learn.dataset import TrainingSet, bind_prices, read_target
    from thrifty.learn.targets import queries

    task = options.task or guess_task(y, qid)
    errors: list[DataError] = []
    weight = target = None
    compared: dict[str, NDArray[Any]] = {}
    with _collecting(errors):
        if weight_column is not None:
            weight = read_weights(read.frame, weight_column, options.table)
    with _collecting(errors):
        compared = read_groups(read.frame, by, options.table)
    with _collecting(errors):  # here, row numbers in messages are still those of the file
        schema = Schema.of(X).sort()
        encoded = schema.encode(X)
        bound = bind_prices(prices, schema)
    with _collecting(errors):
        target = read_target(task, y, len(y))
    if options.qid is None and task == "ranking":
        errors.append(DataError("--qid: ranking needs the query of each row"))
    if options.qid is not None and task != "ranking":
        errors.append(DataError(f"--qid: {task} has no queries; omit it, or use --groups"))
    learners, error_costs = _read_choices(options, task, target and target[1], costs, errors)
    if errors or target is None:
        _raise_collected(errors)
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
    from thrifty.cli.inputs.tables import read_groups

    if options.task == "ranking":
        raise DataError("--task: a ranking needs its rows in memory")
    train = draw_rows(table, options.task, prices, by, options.seed)
    errors: list[DataError] = []
    compared: dict[str, NDArray[Any]] = {}
    with _collecting(errors):
        compared = read_groups(train.table, by, options.table)
    learners, error_costs = _read_choices(options, train.task, train.classes, costs, errors)
    if errors:
        _raise_collected(errors)
    return TrainingData(train.with_costs(error_costs), None, prices, learners, compared)


def _read_choices(
    options: TrainingOptions,
    task: str,
    classes: NDArray[Any] | None,
    costs: Path | None,
    errors: list[DataError],
) -> tuple[dict[str, Any], dict[tuple[Any, Any], float] | None]:
    """Return the learners and the costs of errors; append what is wrong with them to `errors`."""
    from thrifty.cli.inputs.cost_files import read_costs_file
    from thrifty.frontier.scoring import find_metric
    from thrifty.frontier.tasks import learners_named

    learners: dict[str, Any] = {}
    error_costs = None
    with _collecting(errors):
        learners = learners_named(options.learners, task)
    with _collecting(errors):
        find_metric(options.scoring, task)
    with _collecting(errors):
        if costs is not None and task != "classification":
            raise DataError(f"--costs: {task} has no classes, so errors are not counted")
        if costs is not None and classes is not None:
            error_costs = read_costs_file(costs, classes.tolist())
    return learners, error_costs


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
    from thrifty.cli.inputs.tables import check_columns, likely_features
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
