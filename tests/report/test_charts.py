"""The charts of the page: what they show is what the facts say."""

from __future__ import annotations

import re

from thrifty.report import fit_facts, render_page
from thrifty.report.charts import calibration_chart, frontier_chart


def test_charts_describe_themselves(found) -> None:
    facts = fit_facts(found)
    n_points = len(facts["test_points"])
    assert f"on the test set: {n_points} models of the frontier and " in frontier_chart(facts)
    chart = calibration_chart(facts)
    assert 'aria-label="accuracy against confidence"' in chart
    assert "perfectly calibrated" in chart and f"all: {found.sets.sizes['test']} rows" in chart


def test_the_chart_shows_the_test_rows_only(found) -> None:
    facts = fit_facts(found)
    chart = frontier_chart(facts)
    wide, narrow = chart.split("</svg>")[:2]
    for name in ("test_points", "baselines"):
        part = "point" if name == "test_points" else "baseline"
        wanted = [(i, p["bill"], p["quality"]) for i, p in enumerate(facts[name])]
        for drawing in (wide, narrow):
            tags = re.findall(
                rf'id="frontier-\w+-{part}-(\d+)" data-bill="(\S+)" data-quality="(\S+)"', drawing
            )
            assert [(int(i), float(x), float(y)) for i, x, y in tags] == wanted
    # Nothing that was measured on the validation set is drawn: moving it changes nothing.
    moved = {"quality": 0.123, "bill": 0.456, "quality_interval": [0.1, 0.2]}
    for key in ("frontier", "points"):
        facts[key] = [{**point, **moved} for point in facts[key]]
    facts["chosen"]["validation"].update(moved)
    assert frontier_chart(facts) == chart
    facts["test_points"][0]["quality"] -= 0.05
    assert frontier_chart(facts) != chart


def test_points_of_the_chart_have_tooltips(found) -> None:
    facts = fit_facts(found)
    (baseline, *_) = facts["baselines"]
    words = f"{baseline['name']}: $&lt;$ {baseline['bill']:.2f}, accuracy "
    assert f"<title>{words}{100 * baseline['quality']:.1f}%</title>" in frontier_chart(facts)


def test_few_baselines_have_names_in_the_wide_chart_and_letters_in_the_narrow_one(found) -> None:
    facts = fit_facts(found)
    facts["baselines"] = facts["baselines"][:4]
    wide, narrow = frontier_chart(facts).split("</svg>")[:2]
    first = facts["baselines"][1]["name"].split()[0]  # long names are wrapped
    assert f">{first}" in wide and ">B</text>" not in wide
    assert ">B</text>" in narrow and f">{first} " not in narrow.replace(f"<title>{first}", "")


def test_many_baselines_have_letters_in_the_chart_and_in_the_table(found) -> None:
    facts = fit_facts(found)
    facts["baselines"] = (facts["baselines"] * 3)[:6]
    wide, narrow = frontier_chart(facts).split("</svg>")[:2]
    assert ">F</text>" in wide and ">F</text>" in narrow
    assert '<table class="keyed">' in render_page(facts)
    facts["baselines"] = facts["baselines"][:4]
    assert '<table class="keyed">' not in render_page(facts)
