"""Dependencies: what is needed, in which versions, and under which licenses."""

from __future__ import annotations

import re
from email.message import Message
from importlib.metadata import PackageNotFoundError

import dependencies
import pytest
from dependencies import (
    DEVELOPMENT_ONLY,
    FOR_USERS,
    PROJECT,
    ROOT,
    direct,
    installed,
    is_permissive,
    stated_licenses,
    why_refused,
)
from packaging.version import Version

EXTRAS = [name for name in PROJECT["optional-dependencies"] if name != "all"]
# What no test imports: its oldest version cannot be tested.
UNTESTED = {"fastapi", "latex2mathml", "ortools", "pydata-sphinx-theme", "scikit-fallback",
            "sphinx", "sphinx-copybutton", "sphinx-gallery"}  # fmt: skip


def present(*extras: str) -> list[str]:
    """Return those extras that are installed: the environment of the tests need not have all."""
    found = []
    for extra in extras:
        try:
            installed(extra)
        except PackageNotFoundError:
            continue
        found.append(extra)
    return found


def pins(name: str) -> dict[str, str]:
    """Return the versions in a file of plain lines by name."""
    return dict(line.split("==") for line in (ROOT / name).read_text().splitlines())


def described(**fields: str | list[str]) -> Message:
    """Return the metadata of a distribution with some fields."""
    message = Message()
    for name, values in fields.items():
        for value in [values] if isinstance(values, str) else values:
            message[name.replace("_", "-")] = value
    return message


# --- licenses ----------------------------------------------------------------


def test_what_is_needed_to_run_has_a_permissive_license() -> None:
    found = installed(*FOR_USERS)
    reasons = {name: why_refused(this.metadata) for name, (this, _) in found.items()}
    assert len(reasons) > len(PROJECT["dependencies"])
    assert {name: why for name, why in reasons.items() if why} == {}


def test_what_is_needed_to_develop_has_a_permissive_license_or_is_named() -> None:
    extras = present(*EXTRAS)
    assert "test" in extras
    reasons = {name: why_refused(this.metadata) for name, (this, _) in installed(*extras).items()}
    assert {
        name: why for name, why in reasons.items() if why and name not in DEVELOPMENT_ONLY
    } == {}


def test_what_is_named_is_not_needed_to_run_and_has_another_license() -> None:
    assert not DEVELOPMENT_ONLY.keys() & installed(*FOR_USERS).keys()
    everything = installed(*present(*EXTRAS))
    for name in DEVELOPMENT_ONLY.keys() & everything.keys():
        assert why_refused(everything[name][0].metadata), f"{name} needs no exception"


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (described(License_Expression="GPL-3.0-only"), "has the license GPL-3.0-only"),
        (described(License_Expression="MIT AND LGPL-2.1-only"), "has the license MIT AND LGPL"),
        (described(License="AGPL"), "has the license AGPL"),
        (
            described(
                License="MIT",
                Classifier=["License :: OSI Approved :: GNU General Public License v3 (GPLv3)"],
            ),
            "has the license GNU General Public License v3",
        ),
        (described(License="Ask our lawyers"), "has the license Ask our lawyers"),
        (described(License="All of it\nin many lines"), "states no license"),
        (described(Classifier=["License :: OSI Approved"]), "states no license"),
        (described(), "states no license"),
    ],
    ids=lambda value: None if isinstance(value, Message) else value.replace(" ", "-"),
)
def test_another_or_an_unknown_license_is_refused(metadata: Message, reason: str) -> None:
    assert str(why_refused(metadata)).startswith(reason)


@pytest.mark.parametrize(
    "metadata",
    [
        described(License_Expression="Apache-2.0 OR GPL-2.0-only"),
        described(License_Expression="BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0"),
        described(Classifier=["Topic :: Utilities", "License :: OSI Approved :: MIT License"]),
        described(License="Apache 2.0"),
    ],
)
def test_a_permissive_license_is_taken(metadata: Message) -> None:
    assert why_refused(metadata) is None


def test_an_expression_is_taken_before_what_it_replaces() -> None:
    metadata = described(License_Expression="MIT", Classifier=["License :: OSI Approved"])
    assert stated_licenses(metadata) == ["MIT"]


def test_an_expression_that_is_not_understood_is_not_permissive() -> None:
    assert not is_permissive("(MIT OR Apache-2.0) AND PSF-2.0")


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {**PROJECT, "dependencies": ["numpy", "no-such-package>=1", "nor-this-one"]}
    monkeypatch.setattr(dependencies, "PROJECT", changed)
    with pytest.raises(PackageNotFoundError, match="no-such-package, nor-this-one"):
        installed()


# --- versions ----------------------------------------------------------------


def test_everything_that_is_needed_is_pinned() -> None:
    pinned = pins("constraints.txt") | pins("constraints-oldest.txt")
    assert installed(*present(*EXTRAS)).keys() <= pinned.keys()


def test_every_requirement_has_one_lower_bound_and_no_other() -> None:
    every = direct(*EXTRAS)
    specifiers = {str(one.specifier) for several in every.values() for one in several}
    assert [text for text in specifiers if not re.fullmatch(r">=[\d.]+", text)] == []
    for name, several in every.items():
        assert len({str(one.specifier) for one in several}) == 1, f"{name} has several bounds"


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    oldest = pins("constraints-oldest.txt")
    bounds = {name: several[0].specifier for name, several in direct(*EXTRAS).items()}
    assert bounds.keys() - oldest.keys() == UNTESTED
    for name in bounds.keys() & oldest.keys():
        (bound,) = bounds[name]
        assert Version(bound.version) == Version(oldest[name]), name


def test_pinned_versions_are_at_least_the_oldest() -> None:
    newest, oldest = pins("constraints.txt"), pins("constraints-oldest.txt")
    shared = newest.keys() & oldest.keys()
    assert direct("test").keys() <= shared
    assert {name for name in shared if Version(oldest[name]) > Version(newest[name])} == set()


def test_the_oldest_versions_are_plain_lines_in_order() -> None:
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    assert lines == sorted(lines)
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*", line)] == []


def test_the_versions_with_hashes_are_those_without() -> None:
    text = (ROOT / "constraints-hashes.txt").read_text()
    entry = r"^([a-z0-9-]+)==(\S+) \\\n    --hash=sha256:[0-9a-f]{64}$"
    assert dict(re.findall(entry, text, re.M)) == pins("constraints.txt")
    assert re.sub(entry, "", text, flags=re.M).strip().startswith("#")
    assert "://" not in text
