"""The command line: one file per command. Each parses, calls the library and prints.

- `group`: the command `thrifty` itself; maps errors to exit codes.
- `options`: options that several commands share, and the training data that they name.
- `tables`: reads CSV and Parquet files.
- `console`: prints progress, tables, JSON and the results of a fit.

Everything heavy is imported inside the commands, so that ``thrifty --help`` stays fast.
"""

from __future__ import annotations

from thrifty.cli.group import main

__all__ = ["main"]
