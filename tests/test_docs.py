"""What the README promises runs as it stands; the pages in docs/ run as doctests."""

from __future__ import annotations

import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest

import thrifty
from thrifty import Prices
from thrifty.cli.group import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "thrifty"
DEV_COMMANDS = set(runpy.run_path(str(ROOT / "dev.py"))["COMMANDS"])
README = (ROOT / "README.md").read_text()
# What a build leaves in docs/, and templates, are no pages.
NO_PAGES = {"_build", "_templates", "gallery", "generated"}
DOCS = sorted(path for path in (ROOT / "docs").rglob("*.rst") if not NO_PAGES & {*path.parts})


def test_the_quick_start_of_the_readme_runs(tmp_path, monkeypatch, capsys) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "heart.thrifty").exists()
    answer, receipt = capsys.readouterr().out.split("\n", 1)
    assert answer in ("ill", "well")
    assert "CAD" in receipt


def test_the_commands_of_the_readme_read_what_is_there() -> None:
    """What the demo writes, and what an earlier command of the block has written."""
    (block,) = re.findall(r"```\nthrifty demo\ncd thrifty-demo\n(.*?)```", README, re.DOTALL)
    there = {"heart.csv", "prices.csv", "new.csv"}
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        files = {word for word in words if re.fullmatch(r"\w+\.\w+", word)}
        outputs = {"-o", "--report", "--card", "--ledger"}
        written = {file for option, file in pairwise(words) if option in outputs}
        assert files - written <= there, line
        there |= written


def test_the_price_files_of_the_page_are_the_prices_of_the_page(tmp_path) -> None:
    page = (ROOT / "docs" / "howto" / "prices.rst").read_text()
    blocks = dict(re.findall(r"code-block:: (text|toml)\n\n((?:    .*\n|\n)+)", page))
    for kind, name in {"text": "prices.csv", "toml": "prices.toml"}.items():
        (tmp_path / name).write_text(dedent(blocks[kind]))
    told = {
        "own": {"age": 0, "chol": 7.27, "fbs": 5.20, "xray": 25, "mri": 300},
        "groups": {"blood": ["chol", "fbs"]},
        "shared": {"blood": 2.10},
        "panels": ["blood"],
        "requires": {"mri": ["xray"]},
        "unit": "CAD",
        "also": {"mSv": Prices({"xray": 0.1})},
    }
    delays = {"blood": 30, "xray": 10, "mri": 45}
    toml = Prices(**told, delays=delays, delay_unit="min")
    assert Prices.read(tmp_path / "prices.toml") == toml
    csv = Prices(**told, delays={"chol": 30, "fbs": 30, "xray": 10, "mri": 45})
    assert Prices.read(tmp_path / "prices.csv", unit="CAD") == csv
    columns = list(told["own"])
    assert toml.bind(columns).delays.tolist() == csv.bind(columns).delays.tolist()


def test_the_pages_name_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "tutorials" / "install.rst").read_text()
    assert [extra for extra in project["optional-dependencies"] if f"``{extra}``" not in page] == []


def test_the_citation_file_states_the_version() -> None:
    (version,) = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert version == thrifty.__version__


def test_the_commit_hooks_download_nothing() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert set(re.findall(r"repo: (\S+)", hooks)) == {"local"}
    assert set(re.findall(r"language: (\S+)", hooks)) == {"system"}


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md", "SECURITY.md"]
)
def test_links_and_pictures_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / name).read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


# What an external link looks like, by its host; `dev.py docs --links` visits them.
ADDRESSES = {
    "arxiv.org": r"/abs/(\d{4}\.\d{4,5}|[a-z-]+/\d{7})",
    "doi.org": r"/10\.\d{4,5}/\S+",
    "hdl.handle.net": r"/\d+/\d+",
    "proceedings.mlr.press": r"/v\d+/\w+\.html",
    "jmlr.org": r"/papers/v\d+/\w+\.html",
    "github.com": r"/[\w-]+/[\w-]+(/\S+)?",
}
# Addresses that stand for those of a reader.
PLACEHOLDER = re.compile(r"127\.0\.0\.1|localhost|example\.com")


