"""The model card: what a model is for, what it was trained on, how good it is, and its limits.

`card_facts` adds to the facts of a report what only a card needs. `model_card` turns them into
sections, which are written as Markdown or as an HTML page (Mitchell et al. 2019).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from thrifty.bundle import Predictor
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.model import CallResult
from thrifty.report.card_sections import Bullets, Grid, Pairs, card_sections
from thrifty.report.fairness import group_facts
from thrifty.report.page import make_environment
from thrifty.report.predictions import recorded_metric

__all__ = ["card_facts", "model_card"]


def card_facts(
    predictor: Predictor,
    sets: Mapping[str, Any],
    *,
    by: Mapping[str, Any] | None = None,
    date: str | None = None,
) -> dict[str, Any]:
    """Describe the data of a model, and its results by group, as a dict of plain values.

    Parameters
    ----------
    predictor : Predictor
    sets : mapping of str to TrainingSet or ValidationSet
        The sets of rows by name. ``"test"`` is needed, rows that the predictor was not trained on;
        others, such as ``"training"``, are described beside it.
    by : mapping of str to sequence of shape (n,), optional
        Columns to report error and spend by: the values of the test rows, by name.
    date : str, optional
        Date of the card; by default today.

    Returns
    -------
    dict
        ``data``: rows, target and missing values of each set; ``by``: see `group_facts`;
        ``ceiling``: what an example may cost at most; ``date``.

    Raises
    ------
    DataError
        If the test rows cannot be grouped by these columns.
    """
    test = sets["test"]
    metric = recorded_metric(predictor, test.task).name
    schema = predictor.schema
    names = [str(name) for name in schema.names]
    # The result of a call is missing where the call was not needed.
    call = getattr(predictor.model, "expensive", None)
    results = {*schema.calls, *(call.columns.tolist() if isinstance(call, CallResult) else ())}
    features = [names[j] for j in schema.table_order if j not in results]
    missing = {
        part: dict(zip(names, np.isnan(rows.X).mean(axis=0).tolist(), strict=True))
        for part, rows in sets.items()
    }
    return {
        "data": {
            "rows": {part: len(rows) for part, rows in sets.items()},
            "target": {part: _target(rows) for part, rows in sets.items()},
            "missing": {
                name: {part: missing[part][name] for part in sets}
                for name in features
                if any(missing[part][name] for part in sets)
            },
        },
        "by": group_facts(predictor, test, by or {}, metric),
        "ceiling": predictor.ceiling,
        "date": date or datetime.date.today().isoformat(),
    }


def _target(rows: TrainingSet | ValidationSet) -> dict[str, float]:
    """Return the number of rows of each class or grade, or what values look like."""
    if rows.task == "regression":
        y = rows.y
        return {
            "mean": float(y.mean()),
            "standard deviation": float(y.std()),
            "smallest": float(y.min()),
            "largest": float(y.max()),
        }
    labels = rows.labels if rows.classes is None else rows.classes
    values = sorted(set(labels.tolist()), key=lambda value: (str(type(value)), value))
    return {str(value): int(np.sum(rows.labels == value)) for value in values}


def model_card(facts: dict[str, Any], *, html: bool = False) -> str:
    """Write the card of a model.

    Parameters
    ----------
    facts : dict
        What `fit_facts` or `predictor_facts` returned, with what `card_facts` adds.
    html : bool
        Whether to write an HTML page in place of Markdown.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.frontier import fit_budget
    >>> from thrifty.report import card_facts, fit_facts, model_card
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> found = fit_budget(X, X[:, 0] > 0, budget=1, learners=[GreedyMiserClassifier()])
    >>> sets = {"training": found.sets.train, "test": found.test}
    >>> facts = fit_facts(found, target="sign")
    >>> facts |= card_facts(found.predictor, sets, by={"half": found.test.X[:, 1] > 0})
    >>> card = model_card(facts)
    >>> [line for line in card.splitlines() if line.startswith("## ")]
    ['## Model', '## Purpose', '## Data', '## Results', '## Prices', '## Decision rule',
    '## Results by group', '## Limits']
    """
    title, sections = f"Model card: {facts['title']}", card_sections(facts)
    if html:
        template = make_environment(facts).get_template("card.html")
        return str(template.render(facts, title=title, sections=sections))
    parts = [f"# {_escape(title)}", *map(_escape, [*facts["remarks"], facts["comparison"]])]
    for section in sections:
        parts.append(f"## {_escape(section.heading)}")
        parts += [_markdown(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _markdown(block: str | Bullets | Pairs | Grid) -> str:
    """Write one block of a section as Markdown."""
    if isinstance(block, Bullets):
        return "\n".join(f"- {_escape(item)}" for item in block.items)
    if isinstance(block, Pairs):
        return "\n".join(f"- **{_escape(k)}**: {_escape(v)}" for k, v in block.pairs.items())
    if isinstance(block, Grid):
        lines = [block.columns, ["---", *["---:"] * (len(block.columns) - 1)], *block.rows]
        cells = [[_escape(cell) for cell in line] for line in lines]
        return "\n".join(f"| {' | '.join(line)} |" for line in cells)
    return _escape(block)


def _escape(text: str) -> str:
    """Let Markdown show a text literally, in one line."""
    return re.sub(r"([\\`*\[\]<>|]|(?<!\w)_|_(?!\w))", r"\\\1", " ".join(text.split()))
