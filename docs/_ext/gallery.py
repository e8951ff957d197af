"""Sphinx extension: run the scripts in examples/ and show their code, output and picture.

Before the pages are read, every `examples/plot_*.py` is run in a fresh interpreter. The extension
writes `docs/examples/generated/NAME.rst` and `NAME.png`; `docs/examples/index.rst` lists the pages.
A page that is newer than its script and the whole library is kept as it is.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "src" / "thrifty"
SCRIPTS = ROOT / "examples"
GENERATED = ROOT / "docs" / "examples" / "generated"
# One thread and no display, as in the tests, so that every build gives the same pages.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}

PAGE = """\
{question}
{underline}

{text}

.. image:: {name}.png
   :alt: {question}

What it prints:

.. code-block:: text

{output}

The script, ``examples/{name}.py``:

.. literalinclude:: ../../../examples/{name}.py
   :start-at: import sys
"""


def build_gallery(app: Any) -> None:
    """Write one page per example; called by Sphinx before it reads the pages."""
    GENERATED.mkdir(parents=True, exist_ok=True)
    scripts = sorted(SCRIPTS.glob("plot_*.py"))
    for page in GENERATED.iterdir():
        if page.stem not in {script.stem for script in scripts}:
            page.unlink()
    library = max(file.stat().st_mtime for file in LIBRARY.rglob("*.py"))
    for script in scripts:
        page = GENERATED / f"{script.stem}.rst"
        newest = max(library, script.stat().st_mtime)
        if not page.exists() or page.stat().st_mtime < newest:
            page.write_text(example_page(script), encoding="utf-8")


def example_page(script: Path) -> str:
    """Run a script, which saves its picture, and return its page."""
    done = subprocess.run(
        [sys.executable, str(script), str(GENERATED)],
        capture_output=True,
        text=True,
        env={**os.environ, **ENVIRONMENT},
    )
    if done.returncode:
        raise RuntimeError(f"{script.name} failed:\n{done.stderr}")
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    question, _, text = docstring.partition("\n\n")
    return PAGE.format(
        question=question,
        underline="=" * len(question),
        text=text.strip(),
        name=script.stem,
        output=indent(done.stdout.strip("\n"), "    "),
    )


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", build_gallery)
    return {"parallel_read_safe": True}