def test_external_links_have_the_form_of_their_host() -> None:
    wrong = []
    for path in [ROOT / "README.md", *DOCS]:
        for scheme, host, rest in re.findall(
            r"(https?)://([\w.-]+)([^\s`>\"']*?)(?=[.,;:]?(?:[\s`>\"']|$))", path.read_text()
        ):
            if PLACEHOLDER.search(host):
                continue
            known = ADDRESSES.get(host, r"/?\S*")
            if scheme != "https" or not re.fullmatch(known, rest):
                wrong.append(f"{path.name}: {scheme}://{host}{rest}")
    assert wrong == []


# --- promises ----------------------------------------------------------------

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "RELEASING.md",
         *DOCS]  # fmt: skip
# Folders that a command makes, and files that stand for those of a reader.
MADE = {"dist/", "build/", ".venv/", "docs/_build/", "thrifty-demo/", "src/thrifty/a/b/c.py",
        "tests/a/b/test_c.py", "src/thrifty/learn/discriminant.py",
        "tests/learn/test_discriminant.py"}  # fmt: skip


def names_of(path: Path) -> set[str]:
    """Return the words in code quotes of a page."""
    return set(re.findall(r"`{1,2}([^`\n]+)`{1,2}", path.read_text()))


def exists(name: str) -> bool:
    """Return whether a folder or file is where a page may mean it."""
    places = (ROOT, SOURCE, SOURCE / "learn", SOURCE / "kernels", ROOT / "tests", ROOT / "docs")
    return any((place / name).exists() for place in places)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_folders_and_modules_that_a_page_names_exist(page: Path) -> None:
    paths = {name for name in names_of(page) if re.fullmatch(r"[\w./-]+(/|\.py)", name)}
    assert sorted(name for name in paths - MADE if not exists(name)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_of_the_package_on_a_page_can_be_imported(page: Path) -> None:
    dotted = set(re.findall(r"\bthrifty(?:\.[A-Za-z_]\w*)+", page.read_text()))
    absent = []
    for name in sorted(name for name in dotted if not name.endswith((".thrifty", ".service"))):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            absent.append(name)
    assert absent == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_extras_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    commands = re.findall(r"^\s*(?:\$ )?thrifty ([a-z][a-z-]*)\b", text, re.MULTILINE)
    commands += [name.split()[1] for name in names_of(page) if re.match(r"thrifty [a-z]+\b", name)]
    assert set(commands) <= set(COMMANDS)
    extras = re.findall(r"pip install ['\"](?:\.|thrifty)\[([\w,]+)\]", text)
    named = {extra for each in extras for extra in each.split(",")}
    assert named <= set(project["optional-dependencies"])
    tasks = set(re.findall(r"dev\.py (\w+)", text))
    assert tasks <= DEV_COMMANDS


def test_the_table_of_extras_has_no_other() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "tutorials" / "install.rst").read_text()
    listed = re.findall(r"^``(\w+)``  ", page, re.MULTILINE)
    assert listed == list(project["optional-dependencies"])


# --- references --------------------------------------------------------------

# "Xu 2014", "Nan and Saligrama 2017", "Kusner et al. (2014)", "Price, Knerr and Dreyfus 1995".
CITATION = re.compile(
    r"\b([A-Z][\w'-]*[a-z]\w*)(?:(?:, [A-Z][\w'-]+)*,? and [A-Z][\w'-]+|\s+et\s+al\.)?"
    r",?\s+\(?((?:19|20)\d{2})[a-z]?\b"
)
# Capitalized words that stand before a year and are no authors.
NO_AUTHORS = {"Copyright", "January", "February", "March", "April", "May", "June", "July", "August",
              "September", "October", "November", "December"}  # fmt: skip


