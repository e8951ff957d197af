"""Makes `python -m thrifty.cli` the same as `thrifty`."""

from __future__ import annotations

from thrifty.cli.group import main

main(prog_name="thrifty")
