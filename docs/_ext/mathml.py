"""Sphinx extension: write equations as MathML when the pages are built.

Browsers show MathML by themselves, so pages need no script and no font from the network.
"""

from __future__ import annotations

import re
from itertools import cycle
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def to_mathml(node: nodes.Element, display: str) -> str:
    """Return an equation as MathML; warn of commands that the converter does not know."""
    latex = node.astext().replace(r"\arg\min", r"\operatorname{argmin}")
    latex = latex.replace(r"\arg\max", r"\operatorname{argmax}")
    # Delimiters of a fixed size are not known: let them grow with what they enclose.
    latex = re.sub(r"\\[bB]ig(?=[(\[])", r"\\left", latex)
    latex = re.sub(r"\\[bB]ig(?=[)\]])", r"\\right", latex)
    sides = cycle((r"\left", r"\right"))
    latex = re.sub(r"\\[bB]ig(?=\\\||\|)", lambda _: next(sides), latex)
    mathml: str = convert(latex, display=display)
    if unknown := re.findall(r"\\[A-Za-z|]+", re.sub(r"<[^>]+>", " ", mathml)):
        LOGGER.warning("no MathML for %s", ", ".join(unknown), location=node)
    return mathml


def visit_inline(writer: Any, node: nodes.math) -> None:
    """Write an equation in the line."""
    writer.body.append(to_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.math_block) -> None:
    """Write an equation of its own, with its number and a link to it if it has a label."""
    writer.body.append(writer.starttag(node, "div", CLASS="math-block", tabindex="0"))
    writer.body.append(to_mathml(node, "block"))
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
