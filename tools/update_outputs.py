"""Run the snippets on pages of the documentation, and write what they print below them.

    python tools/update_outputs.py docs/tutorials/*.rst

Use it when a change alters figures on a page, and read the difference before you commit it: the
text around a figure must still be true. Output that has an ellipsis or a traceback on the page, and
snippets that are skipped, stay as they are.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def updated(text: str) -> str:
    """Return a page with the output of its snippets, which run in the current folder."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    parts = []
    for part in doctest.DocTestParser().parse(text):
        if isinstance(part, str):
            parts.append(part)
            continue
        margin = " " * part.indent
        prompts = [">>> ", *["... "] * part.source.count("\n")]
        lines = [
            f"{margin}{prompt}{line}".rstrip()
            for prompt, line in zip(prompts, part.source.splitlines(), strict=False)
        ]
        lines += [f"{margin}{line}".rstrip() for line in output_of(part, namespace).splitlines()]
        parts.append("\n".join(lines) + "\n")
    return "".join(parts)


def output_of(snippet: doctest.Example, namespace: dict[str, Any]) -> str:
    """Run a snippet and return what it prints, as doctest wants it on a page."""
    if snippet.options.get(doctest.SKIP):
        return snippet.want
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(snippet.source, "<page>", "single"), namespace)
        except Exception:
            if snippet.exc_msg is None:
                raise
    if "..." in snippet.want or snippet.exc_msg is not None:
        return snippet.want
    return "\n".join(line or "<BLANKLINE>" for line in printed.getvalue().splitlines())


def main(pages: list[str]) -> None:
    """Update pages, each in an empty folder of its own."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    here = Path.cwd()
    for page in map(Path, pages):
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                new = updated(text)
            finally:
                os.chdir(here)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
