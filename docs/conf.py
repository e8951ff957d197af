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

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    # In docs/_ext:
    "mathml",
    "source_code",
    "built_pages",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "code"  # docstrings quote code with single backticks
nitpicky = False
numfig = False

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_inherit_docstrings = True
autosummary_ignore_module_all = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"  # `fit`, as the name of the class is on the page already
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes are documented once, by autodoc
napoleon_use_rtype = False

# The button copies what a reader would type: no prompts, no output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "backreferences_dir": None,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "thumbnail_size": (400, 280),
}

# For `dev.py docs --links`: addresses that only stand for those of a reader, and pages of source
# code, which are made when the site is built.
linkcheck_ignore = [
    r"https?://(127\.0\.0\.1|localhost|[\w.]*example\.com)\b",
    r"(\.\./)*_source/",
]
linkcheck_timeout = 20
linkcheck_retries = 2

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = f"Thrifty {version}"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["thrifty.css"]
html_js_files = ["toggles.js"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Thrifty", "alt_text": "Thrifty: home"},
    "navbar_end": ["navbar-version", "theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "collapse_navigation": True,  # else every page would list all names of the API
    "navigation_with_keys": False,
    "show_toc_level": 2,
    # The table of all claims needs the room.
    "secondary_sidebar_items": {"**": ["page-toc"], "results/index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "install": []}


def skip_metadata_methods(app: Any, what: str, name: str, *_: Any) -> bool | None:
    """Skip the methods that scikit-learn generates, whose links lead to its own pages."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def remove_stale_pages(app: Any) -> None:
    """Remove the generated pages of names that the page of the API no longer lists."""
    reference = Path(app.srcdir) / "reference"
    listed = set(
        re.findall(r"^   (thrifty\S+)$", (reference / "api.rst").read_text(), re.MULTILINE)
    )
    for page in reference.glob("generated/*.rst"):
        if page.stem not in listed:
            page.unlink()


def setup(app: Any) -> None:
    """Register the hooks; Sphinx calls this."""
    app.connect("autodoc-skip-member", skip_metadata_methods)
    app.connect("builder-inited", remove_stale_pages)
