"""Look at the built documentation in Chromium: pictures, what overflows, and what axe finds.

    python tools/site.py FOLDER [AXE]

Build the site first (`python3 dev.py docs`). FOLDER gets a picture of some pages, wide and narrow,
light and dark. AXE is the path of axe.min.js, as for tools/pages.py. Findings are printed.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from pages import RUN_AXE, SCHEMES, SIZES, chromium

SITE = Path(__file__).resolve().parents[1] / "docs" / "_build" / "html"
PAGES = {
    "front": "index.html",
    "tutorial": "tutorials/clinic.html",
    "howto": "howto/compare-cegb.html",
    "method": "methods/greedymiser.html",
    "api": "reference/generated/thrifty.BudgetClassifier.html",
    "gallery": "gallery/index.html",
    "example": "gallery/plot_policy.html",
    "comparison": "how-it-compares.html",
    "results": "results/index.html",
}
# What is wider than the window and does not scroll by itself.
OVERFLOW = "() => document.documentElement.scrollWidth - window.innerWidth"
FOREIGN = ("http://", "https://")


def main(folder: str, axe: str | None = None) -> Counter[str]:
    """Visit the pages in every size and scheme; return the findings by kind."""
    found: Counter[str] = Counter()
    with chromium() as browser:
        for size, width in SIZES.items():
            for scheme in SCHEMES:
                page = browser.new_page(
                    viewport={"width": width, "height": 800},
                    color_scheme=scheme,  # type: ignore[arg-type]
                )
                loaded: list[str] = []
                page.on("request", lambda request, loaded=loaded: loaded.append(request.url))
                for name, path in PAGES.items():
                    page.goto((SITE / path).as_uri())
                    page.screenshot(path=Path(folder) / f"{name}-{size}-{scheme}.png")
                    where = f"{name} {size} {scheme}"
                    if (excess := page.evaluate(OVERFLOW)) > 0:
                        print(f"{where}: {excess} pixels too wide")
                        found["overflow"] += 1
                    if axe is None:
                        continue
                    page.evaluate(Path(axe).read_text())
                    for rule, impact, nodes in page.evaluate(RUN_AXE):
                        print(f"{where}: {impact}: {rule}: {nodes[:3]}")
                        found[impact] += len(nodes)
                for address in {url for url in loaded if url.startswith(FOREIGN)}:
                    print(f"{size} {scheme}: loads {address}")
                    found["network"] += 1
                page.close()
    return found


if __name__ == "__main__":
    print("findings:", dict(main(*sys.argv[1:])) or "none")
