"""The pictures of the tutorials: run the code on each page, and keep what it draws.

`tutorial_pictures.py` writes docs/tutorials/pictures. The tests run the same code.
"""

from __future__ import annotations

import doctest
import os
import shutil
import tempfile
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}

TUTORIALS = Path(__file__).resolve().parent.parent / "docs" / "tutorials"
PICTURES = TUTORIALS / "pictures"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def main() -> None:
    """Run every tutorial that draws in a folder of its own; stop if one has changed its output."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir()
    here = Path.cwd()
    for page in sorted(TUTORIALS.glob("*.rst")):
        if "savefig" not in page.read_text(encoding="utf-8"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
            os.chdir(here)
            if failed:
                raise SystemExit(f"{page.name} does not print what it says; see above")
            for picture in sorted(Path(folder).glob("*.png")):
                shutil.move(picture, PICTURES / picture.name)
                print(picture.name, flush=True)


if __name__ == "__main__":
    main()
