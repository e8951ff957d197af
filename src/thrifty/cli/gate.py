"""`thrifty gate`: train a cheap model and a gate in front of an expensive model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thrifty.cli.calls import load_expensive
from thrifty.cli.console import echo, show_json, show_table, show_text
from thrifty.cli.fit_progress import step
from thrifty.cli.inputs.training import check_prices_and_columns
from thrifty.cli.options import (
    FILE,
    JSON,
    OUTPUT_MODEL,
    PRICES,
    TASKS,
    UNIT,
    check_outputs,
    finite,
)

if TYPE_CHECKING:
    from thrifty.frontier.fit_gate import GateFit

__all__ = ["gate"]

FRACTION = click.FloatRange(min=0, max=1)
AMOUNT = click.FloatRange(min=0)
DEFAULT_SHARE = 0.3
NAMES = {"accuracy": "Accuracy", "r2": "R2", "ndcg@5": "NDCG@5"}


@click.command(short_help="Train a cheap model in front of an expensive one.")
@click.argument("table", type=FILE)
@click.option("--target", required=True, metavar="COL", help="Column to predict.")
@click.option("--task", type=TASKS,
              help="Kind of prediction; by default inferred from the target.")  # fmt: skip
@click.option("--qid", metavar="COL", help="Column with the query ID, for ranking.")
@click.option("--expensive", required=True, metavar="MODEL|URL",
              help="A .thrifty, LightGBM or XGBoost file, or the URL of a server.")  # fmt: skip
@PRICES
@UNIT
@click.option("--name", default="expensive", show_default=True,
              help="Name of the expensive model in receipts.")  # fmt: skip
@click.option("--price", type=AMOUNT, default=0.0, callback=finite,
              help="Price of one call of the expensive model.")  # fmt: skip
@click.option("--need", "needs", multiple=True, metavar="COL",
              help="Column that the server needs; repeatable; by default all.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0,
              show_default=True, metavar="SECONDS",
              help="How long a server may take for a batch of rows.")  # fmt: skip
@click.option("--share", type=FRACTION, callback=finite, metavar="S",
              help="Largest share of rows sent to the expensive model; 0.3 if no goal is "
              "given.")  # fmt: skip
@click.option("--budget", type=AMOUNT, callback=finite, metavar="B",
              help="Largest mean cost per example.")  # fmt: skip
@click.option("--quality", type=FRACTION, callback=finite, metavar="Q",
              help="Accuracy, R2 or NDCG@5 to reach while sending as few rows as "
              "possible.")  # fmt: skip
@click.option("--penalty", type=AMOUNT, callback=finite, metavar="P",
              help="Reduction in mean loss that one unit of cost must bring; by default the best "
              "of several on the validation set.")  # fmt: skip
@click.option("--family", type=click.Choice(["boosted", "linear", "leaves"]), default="boosted",
              show_default=True, help="Type of the gate and the cheap model.")  # fmt: skip
@click.option("--drop", multiple=True, metavar="COL", help="Column to ignore; repeatable.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Random seed of the split and the training.")  # fmt: skip
@OUTPUT_MODEL
@JSON
def gate(table: Path, target: str, output: Path, as_json: bool, **given: Any) -> None:
    """Train a cheap model in front of an expensive one.

    TABLE is a CSV or Parquet file whose rows the expensive model was not trained on. The new model
    predicts most rows itself and sends the others to the expensive model. Rows are split
    60/20/20 into training, validation and test sets.
    """
    goals = {"share": given["share"], "bill": given["budget"], "quality": given["quality"]}
    goals = {name: value for name, value in goals.items() if value is not None}
    if len(goals) > 1:
        raise click.UsageError("Give one of --share, --budget and --quality.")
    expensive: Any = given["expensive"]
    is_url, path = "://" in expensive, Path(expensive)
    check_outputs([output], [table, given["prices"], None if is_url else path])
    for option, names in {"--drop": given["drop"], "--qid": [given["qid"]]}.items():
        if target in names:
            raise click.UsageError(f"'{target}' is named by --target and by {option}.")
    if not is_url:
        if given["needs"]:
            raise click.UsageError("--need: a model file knows its columns; omit it.")
        expensive = load_expensive(path, "--expensive")
    named = [target, *filter(None, [given["qid"]]), *given["drop"]]
    prices = check_prices_and_columns(table, named, given["prices"], given["unit"])
    with step("training the gate"):
        from thrifty.cli.inputs.tables import read_training_table
        from thrifty.frontier.fit_gate import GATES, fit_gate
        from thrifty.frontier.tasks import guess_task
        from thrifty.learn import Call

        read = read_training_table(table, target, given["qid"], None, given["drop"])
        task = given["task"] or guess_task(read.y, read.qid)
        if (task == "ranking") != (read.qid is not None):
            raise click.UsageError("Ranking needs --qid, and no other task has queries.")
        call = Call(given["name"], given["price"], given["needs"] or None, expensive,
                    timeout=given["timeout"])  # fmt: skip
        penalty = "auto" if given["penalty"] is None else given["penalty"]
        model = GATES[task](
            call, share=goals.get("share", DEFAULT_SHARE), penalty=penalty,
            family=given["family"], target=goals or None, prices=prices,
            random_state=given["seed"],
        )  # fmt: skip
        found = fit_gate(read.X, read.y, model=model, qid=read.qid, random_state=given["seed"])
    found.predictor.save(output)
    result = {"model": str(output), **_facts(found)}
    if is_url:  # all rows, to learn from and to compare with, and once more those of the gate
        called = sum(found.rows.values()) + round(found.sent * found.rows["test"])
        result["called"] = {"rows": called, "price": called * (given["price"] or 0.0)}
    if as_json:
        show_json(result)
    else:
        _show(result)
        echo(f"model: {output}")


def _facts(found: GateFit) -> dict[str, Any]:
    """Return what a gate does on the test set as plain values."""
    ways = {"gated": found.gated, "all_sent": found.all_sent, "none_sent": found.none_sent}
    return {
        "rows": found.rows,
        "unit": found.predictor.prices.unit,
        "metric": found.metric,
        "verdict": found.verdict,
        "sent": found.sent,
        **{
            name: {"bill": way.bill._asdict(), "quality": way.quality._asdict()}
            for name, way in ways.items()
        },
        "saving": found.saving._asdict(),
        "quality_loss": found.loss._asdict(),
        "quality_gain": found.gain._asdict(),
    }


def _show(result: dict[str, Any]) -> None:
    """Print whether the gate pays, and what each way to predict costs and gets right."""
    from thrifty.report.words import format_difference, format_interval, format_mean, format_quality

    metric = result["metric"]

    def difference(of: dict[str, float]) -> str:
        noise = ", within noise" if of["low"] <= 0 <= of["high"] else ""
        return format_difference(metric, of["mean"], (of["low"], of["high"])) + noise

    unit, full = result["unit"], result["all_sent"]["bill"]["mean"]
    saving = result["saving"]["mean"]
    amount = format_mean(abs(saving), unit)
    amount += f" ({abs(saving) / full:.1%})" if full else ""
    saved = f"saves {amount} per example" if saving >= 0 else f"costs {amount} more per example"
    lost = f"{NAMES[metric]} lost: {difference(result['quality_loss'])}"
    gained = f"{NAMES[metric]} gained by sending rows: {difference(result['quality_gain'])}"
    show_text({
        "pays": f"The gate {saved} compared with sending every row. {lost}.",
        "saves nothing": f"The gate does not pay: compared with sending every row it {saved}. Send "
        "every row, or try a smaller --share or --budget.",
        "sends nothing": "The gate does not pay: it sends no row. The cheap model alone "
        f"{saved} compared with sending every row. {lost}.",
        "cheap model suffices": "The gate does not pay: the cheap model alone costs less. "
        f"{gained}.",
    }[result["verdict"]])  # fmt: skip
    echo(f"Test set, {result['rows']['test']} rows, with 95% intervals:")
    names = {"gated": f"gate, {result['sent']:.1%} sent", "all_sent": "all sent",
             "none_sent": "none sent"}  # fmt: skip
    rows = []
    for key, name in names.items():
        bill, quality = result[key]["bill"], result[key]["quality"]
        rows.append([
            name, format_mean(bill["mean"]),
            f"[{format_mean(max(bill['low'], 0.0))}, {format_mean(bill['high'])}]",
            format_quality(metric, quality["mean"]),
            format_interval(metric, (quality["low"], quality["high"])),
        ])  # fmt: skip
    columns = [
        "",
        f"mean bill\n({unit})" if unit else "mean bill",
        "",
        metric,
        "",
    ]
    show_table(columns, rows)
    if called := result.get("called"):
        price = f", which cost {format_mean(called['price'], unit)}" if called["price"] else ""
        show_text(f"Training and testing sent {called['rows']} rows to the expensive model{price}.")
