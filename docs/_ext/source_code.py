"""Sphinx extension: links from an equation or a step of an algorithm to the line of code.

``:source:`thrifty.learn.boosting.grower.Grower.grow``` links to that line on a page with the whole
module, which is made when the site is built. A name that does not exist is a warning. A title may
precede the name: ``:source:`grow a tree <thrifty.learn.boosting.grower.Grower.grow>```.
"""

from __future__ import annotations

import ast
import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.util.docutils import ReferenceRole

SOURCES = Path(__file__).resolve().parents[2] / "src"
FOLDER = "_source"
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class SourceRole(ReferenceRole):
    """The role: a link to the definition of a class or function, or to a module."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the link; warn if nothing has this name."""
        found = find(self.target)
        if found is None:
            message = self.inliner.reporter.warning(
                f"no class, function or module {self.target}", line=self.lineno
            )
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        module, line = found
        self.env.source_modules.setdefault(self.env.docname, set()).add(module)
        up = "../" * self.env.docname.count("/")
        address = f"{up}{FOLDER}/{module}.html" + (f"#L-{line}" if line else "")
        title = self.title if self.has_explicit_title else short_name(self.target)
        link = nodes.reference("", "", refuri=address, internal=True, classes=["source-link"])
        link += nodes.literal("", title) if not self.has_explicit_title else nodes.Text(title)
        return [link], []


def find(name: str) -> tuple[str, int] | None:
    """Return the module of a dotted name, and the line of its definition, 0 for the module."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        path = module_file(".".join(parts[:n]))
        if path is None:
            continue
        body: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
        line = 0
        for part in parts[n:]:
            node = next((b for b in body if isinstance(b, DEFINITIONS) and b.name == part), None)
            if node is None:
                return None
            line, body = node.lineno, node.body
        return ".".join(parts[:n]), line
    return None


def module_file(module: str) -> Path | None:
    """Return the file of a module or package, None if there is none."""
    path = SOURCES.joinpath(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


def short_name(name: str) -> str:
    """Return the last parts of a name: the class and its method, or the function."""
    parts = name.split(".")
    n = 2 if len(parts) > 1 and parts[-2][:1].isupper() else 1
    return ".".join(parts[-n:])


def source_pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each module that is linked."""
    style = HtmlFormatter(lineanchors="L", anchorlinenos=True, linenos="inline")
    for module in sorted(set().union(*app.env.source_modules.values())):
        code = highlight(module_file(module).read_text(encoding="utf-8"), PythonLexer(), style)
        body = f'<h1>{html.escape(module)}</h1><div class="source-code" tabindex="0">{code}</div>'
        yield f"{FOLDER}/{module}", {"title": module, "body": body, "parents": []}, "page.html"


def start(app: Any) -> None:
    """Make the record of links, which is kept between builds."""
    if not hasattr(app.env, "source_modules"):
        app.env.source_modules = {}


def forget(app: Any, env: Any, page: str) -> None:
    """Drop the links of a page that is read again."""
    env.source_modules.pop(page, None)


def setup(app: Any) -> dict[str, bool]:
    """Register role and pages with Sphinx."""
    app.add_role("source", SourceRole())
    app.connect("builder-inited", start)
    app.connect("env-purge-doc", forget)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
