"""Sphinx extension: write equations as MathML when the pages are built.

Browsers show MathML by themselves, so pages need no script and no font from the network.
"""

from __future__ import annotations

import re
from itertools import cycle
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
MATHML = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", MATHML)
# What has its limits below and above it in an equation of its own.
WITH_LIMITS = {"\u2211", "\u220f", "min", "max", "argmin", "argmax"}
LIMITS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}


def to_mathml(node: nodes.Element, display: str) -> str:
    """Return an equation as MathML; warn of commands that the converter does not know."""
    latex = node.astext().replace(r"\arg\min", r"\operatorname{argmin}")
    latex = latex.replace(r"\arg\max", r"\operatorname{argmax}")
    # The same environment under the name that the converter knows.
    latex = latex.replace("{aligned}", "{split}")
    # Delimiters of a fixed size are not known: let them grow with what they enclose.
    latex = re.sub(r"\\[bB]ig(?=[(\[])", r"\\left", latex)
    latex = re.sub(r"\\[bB]ig(?=[)\]])", r"\\right", latex)
    sides = cycle((r"\left", r"\right"))
    latex = re.sub(r"\\[bB]ig(?=\\\||\|)", lambda _: next(sides), latex)
    mathml: str = convert(latex, display=display)
    if unknown := re.findall(r"\\[A-Za-z|]+|(?<=>)&(?=<)", mathml):
        LOGGER.warning("no MathML for %s", ", ".join(unknown), location=node)
        return mathml
    return mathml if display == "inline" else place_limits(mathml)


def place_limits(mathml: str) -> str:
    """Return an equation whose sums and minima have their limits below and above them."""
    equation = ElementTree.fromstring(mathml)
    for element in equation.iter():
        tag = element.tag.removeprefix(f"{{{MATHML}}}")
        if tag in LIMITS and "".join(element[0].itertext()) in WITH_LIMITS:
            element.tag = f"{{{MATHML}}}{LIMITS[tag]}"
    return ElementTree.tostring(equation, encoding="unicode")


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
