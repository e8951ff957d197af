"""`python -m thrifty.cli` is `thrifty`."""

from __future__ import annotations

from thrifty.cli.group import main

main(prog_name="thrifty")
