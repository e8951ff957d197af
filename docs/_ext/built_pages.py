"""Sphinx extension: check the pages that were built.

Nothing may be loaded from the network, and every link within the site must lead to a page, and to a
place on it. A finding is a warning, and so an error where warnings are.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
# What a browser fetches by itself: scripts, pictures, style sheets, fonts. Links are not.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\s(?:src|data)="([^"]+)"
      | <link\b(?=[^>]*\srel="(?:stylesheet|preload|modulepreload|icon|shortcut\ icon|manifest)")
        [^>]*?\shref="([^"]+)" """,
    re.VERBOSE,
)
IN_STYLE = re.compile(r"""(?:@import\s+|url\()\s*["']?((?:https?:)?//[^"')\s]+)""")
LINK = re.compile(r'<a\b[^>]*?\shref="([^"]*)"')
PLACE = re.compile(r'\s(?:id|name)="([^"]+)"')


def check_pages(app: Any, exception: Exception | None) -> None:
    """Warn of everything on the built pages that is not in the folder of the site."""
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir).resolve()
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    places = {path: set(PLACE.findall(text)) for path, text in pages.items()}
    for path, text in pages.items():
        for found in LOADED.findall(text):
            address = "".join(found)
            if urlsplit(address).netloc:
                LOGGER.warning("%s loads %s", path.relative_to(site), address)
        for address in set(LINK.findall(text)):
            if not leads_somewhere(address, path, places):
                LOGGER.warning("%s has a broken link: %s", path.relative_to(site), address)
    for path in site.rglob("*.css"):
        for address in IN_STYLE.findall(path.read_text(encoding="utf-8")):
            LOGGER.warning("%s loads %s", path.relative_to(site), address)


def leads_somewhere(address: str, page: Path, places: dict[Path, set[str]]) -> bool:
    """Return whether a link leads out of the site, or to a file, and to a place in it if named."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file():
        return False
    return not parts.fragment or target not in places or unquote(parts.fragment) in places[target]


def setup(app: Any) -> dict[str, bool]:
    """Register the check with Sphinx."""
    app.connect("build-finished", check_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
