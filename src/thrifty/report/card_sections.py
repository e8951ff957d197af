"""The sections of a model card, as blocks of text that are neither Markdown nor HTML yet."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from scipy.stats import binomtest

from thrifty.costs.money import money
from thrifty.report.spending import spending_sentences
from thrifty.report.words import format_mean, format_number, format_quality, total_words

__all__ = ["Bullets", "Grid", "Pairs", "Section", "card_sections", "groups_section"]

# Features listed one by one; the others are only counted.
MAX_FEATURES_LISTED = 40
# Fewer test rows, or fewer rows of a class, are mentioned as a limit.
FEW_TEST_ROWS, FEW_CLASS_ROWS = 200, 25
# A feature with a larger share of missing values is mentioned as a limit.
MANY_MISSING = 0.5


class Bullets(NamedTuple):
    """A list of sentences."""

    items: list[str]


class Pairs(NamedTuple):
    """Names with their values."""

    pairs: dict[str, str]


class Grid(NamedTuple):
    """A table; the first column is text, the others are numbers."""

    columns: list[str]
    rows: list[list[str]]


class Section(NamedTuple):
    """A heading and what stands below it: paragraphs, lists and tables."""

    heading: str
    blocks: list[str | Bullets | Pairs | Grid]


def card_sections(facts: dict[str, Any]) -> list[Section]:
    """Return the sections of a card in order.

    Parameters
    ----------
    facts : dict
        See `thrifty.report.model_card`.
    """
    return [
        _model(facts),
        _purpose(facts),
        _data(facts),
        _results(facts),
        _prices(facts),
        Section("Decision rule", [_decision_rule(facts)]),
        groups_section(facts),
        Section("Limits", [Bullets(_limits(facts))]),
    ]


def _model(facts: dict[str, Any]) -> Section:
    """Say what the model is and where it comes from."""
    origin = facts["provenance"]
    pairs = {
        "method": origin["method"],
        "learner": facts["chosen"]["learner"] if "chosen" in facts else "",
        "seed": "" if origin["seed"] is None else str(origin["seed"]),
        "software": ", ".join(f"{name} {number}" for name, number in origin["versions"].items()),
        "data (SHA-256)": origin["data"] or "",
        "date of this card": facts["date"],
    }
    return Section("Model", [Pairs({name: text for name, text in pairs.items() if text})])


def _purpose(facts: dict[str, Any]) -> Section:
    """Say what the model is for, and what it was chosen by."""
    settings = facts["settings"]
    unit, metric = settings["unit"], settings["metric"].replace("_", " ")
    items = [
        f"Predicts {settings['target']} ({settings['task']}) from {settings['features']} features, "
        "and buys for each example only those that it needs."
    ]
    goal = f"the best {metric}"
    if facts.get("total") is not None:
        goal = "the lowest total cost of features and errors"
    budgets, caps = (
        [*([] if settings[main] is None else [money(settings[main], unit)]), *settings[others]]
        for main, others in (("budget", "other_budgets"), ("cap", "other_caps"))
    )
    if budgets:
        sure = settings["confidence"]
        sure = f", with {100 * sure:g}% confidence" if sure is not None else ""
        items.append(
            f"Chosen for {goal} on the validation set within {' and '.join(budgets)} per example "
            f"on average{sure}."
        )
    elif facts.get("total") is not None and settings["quality"] is None:
        items.append(f"Chosen for {goal} on the validation set.")
    if settings["quality"] is not None:
        quality = format_quality(settings["metric"], settings["quality"])
        items.append(f"Chosen as the cheapest model whose {metric} is at least {quality}.")
    if caps:
        items.append(f"No example may cost more than {' and '.join(caps)}.")
    items.append(
        "Not meant for another target, for examples from a different source than the data below, "
        "or for other prices without a new fit."
    )
    return Section("Purpose", [Bullets(items)])


def _data(facts: dict[str, Any]) -> Section:
    """Describe the rows, the target and the missing values of each set."""
    settings, data = facts["settings"], facts["data"]
    sets = list(data["rows"])
    pairs = {
        "source": settings["source"] or "not stated",
        "target": settings["target"],
        "rows": ", ".join(f"{rows} {part}" for part, rows in data["rows"].items()),
        "features": str(settings["features"]),
    }
    values = dict.fromkeys(key for part in sets for key in data["target"][part])
    target = []
    for value in values:
        line = [value]
        for part in sets:
            number = data["target"][part].get(value, 0)
            if settings["task"] != "regression":
                share = f" ({100 * number / data['rows'][part]:.1f}%)"
                line.append(f"{number}{share}")
            else:
                line.append(format_number(number))
        target.append(line)
    missing = [
        [name, *(f"{100 * shares[part]:.1f}%" for part in sets)]
        for name, shares in data["missing"].items()
    ]
    blocks: list[Any] = [Pairs(pairs), Grid([settings["target"], *sets], target)]
    if missing:
        blocks.append(Grid(["missing values", *sets], missing[:MAX_FEATURES_LISTED]))
        more = len(missing) - MAX_FEATURES_LISTED
        blocks += [f"And {more} more features with missing values."] if more > 0 else []
    else:
        blocks.append("No value is missing.")
    return Section("Data", blocks)


def _results(facts: dict[str, Any]) -> Section:
    """List the figures of the model and of the baselines on the test set, with intervals."""
    settings, test = facts["settings"], facts["test"]
    metric, unit = settings["metric"], settings["unit"]
    compared = [("this model", test), *((b["name"], b) for b in facts.get("baselines", []))]
    compared += [("constant, buys nothing", facts["constant"])] if "constant" in facts else []
    grid = Grid(
        ["on the test set", "mean bill", metric.replace("_", " ")],
        [
            [
                name,
                _figure(result, "bill", lambda value: format_mean(value, unit), format_mean),
                _figure(result, "quality", *[partial(format_quality, metric)] * 2),
            ]
            for name, result in compared
        ],
    )
    n_rows = settings["rows"]["test"]
    blocks: list[Any] = [grid, f"{n_rows} test rows; the ranges are 95% confidence intervals."]
    if facts.get("total") is not None:
        blocks.append(total_words(facts["total"], unit))
    blocks += spending_sentences(facts)
    if facts["confusion"]:
        lines = []
        for code, label in enumerate(facts["confusion"]["classes"]):
            counts = facts["confusion"]["rows"][code]
            if sum(counts):
                low, high = binomtest(counts[code], sum(counts)).proportion_ci(method="wilson")
                shares = (counts[code] / sum(counts), float(low), float(high))
                recall = with_interval(*(f"{100 * share:.1f}%" for share in shares))
                lines.append([str(label), str(sum(counts)), recall])
        blocks.append(Grid(["true class", "rows", "predicted correctly"], lines))
    if facts["calibration"]:
        errors = [f"{curve['error']:.3f} ({curve['name']})" for curve in facts["calibration"]]
        blocks.append(f"Expected calibration error of the probabilities: {', '.join(errors)}.")
    return Section("Results", blocks)


def never_bought(facts: dict[str, Any]) -> str:
    """Say how many features no row bought, and when the shared price of a group is paid."""
    bought, features = facts["bought"], facts["settings"]["features"]
    never = features - len(bought)
    text = f"Never bought: {never} of {features} features." if never else ""
    if any(item["group"] is not None for item in bought):
        text += " The shared price of a group is paid once, with the first of its features."
    return text.strip()


def _prices(facts: dict[str, Any]) -> Section:
    """List the prices that the figures rest on, and how often each feature is bought."""
    settings, bought = facts["settings"], facts["bought"]
    unit = settings["unit"]
    lines = [
        [
            str(item["feature"]),
            money(item["price"], unit),
            f"{money(item['shared'], unit)} ({item['group']})" if item["group"] else "",
            f"{100 * item['share']:.1f}%",
        ]
        for item in bought[:MAX_FEATURES_LISTED]
    ]
    blocks: list[Any] = [
        f"All {settings['features']} features of an example cost {money(settings['full'], unit)}; "
        f"the model never spends more than {format_mean(facts['ceiling'], unit)} on one. These are "
        f"the prices as of {facts['date']}."
    ]
    if lines:
        blocks.append(Grid(["feature", "price", "shared by a group", "rows that buy it"], lines))
        more = len(bought) - len(lines)
        blocks.append((f"And {more} more features. " if more else "") + never_bought(facts))
    else:
        blocks.append("No feature is bought: every example gets the same prediction.")
    return Section("Prices", blocks)


def _decision_rule(facts: dict[str, Any]) -> str:
    """Say how a prediction is made."""
    return (
        f"{facts['answer']} Which feature is bought next, and when to stop, "
        "follows from the values bought so far, by fixed rules in the model file."
    )


def groups_section(facts: dict[str, Any]) -> Section:
    """Compare error and spend of the groups of each column that the user named."""
    settings = facts["settings"]
    unit = settings["unit"]
    if not facts["by"]:
        text = "Not examined: no column was named to compare groups by."
        return Section("Results by group", [text])
    blocks: list[Any] = []
    for entry in facts["by"]:
        metric = entry["metric"]
        answers = list(entry["groups"][0]["predicted"])
        answers = answers[-1:] if len(answers) == 2 else answers  # the other is the complement
        lines = []
        for group in entry["groups"]:
            lines.append(
                [
                    group["group"] + (" (few rows)" if group["few"] else ""),
                    str(group["rows"]),
                    "not defined"
                    if group["quality"] is None
                    else _figure(group, "quality", *[partial(format_quality, metric)] * 2),
                    _figure(group, "bill", format_mean, format_mean),
                    *(_shares(group["predicted"][a], group["actual"][a], settings["task"])
                      for a in answers),
                ]
            )  # fmt: skip
        means = settings["task"] == "regression"
        bill = f"mean bill ({unit})" if unit else "mean bill"
        shares = ["mean prediction"] if means else [f"predicted {answer}" for answer in answers]
        columns = [entry["column"], "rows", metric.replace("_", " "), bill, *shares]
        blocks.append(Grid(columns, lines))
        blocks.append(
            Bullets(entry["differences"])
            if entry["differences"]
            else f"By {entry['column']}, no difference is beyond noise (95% confidence). This does "
            "not prove that the groups are treated alike."
        )
    return Section("Results by group", blocks)


def _limits(facts: dict[str, Any]) -> list[str]:
    """List what the figures cannot say: the assumptions, and where rows are few."""
    settings, items = facts["settings"], list(facts["assumptions"])
    n_rows = settings["rows"]["test"]
    if n_rows < FEW_TEST_ROWS:
        items.append(f"The test set has only {n_rows} rows: mind the confidence intervals.")
    if facts["confusion"]:
        counts = zip(facts["confusion"]["classes"], facts["confusion"]["rows"], strict=True)
        few = [f"{label} ({sum(row)})" for label, row in counts if sum(row) < FEW_CLASS_ROWS]
        if few:
            items.append(f"Classes with few test rows: {', '.join(few)}.")
    for entry in facts["by"]:
        small = [f"{group['group']} ({group['rows']})" for group in entry["groups"] if group["few"]]
        if small:
            items.append(
                f"Groups of {entry['column']} with few test rows, which were not compared: "
                f"{', '.join(small)}."
            )
    empty = [
        name
        for name, shares in facts["data"]["missing"].items()
        if max(shares.values()) > MANY_MISSING
    ]
    if empty:
        items.append(f"Features that are mostly missing: {', '.join(empty)}.")
    items.append(
        f"Prices are those of {facts['date']}. If they have changed, so have all figures on costs, "
        "and another model may be the better one: fit again."
    )
    return items


def _figure(
    result: dict[str, Any], key: str, show: Callable[[float], str], end: Callable[[float], str]
) -> str:
    """Write a figure of a result with its interval, if that is known."""
    value, low, high = show(result[key]), result[f"{key}_low"], result[f"{key}_high"]
    return value if low is None or high is None else with_interval(value, end(low), end(high))


def with_interval(value: str, low: str, high: str) -> str:
    """Write a figure with its interval; an interval without width is left out.

    Examples
    --------
    >>> from thrifty.report.card_sections import with_interval
    >>> with_interval("CAD 13.89", "9.30", "18.48"), with_interval("3.00", "3.00", "3.00")
    ('CAD 13.89 (9.30 to 18.48)', '3.00')
    """
    return value if low == high else f"{value} ({low} to {high})"


def _shares(predicted: float, actual: float, task: str) -> str:
    """Write a share, or a mean, of the predictions beside that of the targets."""
    if task == "regression":
        return f"{format_number(predicted)} (true {format_number(actual)})"
    return f"{100 * predicted:.0f}% (true {100 * actual:.0f}%)"
