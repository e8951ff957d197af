"""Look at the pages of `thrifty serve` in Chromium: pictures, and what axe finds.

    python tools/pages.py MODEL FOLDER [AXE]

MODEL is a model file. FOLDER gets a picture of every page, wide and narrow, light and dark. AXE is
the path of axe.min.js (npm install axe-core; its license, the MPL, keeps it out of the
requirements): every page is checked with it, and findings are printed.
"""

from __future__ import annotations

import re
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from thrifty.bundle import load_points
from thrifty.serve import Ledger, Runtime
from thrifty.web import Settings, create_app

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SIZES = {"wide": 1280, "narrow": 360}
SCHEMES = ("light", "dark")
TOKEN = "a token to look at pages"
RUN_AXE = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.map(each => [each.id, each.impact, each.nodes.map(node => node.html)]);
}"""


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an app in a thread; yield its address."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, port=0)
    server = uvicorn.Server(config)
    with config.bind_socket() as socket:
        thread = threading.Thread(target=server.run, args=([socket],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{socket.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a browser: that of the system, nothing is downloaded."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    with sync_playwright() as playwright:
        # No sandbox, since this may run as root in a container.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def visits(page: Page, address: str) -> Iterator[str]:
    """Visit every page; yield its name while it is shown."""

    def press(name: str) -> None:
        with page.expect_navigation():
            page.locator("button, a").filter(has_text=re.compile(f"^{name}$")).click()

    page.goto(address)
    yield "login"
    page.fill("#token", TOKEN)
    press("Log in")
    page.fill("#cap", "10")
    press("Start")
    yield "question"
    press("Save")
    yield "error"
    if page.get_by_role("radio").count():
        page.get_by_role("radio").first.check()
    else:
        page.locator("[inputmode=decimal]:visible").fill("50")
    press("Save")
    yield "next"
    press("Cases")
    yield "home"
    with page.expect_navigation():
        page.locator("td a").first.click()
    press("Stop here")
    yield "answer"
    press("Receipt")
    yield "receipt"
    page.goto(f"{address}/docs")
    yield "docs"
    page.goto(f"{address}/cases/none")
    yield "problem"


def main(model: str, folder: str, axe: str | None = None) -> Counter[str]:
    """Visit every page in every size and scheme; return the findings by impact."""
    points = load_points(model)
    predictor = points.predictor
    found: Counter[str] = Counter()
    for size, width in SIZES.items():
        for scheme in SCHEMES:
            ledger = Ledger.temporary()
            runtime = Runtime(predictor, [], ledger, asked=predictor.schema.names)
            app = create_app(predictor, Path(model).stem, Settings(token=TOKEN), runtime, points)
            with serving(app) as address, chromium() as browser:
                page = browser.new_page(
                    viewport={"width": width, "height": 740},
                    color_scheme=scheme,  # type: ignore[arg-type]
                    bypass_csp=axe is not None,  # the pages themselves allow no scripts
                )
                for name in visits(page, address):
                    path = Path(folder) / f"{name}-{size}-{scheme}.png"
                    page.screenshot(path=path, full_page=True)
                    if axe is None:
                        continue
                    page.evaluate(Path(axe).read_text())
                    for rule, impact, nodes in page.evaluate(RUN_AXE):
                        print(f"{name} {size} {scheme}: {impact}: {rule}: {nodes}")
                        found[impact] += len(nodes)
            ledger.close()
    return found


if __name__ == "__main__":
    print("findings:", dict(main(*sys.argv[1:])) or "none")