def test_every_citation_is_in_the_references() -> None:
    page = (ROOT / "docs" / "reference" / "references.rst").read_text()
    known = re.findall(r"^\*\*(.+?) (\d{4})[a-z]?\.\*\*", page, flags=re.MULTILINE)
    pages = [path for path in DOCS if path.name != "references.rst"]
    unknown = {
        f"{author} {year} ({path.relative_to(ROOT)})"
        for path in [*(ROOT / "src").rglob("*.py"), *pages]
        for author, year in CITATION.findall(path.read_text())
        if author not in NO_AUTHORS
        and not any(author in authors and year == its for authors, its in known)
    }
    assert unknown == set()


METHODS = sorted((ROOT / "docs" / "methods").glob("[!i]*.rst"))
# The parts of a page about a method, in this order; details follow.
PARTS = [
    "The objective",
    "The algorithm",
    "What differs from the paper",
    "When to use it, and when not",
    "Its curve on a real table",
    "Cost and scaling",
]


@pytest.mark.parametrize("page", METHODS, ids=lambda page: page.stem)
def test_a_method_page_links_to_its_references(page: Path) -> None:
    references = (ROOT / "docs" / "reference" / "references.rst").read_text()
    labels = re.findall(r"^\.\. _(\w+):", references, flags=re.MULTILINE)
    text = page.read_text()
    linked = re.findall(r":ref:`[^`<]+<(\w+)>`", text)
    assert set(linked) & set(labels)
    assert text.split("\n")[3].startswith("Reference: ")


@pytest.mark.parametrize("page", METHODS, ids=lambda page: page.stem)
def test_a_method_page_has_the_parts_of_every_such_page(page: Path) -> None:
    text = page.read_text()
    titles = re.findall(r"^(\S.*)\n-{3,}$", text, flags=re.MULTILINE)
    assert titles[: len(PARTS)] == PARTS
    parts = dict(zip(titles, re.split(r"^\S.*\n-{3,}$", text, flags=re.MULTILINE)[1:], strict=True))
    assert ".. math::" in parts["The objective"]
    assert ":source:`" in parts["The algorithm"]
    assert f"curves/{page.stem}.svg" in parts["Its curve on a real table"]


# --- words -------------------------------------------------------------------

# British spelling, and words that the glossary has replaced by those of the field.
REPLACED = {
    r"(?:behavi|col|fav|hon|neighb)our\w*": "American spelling",
    r"(?:label|model|travel|cancel)led": "American spelling",
    r"learnt|whilst|grey|centred?": "American spelling",
    r"(?:optim|organ|normal|general|minim|maxim|regular|standard)is(?:e|ed|es|ing|ation)": (
        "American spelling"
    ),
    r"rows to (?:choose|report) on": "validation or test rows",
    r"prices? of money": "cost weight",
    r"purse": "budget",
    r"racers?": "learners",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_uses_the_words_of_the_glossary(page: Path) -> None:
    text = page.read_text()
    found = {
        (match[0], instead)
        for words, instead in REPLACED.items()
        for match in re.finditer(rf"\b(?:{words})\b", text, re.IGNORECASE)
    }
    assert found == set()


def test_nothing_is_misspelled() -> None:
    typos = Path(sys.executable).with_name("typos")
    pages = ["docs", "examples", "src", *(path.name for path in PAGES[:4]), "CHANGELOG.md"]
    found = subprocess.run(
        [typos, "--format", "brief", *pages], cwd=ROOT, capture_output=True, text=True
    )
    assert (found.returncode, found.stdout + found.stderr) == (0, "")


def test_the_readme_is_the_front_page_in_short() -> None:
    front = " ".join((ROOT / "docs" / "index.rst").read_text().split())
    pitch = " ".join(README.split("\n\n")[1].split())
    assert pitch in front
    assert "_static/curve.svg" in front and "docs/_static/curve.svg" in README
