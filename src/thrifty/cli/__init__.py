"""The command line: one file per verb. It parses, calls the library and prints."""

from __future__ import annotations

from thrifty.cli.group import main

__all__ = ["main"]
