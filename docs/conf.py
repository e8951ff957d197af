"""Sphinx configuration: builds without network, from the docstrings and the files here."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import thrifty

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Thrifty"
author = "Thrifty contributors"
copyright = "Thrifty contributors"
version = release = thrifty.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "gallery"]  # the last: docs/_ext
exclude_patterns = ["_build"]
default_role = "code"  # docstrings quote code with single backticks
nitpicky = False

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_inherit_docstrings = True
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes are documented once, by autodoc
napoleon_use_rtype = False

html_theme = "alabaster"
html_static_path = ["_static"]
html_show_sourcelink = False
html_theme_options = {
    "description": "Prediction under a feature-cost budget",
    "fixed_sidebar": True,
    "show_powered_by": False,
}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}


def skip_metadata_methods(app: Any, what: str, name: str, *_: Any) -> bool | None:
    """Skip the methods that scikit-learn generates, whose links lead to its own pages."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app: Any) -> None:
    """Register the hook; Sphinx calls this."""
    app.connect("autodoc-skip-member", skip_metadata_methods)
