"""What Thrifty depends on, as installed in this environment, and under which licenses.

The roots are the requirements in pyproject.toml; the rest comes from the metadata of what is
installed. `tests/tools/test_dependencies.py` refuses a dependency whose license is not listed here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# Extras for users; the others are for development.
FOR_USERS = ("dask", "parquet", "serve")

# Licenses that ask for no more than a notice, by their SPDX identifiers.
PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "HPND", "ISC", "MIT", "MIT-0",
    "MIT-CMU", "PSF-2.0", "Zlib",
}  # fmt: skip
# The same licenses as metadata without an SPDX expression names them.
PERMISSIVE_NAMES = {
    "3-Clause BSD License", "3-clause BSD", "Apache 2.0", "Apache License, Version 2.0",
    "Apache Software License", "BSD", "BSD 2-Clause License",
    "BSD 3-Clause", "BSD 3-Clause License", "BSD License",
    "Historical Permission Notice and Disclaimer (HPND)", "ISC License (ISCL)", "MIT License",
    "Python Software Foundation License",
}  # fmt: skip
# Tools with another license: they run on the machines of developers, nothing of them is shipped.
DEVELOPMENT_ONLY = {
    "certifi": "MPL-2.0; a list of certificates, which sphinx needs through requests",
    "docutils": "public domain and BSD; the GPL is that of an Emacs mode that is not imported",
    "hypothesis": "MPL-2.0; draws the examples of tests",
    "pathspec": "MPL-2.0; matches file names for mypy",
}


def required(requirements: Iterable[str], extra: str = "") -> dict[str, list[Requirement]]:
    """Return the requirements that apply to this Python and platform, by normalized name."""
    found: dict[str, list[Requirement]] = {}
    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def direct(*extras: str) -> dict[str, list[Requirement]]:
    """Return what pyproject.toml requires, by name: to run, and for some extras."""
    texts = list(PROJECT["dependencies"])
    for extra in extras:
        texts += PROJECT["optional-dependencies"][extra]
    found = required(texts)
    found.pop("thrifty", None)
    return found


def installed(*extras: str) -> dict[str, tuple[Distribution, list[str]]]:
    """Return everything that is needed to run Thrifty, and for some extras.

    Parameters
    ----------
    *extras : str
        Extras of pyproject.toml; without them only what runs.

    Returns
    -------
    dict
        For each normalized name, the installed distribution and the names that it requires.

    Raises
    ------
    PackageNotFoundError
        If a requirement is not installed; it lists all of them.
    """
    found: dict[str, tuple[Distribution, list[str]]] = {}
    missing: set[str] = set()
    waiting = list(direct(*extras).items())
    while waiting:
        name, asked = waiting.pop()
        try:
            this = distribution(name)
        except PackageNotFoundError:
            missing.add(name)
            continue
        options = {"", *(option for requirement in asked for option in requirement.extras)}
        needs: dict[str, list[Requirement]] = {}
        for option in sorted(options):
            needs |= required(this.requires or (), option)
        if name not in found or not set(needs) <= set(found[name][1]):
            before = found[name][1] if name in found else []
            found[name] = this, sorted({*before, *needs})
            waiting += needs.items()
    if missing:
        raise PackageNotFoundError(", ".join(sorted(missing)))
    return dict(sorted(found.items()))


def stated_licenses(metadata: Message) -> list[str]:
    """Return how a distribution states its license: an SPDX expression, or names of licenses.

    A license field with the whole text says nothing that can be compared, and is left out.
    """
    expression = metadata.get("License-Expression")
    if expression:
        return [expression]
    classifiers = metadata.get_all("Classifier", [])
    names = [text.split(" :: ")[-1] for text in classifiers if text.startswith("License :: ")]
    field = (metadata.get("License") or "").strip()
    if field and "\n" not in field:
        names.append(field)
    return list(dict.fromkeys(name for name in names if name != "OSI Approved"))


def is_permissive(stated: str) -> bool:
    """Return whether a license is listed above; of alternatives one is enough.

    An expression with parentheses or exceptions is refused: read it, and list it as a name.

    Examples
    --------
    >>> is_permissive("Apache-2.0 OR GPL-3.0-only")
    True
    >>> is_permissive("MIT AND GPL-3.0-only")
    False
    """
    alternatives = [part.split(" AND ") for part in stated.split(" OR ")]
    return stated in PERMISSIVE_NAMES or any(PERMISSIVE.issuperset(all_) for all_ in alternatives)


def why_refused(metadata: Message) -> str | None:
    """Return why a distribution may not be used, or None if all its licenses are permissive."""
    stated = stated_licenses(metadata)
    if not stated:
        return "states no license"
    refused = [name for name in stated if not is_permissive(name)]
    return f"has the license {', '.join(refused)}" if refused else None
