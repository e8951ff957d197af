"""`thrifty curve`: trace the cost/quality curve and write its points or a plot."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.console import echo, show_frontier, show_json
from thrifty.cli.csv_output import to_safe_csv
from thrifty.cli.fit_progress import learner_progress
from thrifty.cli.inputs.training import read_training_data
from thrifty.cli.options import (
    JSON,
    RESUME,
    OutputFile,
    TrainingOptions,
    check_outputs,
    training_options,
)
from thrifty.files import write_whole

if TYPE_CHECKING:
    from thrifty.frontier import Curve

__all__ = ["curve", "draw_curve"]

SUFFIXES = (".csv", ".svg", ".png")
DOTS_PER_INCH = 150


@click.command(short_help="Trace the cost/quality curve.")
@training_options
@click.option("-o", "--output", required=True, type=OutputFile(),
              help="File to write: all points as .csv, or a plot as .svg or .png.")  # fmt: skip
@RESUME
@click.option("--jobs", type=click.IntRange(min=1), metavar="N",
              help="Number of learners to train in parallel.")  # fmt: skip
@JSON
def curve(
    options: TrainingOptions, output: Path, resume: Path | None, jobs: int | None, as_json: bool
) -> None:
    """Trace the cost/quality curve.

    TABLE is a CSV or Parquet file. Trains every learner on 80% of the rows over its whole range of
    costs, and evaluates the bill and quality of each point on the other 20%.
    """
    suffix = output.suffix.lower()
    if suffix not in SUFFIXES:
        raise click.BadParameter(f"'{output}' must end in {', '.join(SUFFIXES)}.", param_hint="-o")
    check_outputs([output], [options.table, options.prices])
    data = read_training_data(options)
    from thrifty.frontier import trace

    # Learners in other processes do not report: there the bar counts the learners that are done.
    in_parallel = jobs is not None and jobs > 1
    with nullcontext() if in_parallel else learner_progress():
        traced = trace(
            data.learners,
            data.table,
            None,
            groups=data.groups,
            scoring=options.scoring,
            resume=resume,
            n_jobs=jobs,
            progress=in_parallel and sys.stderr.isatty(),
            random_state=options.seed,
        )
    if suffix == ".csv":
        write_whole(output, to_safe_csv(traced.frame()).encode("utf-8"))
    else:
        write_whole(output, draw_curve(traced, suffix[1:]))
    facts = _facts(traced)
    if as_json:
        show_json({**facts, "output": str(output)})
        return
    from thrifty.costs.money import money

    echo(
        f"{traced.task}: {data.table.n_features} features, "
        f"{money(traced.full, traced.unit)} for all; "
        f"evaluated on {facts['rows']} validation rows"
    )
    frontier = [point for point in facts["points"] if point["frontier"]]
    show_frontier(frontier, traced.scoring, traced.unit)
    echo(f"{'points' if suffix == '.csv' else 'plot'}: {output}")


def _facts(traced: Curve) -> dict[str, Any]:
    """Return a curve as a dict of plain values."""
    best, hull = set(map(id, traced.frontier)), set(map(id, traced.hull))
    return {
        "task": traced.task,
        "metric": traced.scoring,
        "unit": traced.unit,
        "full": traced.full,
        "level": traced.level,
        "rows": len(traced.points[0].bills),
        "points": [
            {
                "learner": point.learner,
                "knob": dict(point.knob),
                "bill": point.bill,
                "bill_interval": list(point.bill_interval),
                "quality": point.quality,
                "quality_interval": list(point.quality_interval),
                "ceiling": point.ceiling,
                "features": int(point.model.model.support.sum()),
                "frontier": id(point) in best,
                "hull": id(point) in hull,
            }
            for point in traced.points
        ],
    }


def draw_curve(traced: Curve, file_format: str) -> bytes:
    """Plot a curve, one line per learner, and return the image file, such as an "svg".

    The same curve gives the same bytes: the file has no date and no random ids.
    """
    import matplotlib
    from matplotlib.figure import Figure  # a figure without a window

    from thrifty.report.displays import CurveDisplay

    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    CurveDisplay({name: traced.of(name) for name in traced.learners}).plot(figure.subplots())
    file = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "thrifty"}):
        no_date = {"Date": None} if file_format == "svg" else {}
        figure.savefig(file, format=file_format, dpi=DOTS_PER_INCH, metadata=no_date)
    return file.getvalue()
