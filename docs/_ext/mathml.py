"""Sphinx extension: write equations as MathML when the pages are built.

Browsers show MathML by themselves, so pages need no script and no font from the network.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def visit_inline(writer: Any, node: nodes.math) -> None:
    """Write an equation in the line."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.math_block) -> None:
    """Write an equation of its own, with its number and a link to it if it has a label."""
    writer.body.append(writer.starttag(node, "div", CLASS="math-block", tabindex="0"))
    writer.body.append(convert(node.astext(), display="block"))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({node["number"]})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
