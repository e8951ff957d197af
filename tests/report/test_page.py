"""The page: one valid file that needs no network and trusts no name."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from report_models import LINEAR_PRICES

from thrifty import GreedyMiserRegressor, SubmodularTreeClassifier
from thrifty.learn.dataset import ValidationSet
from thrifty.report import fit_facts, predictor_facts, render_page, write_page

VOID = {"meta", "br", "hr", "img", "link", "input"}
# Shapes that are empty elements in SVG.
EMPTY_SHAPES = {"path", "use", "rect"}


class Reader(HTMLParser):
    """Checks that tags are closed in order and collects what is there."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))
        assert tag in EMPTY_SHAPES

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.words.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def html(found) -> str:
    return render_page(fit_facts(found, title="Heart & <soul>", note="Prices are made up."))


@pytest.mark.parametrize("name", ["found", "frugal", "regression"])
def test_every_tag_is_closed(name, request) -> None:
    html = render_page(fit_facts(request.getfixturevalue(name)))
    assert html.startswith("<!DOCTYPE html>")
    tags = [tag for tag, _ in read(html).tags]
    assert tags.count("svg") == (2 if name == "regression" else 4)  # wide and narrow
    assert {"title", "h1", "table", "style"} <= set(tags)


def test_ids_are_unique(html) -> None:
    ids = [attrs["id"] for _, attrs in read(html).tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:href="#|url\(#)([\w.-]+)', html)
    assert used and set(used) <= set(ids)


def test_nothing_is_fetched(html) -> None:
    assert "http://" not in html and "https://" not in html
    reader = read(html)
    assert not {tag for tag, _ in reader.tags} & {"script", "link", "img", "iframe"}
    assert all(attrs.get("href", "#").startswith("#") for _, attrs in reader.tags)
    assert not any("src" in attrs for _, attrs in reader.tags)


def test_names_and_labels_are_text_and_not_markup(html) -> None:
    assert "<b>age" not in html and "<script>" not in html
    words = "".join(read(html).words)
    for name in ("Heart & <soul>", "<b>age</b>", "chol & co", "<script>", "$<$"):
        assert name in words


def test_the_page_is_small_and_the_same_every_time(found, html) -> None:
    assert len(html.encode()) < 500_000
    again = fit_facts(found, title="Heart & <soul>", note="Prices are made up.")
    assert render_page(again) == html


def test_colors_are_those_of_the_page(html) -> None:
    drawing = html[html.index("<svg") : html.index("</svg>")]
    assert not re.search(r"#[0-9a-f]{6}\b[^\"]*;?", re.sub(r"(href=\"|url\()#\w+", "", drawing))
    assert "var(--line-0)" in drawing
    assert "prefers-color-scheme: dark" in html and "@media print" in html


def test_the_facts_are_on_the_page(html, found) -> None:
    facts = fit_facts(found)
    words = re.sub(r"\s+", " ", " ".join(read(html).words))
    for wanted in (facts["headline"], facts["examples"][0]["story"], found.data, "budget", "chosen",
                   "plain forest on all features", "Prices are made up."):  # fmt: skip
        assert wanted in words


def test_a_predictor_alone_has_a_page_too(found) -> None:
    html = render_page(predictor_facts(found.predictor, found.test, title="This month"))
    words = " ".join(read(html).words)
    assert "This month" in words and "Calibration" in words and "Confusion matrix" in words
    assert "Pareto frontier" not in words and "Result" not in words


def test_a_budget_far_beyond_the_curve_does_not_squeeze_it(regression) -> None:
    ticks = re.findall(r"<text[^>]*>([\d.]+)</text>", render_page(fit_facts(regression)))
    assert max(map(float, ticks)) < 100


def test_a_page_is_written_whole(tmp_path) -> None:
    path = tmp_path / "report.html"
    write_page("old", path)
    write_page("new", path)
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_failed_write_leaves_nothing(tmp_path) -> None:
    with pytest.raises(OSError):
        write_page("new", tmp_path / "absent" / "report.html")
    folder = tmp_path / "folder"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(OSError):
        write_page("new", folder)
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_a_tree_of_linear_models_is_listed_node_by_node() -> None:
    table = np.random.default_rng(0).normal(size=(400, 4))
    y = np.where(table[:, 0] + 0.2 * table[:, 1] > 0, "yes", "<no>")
    model = SubmodularTreeClassifier(LINEAR_PRICES, node_budget=3, max_depth=3).fit(table, y)
    rows = ValidationSet.for_predictor(model.predictor_, "classification", table, y)
    html = render_page(predictor_facts(model.predictor_, rows))
    assert "<h2>Tree</h2>" in html and "up to the threshold of 0" in html
    other = GreedyMiserRegressor(n_estimators=3).fit(table, table[:, 0])
    rows = ValidationSet.for_predictor(other.predictor_, "regression", table, table[:, 0])
    assert "<h2>Tree</h2>" not in render_page(predictor_facts(other.predictor_, rows))


def test_figures_of_the_test_set_have_intervals(found, html) -> None:
    facts = fit_facts(found)
    test = facts["test"]
    words = " ".join(read(html).words)
    low, high = (f"{100 * test[key]:.1f}%" for key in ("quality_low", "quality_high"))
    assert f"{low} to {high}" in words
    assert test["quality_low"] < test["quality"] < test["quality_high"]


def test_ends_of_an_interval_that_look_the_same_are_left_out(found) -> None:
    facts = fit_facts(found)
    facts["test"] |= {"bill": 3.3333, "bill_low": 3.3331, "bill_high": 3.3334}
    assert "3.33 to 3.33" not in render_page(facts)


def test_groups_are_explained_where_there_are_some(found) -> None:
    facts = fit_facts(found)
    words = "The shared price of a group is paid once"
    for item in facts["bought"]:
        item["group"] = "blood"
        item["shared"] = 2.0
    assert words in render_page(facts)
    for item in facts["bought"]:
        item["group"] = None
    assert words not in render_page(facts)
    facts["settings"]["features"] = len(facts["bought"])
    assert "Never bought" not in render_page(facts)


def test_baselines_have_the_letters_of_the_narrow_chart(found, html) -> None:
    name = fit_facts(found)["baselines"][1]["name"]
    assert f'<span class="key">B</span> {name}</td>' in html


def test_what_a_user_must_know_first_comes_first(found) -> None:
    facts = fit_facts(found)
    facts |= {"remarks": ["A baseline is ahead."], "comparison": "2.00 per example.",
              "constant": {**facts["test"], "quality": 0.5}}  # fmt: skip
    html = render_page(facts)
    assert html.index('<p class="warn">A baseline is ahead.</p>') < html.index("2.00 per example.")
    assert "<td>constant, buys nothing</td>" in html and "50.0%" in html


def test_an_interval_that_is_not_known_is_left_out(found) -> None:
    facts = fit_facts(found)
    unknown = dict.fromkeys(["bill_low", "bill_high", "quality_low", "quality_high"])
    for result in (facts["test"], *facts["baselines"], *facts["test_points"]):
        result |= unknown
    html = render_page(facts)
    assert "None" not in html and read(html).open == []
