"""`thrifty curve`: a table and prices in, what more or less money would buy out."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.console import show_json
from thrifty.cli.options import Asked, read, training_options
from thrifty.cli.outputs import OutputFile, refuse_overwriting
from thrifty.files import write_whole

if TYPE_CHECKING:
    from thrifty.frontier import Curve

__all__ = ["curve", "picture"]

KINDS = (".csv", ".svg", ".png")
FOLDER = click.Path(file_okay=False, path_type=Path)
# Dots an inch, where the picture has dots.
DOTS = 150


def _known_kind(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    if value.suffix.lower() not in KINDS:
        raise click.BadParameter(f"'{value}' is none of {', '.join(KINDS)}.")
    return value


@click.command(short_help="Trace what more or less money would buy.")
@training_options
@click.option("-o", "--output", required=True, type=OutputFile(), callback=_known_kind,
              help="File to write: all points as .csv, or a picture as .svg or .png.")  # fmt: skip
@click.option("--resume", type=FOLDER, metavar="FOLDER",
              help="Keep finished curves here, and go on from those that are here.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), metavar="N",
              help="Learners that run at a time.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def curve(asked: Asked, output: Path, resume: Path | None, jobs: int | None, as_json: bool) -> None:
    """Trace what more or less money would buy.

    TABLE is a CSV or Parquet file. Each learner learns its whole path; bills and qualities are
    those on a fifth of the rows, held out. No budget is needed, and none is kept.
    """
    refuse_overwriting([output], asked.files)
    material = read(asked)
    from thrifty.frontier import trace

    traced = trace(
        material.learners,
        material.X,
        material.y,
        qid=material.qid,
        groups=material.groups,
        scoring=asked.scoring,
        resume=resume,
        n_jobs=jobs,
        progress=sys.stderr.isatty(),
        random_state=asked.seed,
    )
    write_whole(output, _written(traced, output.suffix.lower()))
    if as_json:
        show_json({**_told(traced), "output": str(output)})
    else:
        _show(traced, len(material.names))
        click.echo(f"{'points' if output.suffix.lower() == '.csv' else 'picture'}: {output}")


def picture(traced: Curve, kind: str) -> bytes:
    """Draw a curve, one line for each learner, as a file of a kind such as "svg"."""
    import matplotlib
    from matplotlib.figure import Figure  # no window is opened and none is needed

    from thrifty.report.displays import CurveDisplay

    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    CurveDisplay({name: traced.of(name) for name in traced.learners}).plot(figure.subplots())
    file = BytesIO()
    # The same curve is the same file: no date, and names in the file that do not change.
    with matplotlib.rc_context({"svg.hashsalt": "thrifty"}):
        dateless = {"Date": None} if kind == "svg" else {}
        figure.savefig(file, format=kind, dpi=DOTS, metadata=dateless)
    return file.getvalue()


def _written(traced: Curve, suffix: str) -> bytes:
    if suffix == ".csv":
        return bytes(traced.frame().to_csv(index=False).encode("utf-8"))
    return picture(traced, suffix[1:])


def _told(traced: Curve) -> dict[str, Any]:
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
                "frontier": id(point) in best,
                "hull": id(point) in hull,
            }
            for point in traced.points
        ],
    }


def _show(traced: Curve, features: int) -> None:
    from thrifty.cli.story import show_frontier
    from thrifty.costs.money import money

    full = money(traced.full, traced.unit)
    click.echo(
        f"{traced.task}: {features} features, {full} for all; bills and qualities on "
        f"{len(traced.points[0].bills)} rows that were held out"
    )
    points = [
        {
            "learner": point.learner,
            "knob": point.knob,
            "bill": point.bill,
            "quality": point.quality,
            "features": int(point.model.model.support.sum()),
        }
        for point in traced.frontier
    ]
    show_frontier(points, traced.scoring, traced.unit)
