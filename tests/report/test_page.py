"""The page: one valid file that needs no network and trusts no name."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from thrifty.report import facts, facts_of, page, write

VOID = {"meta", "br", "hr", "img", "link", "input"}
# Shapes that SVG closes at once.
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
    return page(facts(found, title="Heart & <soul>", note="Prices are made up."))


@pytest.mark.parametrize("name", ["found", "frugal", "regression"])
def test_every_tag_is_closed(name, request) -> None:
    html = page(facts(request.getfixturevalue(name)))
    assert html.startswith("<!DOCTYPE html>")
    tags = [tag for tag, _ in read(html).tags]
    assert tags.count("svg") == (1 if name == "regression" else 2)
    assert {"title", "h1", "table", "style"} <= set(tags)


def test_ids_are_there_once(html) -> None:
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
    assert page(facts(found, title="Heart & <soul>", note="Prices are made up.")) == html


def test_colors_are_those_of_the_page(html) -> None:
    drawing = html[html.index("<svg") : html.index("</svg>")]
    assert not re.search(r"#[0-9a-f]{6}\b[^\"]*;?", re.sub(r"(href=\"|url\()#\w+", "", drawing))
    assert "var(--accent)" in drawing
    assert "prefers-color-scheme: dark" in html and "@media print" in html


def test_the_story_is_on_the_page(html, found) -> None:
    told = facts(found)
    words = re.sub(r"\s+", " ", " ".join(read(html).words))
    for wanted in (told["headline"], told["examples"][0]["story"], found.data, "budget", "chosen",
                   "all features fetched", "plain boosting", "Prices are made up."):  # fmt: skip
        assert wanted in words


def test_a_predictor_alone_has_a_page_too(found) -> None:
    html = page(facts_of(found.predictor, found.test, title="This month"))
    words = " ".join(read(html).words)
    assert "This month" in words and "Calibration" in words and "Right and wrong" in words
    assert "The points of the frontier" not in words


def test_a_budget_far_beyond_the_curve_does_not_squeeze_it(regression) -> None:
    ticks = re.findall(r"<text[^>]*>([\d.]+)</text>", page(facts(regression)))
    assert max(map(float, ticks)) < 100


def test_a_page_is_put_in_place_whole(tmp_path) -> None:
    path = tmp_path / "report.html"
    write("old", path)
    write("new", path)
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path) -> None:
    with pytest.raises(OSError):
        write("new", tmp_path / "absent" / "report.html")
    folder = tmp_path / "folder"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(OSError):
        write("new", folder)
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]
