"""The page in a real browser: it renders in light mode, dark mode and print, without network.

The tests need Chromium. Without it they are skipped, or fail where CI is set.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from html import escape
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from thrifty.report import card_facts, fit_facts, model_card, render_page, write_page

NAMES = ("chromium", "chromium-browser", "google-chrome")
# No sandbox, since tests may run as root in a container; every host name fails to resolve.
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND")  # fmt: skip
DARK = "--blink-settings=preferredColorScheme=0"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Run Chromium with some arguments and return what it prints."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and os.environ.get("CI"):
        pytest.fail(f"CI must show the page in a browser, and there is none of {NAMES}")
    if found is None:
        pytest.skip(f"there is no browser here: none of {NAMES}")
    home = tmp_path_factory.mktemp("browser")

    def run(*arguments: str) -> str:
        command = [found, *FLAGS, f"--user-data-dir={home}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout

    return run


@pytest.fixture(scope="module")
def address(found, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    note = f"A path of the user: {'folder_' * 20}"  # a word wider than a phone
    write_page(render_page(fit_facts(found, title="Heart & <soul>", note=note)), path)
    return path.as_uri()


def shot(browser, address: str, path: Path, width: int, *flags: str) -> np.ndarray:
    browser(f"--screenshot={path}", f"--window-size={width},1400", *flags, address)
    return imread(path)[..., :3]


def test_the_browser_reads_the_page_as_it_was_written(browser, address) -> None:
    dom = browser("--dump-dom", address)
    headings = re.findall(r"<h2>([^<]+)</h2>", dom)
    assert headings[:2] == ["Settings", "Result"]
    assert {"Cost/quality curve", "Calibration", "Confusion matrix", "Examples"} <= {*headings}
    assert dom.count("<svg") == 4 and "Heart &amp; &lt;soul&gt;" in dom


@pytest.mark.parametrize("width", [1280, 420])
def test_the_page_fills_wide_and_narrow_windows(browser, address, tmp_path, width) -> None:
    pixels = shot(browser, address, tmp_path / "page.png", width)
    assert pixels.shape[1] == width
    ink = (pixels < 0.6).any(axis=2)
    assert 0.005 < ink.mean() < 0.5
    # Text down the whole window, and nothing drawn over the right edge.
    assert np.flatnonzero(ink.any(axis=1)).max() > 1200
    assert not ink[:, -4:].any()


@pytest.fixture(scope="module")
def card(found, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("card") / "card.html"
    facts = fit_facts(found, title="Heart & <soul>", source="folder_" * 20)
    by = {"sex": found.test.table["sex"], "chol & co": found.test.table["chol & co"]}
    facts |= card_facts(found.predictor, {"training": found.sets.train, "test": found.test}, by=by)
    write_page(model_card(facts, html=True), path)
    return path.as_uri()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["address", "card"])
def test_nothing_is_wider_than_the_window(browser, name, tmp_path, width, request) -> None:
    address = request.getfixturevalue(name)
    # A browser window has a least width, but a frame has not; its page follows the frame's width.
    html = escape(Path(address.removeprefix("file://")).read_text())
    frame = "document.querySelector('iframe').contentDocument.documentElement"
    path = tmp_path / "frame.html"
    path.write_text(
        f'<iframe width="{width}" style="border: 0" srcdoc="{html}"></iframe><script>onload = () =>'
        f"{{ document.title = [{frame}.clientWidth, {frame}.scrollWidth] }}</script>"
    )
    dom = browser("--dump-dom", path.as_uri())
    shown, needed = map(int, re.findall(r"<title>(\d+),(\d+)</title>", dom)[0])
    assert shown == width and needed <= width


def test_the_page_follows_light_and_dark_mode(browser, address, tmp_path) -> None:
    light = shot(browser, address, tmp_path / "light.png", 900)
    dark = shot(browser, address, tmp_path / "dark.png", 900, DARK)
    assert np.median(light) > 0.95
    assert np.median(dark) < 0.2
    # The text stands out in both.
    assert light.min() < 0.3 and dark.max() > 0.7


def test_the_curve_is_drawn_in_the_colors_of_the_page(browser, address, tmp_path) -> None:
    pixels = shot(browser, address, tmp_path / "page.png", 900)
    accent = np.array([0x1F, 0x6F, 0xEB]) / 255
    near = np.abs(pixels - accent).max(axis=2) < 0.06
    assert near.sum() > 100  # the markers, if nothing else


def test_the_page_can_be_printed(browser, address, tmp_path) -> None:
    path = tmp_path / "report.pdf"
    browser(f"--print-to-pdf={path}", address)
    data = path.read_bytes()
    assert data.startswith(b"%PDF") and len(data) > 10_000
