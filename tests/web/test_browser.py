"""The pages in a real browser: a case by mouse and by keyboard, narrow and dark, without scripts.

The tests need Chromium. Without it they are skipped, or fail where CI is set.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from thrifty.serve import Ledger, Runtime
from thrifty.web import Settings, create_app

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import pages as tool

PICTURE = b"\x89PNG"


@pytest.fixture(scope="module")
def browser():
    if not any(map(shutil.which, tool.CHROMIUM)):
        if os.environ.get("CI"):
            pytest.fail(f"CI must use the pages in a browser, and there is none of {tool.CHROMIUM}")
        pytest.skip(f"there is no browser here: none of {tool.CHROMIUM}")
    with tool.chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(hostile):
    with Ledger.temporary() as ledger:
        runtime = Runtime(hostile, [], ledger, asked=hostile.schema.names)
        app = create_app(hostile, "hostile", Settings(), runtime)
        with tool.serving(app) as found:
            yield found


@pytest.fixture
def page(browser, address):
    """A page of a browser without scripts that has opened the first page; nothing may fail."""
    problems = []
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, java_script_enabled=False
    )
    page = context.new_page()
    page.on("console", lambda message: problems.append(message.text))
    page.on("requestfailed", lambda request: problems.append(request.url))
    page.goto(address)
    yield page
    context.close()
    # A refused form is a response that the console mentions, and no fault of the page.
    assert [text for text in problems if "status of 422" not in text] == []


def overflow(page) -> int:
    """Return how many pixels a page is wider than its window."""
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def focused(page) -> str:
    """Return the text of the element that has the focus."""
    return page.evaluate("document.activeElement.innerText")


def tab_to(page, name: str, most: int = 40) -> None:
    """Press the tab key until an element with this text or label has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        label = "document.activeElement.labels?.[0]?.innerText || document.activeElement.innerText"
        if page.evaluate(label).strip().startswith(name):
            return
    raise AssertionError(f"{name!r} cannot be reached with the keyboard")


def enter(page) -> str:
    """Press the enter key; return the heading of the page that this leads to."""
    with page.expect_navigation():
        page.keyboard.press("Enter")
    return page.locator("h1").inner_text()


def test_a_case_by_mouse(page) -> None:
    page.get_by_label("Cap").fill("20")
    page.get_by_role("button", name="Start").click()
    assert page.locator("h1").inner_text() == "<b>age</b>"
    page.get_by_label("What is it?").fill("30")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Back").click()
    page.get_by_label("What is it?").fill("35")
    page.get_by_role("button", name="I already have this").click()
    page.get_by_role("radio", name="f", exact=True).check()
    page.get_by_role("button", name="Save").click()
    assert page.locator("h1").inner_text() == "grade"
    page.get_by_role("button", name="Not possible").click()
    assert page.locator("h1").inner_text() == "Answer"
    page.get_by_role("link", name="Receipt").click()
    receipt = page.get_by_role("main").inner_text()
    assert "<b>age</b>: 35" in receipt and "EUR 0.50" in receipt and "not possible" in receipt


def test_a_case_by_keyboard(page) -> None:
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    tab_to(page, "Cap")
    page.keyboard.type("20")
    tab_to(page, "Start")
    enter(page)
    tab_to(page, "What is it?")
    page.keyboard.type("30")
    assert enter(page) == "sex"  # Enter in a field saves
    tab_to(page, '"><script>')
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    tab_to(page, "Save")
    assert enter(page) == "grade"
    tab_to(page, "Back")
    assert enter(page) == "sex"
    tab_to(page, "Not possible")
    enter(page)
    tab_to(page, "Stop here")
    assert enter(page) == "Answer"
    tab_to(page, "Receipt")
    assert enter(page) == "Receipt"


def test_the_focus_is_on_what_went_wrong(page) -> None:
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Save").click()
    page.wait_for_selector("[role=alert]")
    assert focused(page).startswith("There is a problem")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.name") == "f0"


def test_what_has_the_focus_can_be_seen(page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid"


def test_a_browser_refuses_what_is_no_number(page) -> None:
    page.get_by_role("button", name="Start").click()
    page.get_by_label("What is it?").press_sequentially("1e")
    page.get_by_role("button", name="Save").click()
    assert not page.url.endswith("/answer")
    page.get_by_role("button", name="Stop here").click()  # which needs no number
    assert page.locator("h1").inner_text() == "Answer"


def test_a_receipt_is_printed_without_navigation(page) -> None:
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Stop here").click()
    page.get_by_role("link", name="Receipt").click()
    page.emulate_media(media="print")
    assert not page.locator("header").is_visible() and page.locator("h1").is_visible()
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_phone_and_follows_the_system(browser, hostile, scheme) -> None:
    with Ledger.temporary() as ledger:
        runtime = Runtime(hostile, [], ledger, asked=hostile.schema.names)
        app = create_app(hostile, "a" * 60, Settings(token=tool.TOKEN), runtime)
        with tool.serving(app) as address:
            context = browser.new_context(
                viewport={"width": 360, "height": 740}, color_scheme=scheme
            )
            page = context.new_page()
            seen = []
            for name in tool.visits(page, address):
                seen.append(name)
                assert overflow(page) <= 0, name
                color = page.evaluate("getComputedStyle(document.body).backgroundColor")
                lightness = max(map(int, re.findall(r"\d+", color)))
                assert lightness > 200 if scheme == "light" else lightness < 60
            context.close()
    assert seen == [
        "login", "question", "error", "next", "home", "answer", "receipt", "docs", "problem"
    ]  # fmt: skip


def test_the_tool_takes_pictures_and_counts_findings(
    browser, hostile, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(tool, "SIZES", {"narrow": 360})
    monkeypatch.setattr(tool, "SCHEMES", ("dark",))
    monkeypatch.setattr(tool, "chromium", lambda: contextlib.nullcontext(browser))
    hostile.save(tmp_path / "model.thrifty")
    # Stands for axe: it has one finding, a heading of each page.
    fake = tmp_path / "axe.min.js"
    fake.write_text(
        "axe = {run: async () => ({violations: [{id: 'rule', impact: 'minor',"
        " nodes: [document.querySelector('h1')].map(h => ({html: h.outerHTML}))}]})}"
    )
    found = tool.main(str(tmp_path / "model.thrifty"), str(tmp_path), str(fake))
    pictures = sorted(tmp_path.glob("*.png"))
    assert found == {"minor": 9} and len(pictures) == 9
    assert all(path.read_bytes().startswith(PICTURE) for path in pictures)
