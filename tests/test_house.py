"""Rules for the whole package: imports, public names, layout, words, and what must not occur."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import thrifty

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "thrifty"
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = [path for path in FILES if path.name not in ("__init__.py", "__main__.py")]
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

HEAVY = {"lightgbm", "matplotlib", "pandas", "polars", "pyarrow", "scipy", "sklearn"}
COMPILERS = {"llvmlite", "numba", "pyximport"}
PICKLES = {"cPickle", "cloudpickle", "dill", "marshal", "pickle", "shelve"}
PICKLE_CALLS = re.compile(
    r"allow_pickle\s*=\s*True|read_pickle|joblib\.load|from joblib import .*\bload\b"
)
MAX_LINES = 500
MAX_MODULES = 25

# Works are cited by author and year; these were numbers of files.
NUMBERED_CITATION = re.compile(r"\b00[0-4],? (sec|ch|fig|eq|table|alg)")
# Replaced by the words of the field, see "Words" in CONTRIBUTING.md.
REPLACED = (
    "heard", "moneys", "tired", "dealing", "falling run", "rows to choose on", "rows to report on",
    "learnt", "purse", "tolls", "ballot", "errand", "rightness", "clarity", "strangers",
    "are no features", "at least so good", "tells bill", "tell bill",
)  # fmt: skip
REPLACED_WORD = re.compile(
    r"(?<![a-z])(" + "|".join(REPLACED).replace(" ", r"\s+") + r")(?![a-z])", re.IGNORECASE
)


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path), filename=str(path))


def found_in(paths: list[Path], words: re.Pattern[str]) -> dict[str, str]:
    """Return the first match in each file that has one."""
    found = {name_of(path): words.search(text_of(path)) for path in paths}
    return {name: match.group() for name, match in found.items() if match}


def imports_of(tree: ast.Module) -> set[str]:
    """Return the top-level packages that a file imports, anywhere in it."""
    nodes = list(ast.walk(tree))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    parts = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in plain + parts}


def declared(tree: ast.Module) -> list[str] | None:
    """Return the literal `__all__` of a file, or None without one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return None


def defined_here(module: ModuleType) -> set[str]:
    """Return the public names in a module that are Thrifty's own and not modules."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and name not in ("annotations", "TYPE_CHECKING")
        and str(getattr(value, "__module__", "thrifty")).startswith("thrifty")
    }


# --- imports -----------------------------------------------------------------


def test_imports_point_down_only() -> None:
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_has_a_layer() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    layers = tools["importlinter"]["contracts"][0]["layers"]
    placed = {package for layer in layers for package in re.findall(r"\w+", layer)}
    assert placed == {*PACKAGES, *(path.stem for path in SOURCE.glob("[!_]*.py"))}


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import thrifty"),
        ("-c", "from thrifty import load"),
        ("-c", "from thrifty import Prices, describe"),
        ("-c", "import thrifty.serve"),
        ("-c", "import thrifty.web"),
        ("-c", "import thrifty.client"),
        ("-m", "thrifty.cli", "--help"),
        ("-m", "thrifty.cli", "serve", "--help"),
    ],
    ids=" ".join,
)
def test_reading_and_help_start_without_the_heavy_packages(arguments, modules_after) -> None:
    loaded = {module.split(".")[0] for module in modules_after(*arguments)}
    assert "thrifty" in loaded
    assert not loaded & HEAVY


def test_a_client_needs_neither_numpy_nor_the_packages_of_a_server(modules_after) -> None:
    code = "from thrifty.client import Client; Client('http://localhost').close()"
    loaded = {module.split(".")[0] for module in modules_after("-c", code)}
    assert {"httpx2", "msgspec"} <= loaded
    assert not loaded & {*HEAVY, "numpy", "sqlalchemy", "starlette", "uvicorn"}


# --- what is public ----------------------------------------------------------


def test_every_exported_name_resolves() -> None:
    assert [name for name in thrifty.__all__ if not hasattr(thrifty, name)] == []
    assert set(thrifty.__all__) <= set(dir(thrifty))


def test_exports_homes_and_type_checkers_agree() -> None:
    tree = tree_of(SOURCE / "__init__.py")
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == thrifty._HOMES
    assert set(thrifty.__all__) == {*thrifty._HOMES, "__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Spendthrift'"):
        thrifty.Spendthrift  # noqa: B018


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_a_package_exports_what_it_defines(package: str) -> None:
    module = importlib.import_module(f"thrifty.{package}".rstrip("."))
    exported = getattr(module, "__all__", [])
    assert len(exported) == len(set(exported))
    assert [name for name in exported if not hasattr(module, name)] == []
    assert defined_here(module) <= set(exported)


def test_nothing_is_compiled_when_a_program_runs() -> None:
    """A first call that compiles takes a minute without a word."""
    needed = {re.split(r"[^\w-]", name)[0] for name in PROJECT["dependencies"]}
    assert not needed & COMPILERS
    assert [name_of(path) for path in FILES if imports_of(tree_of(path)) & COMPILERS] == []


def test_a_file_declares_what_it_exports() -> None:
    undeclared = {}
    for path in FILES:
        tree = tree_of(path)
        public = [
            node.name
            for node in tree.body
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
        ]
        if public and path.name != "__main__.py" and not declared(tree):
            undeclared[name_of(path)] = public
    assert undeclared == {}


# --- layout ------------------------------------------------------------------


def test_a_module_has_a_test_module_at_the_mirrored_path() -> None:
    mirrored = [path.relative_to(SOURCE).with_name(f"test_{path.name}") for path in MODULES]
    assert [str(path) for path in mirrored if not (ROOT / "tests" / path).exists()] == []


def test_a_file_is_not_too_long() -> None:
    lengths = {name_of(path): len(text_of(path).splitlines()) for path in FILES}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_a_folder_does_not_hold_too_many_modules() -> None:
    counts = Counter(name_of(path.parent) for path in MODULES)
    assert {name: count for name, count in counts.items() if count > MAX_MODULES} == {}


# --- words -------------------------------------------------------------------


def test_works_are_cited_by_author_and_year() -> None:
    assert found_in(FILES, NUMBERED_CITATION) == {}


def test_no_replaced_word_comes_back() -> None:
    assert found_in(FILES, REPLACED_WORD) == {}


# --- what must not occur -----------------------------------------------------


def test_nothing_is_unpickled() -> None:
    assert [name_of(path) for path in FILES if imports_of(tree_of(path)) & PICKLES] == []
    assert found_in(FILES, PICKLE_CALLS) == {}


def test_only_the_command_line_prints() -> None:
    printing = set()
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
                printing.add(path)
    assert [name_of(path) for path in printing if not path.is_relative_to(SOURCE / "cli")] == []


def test_every_dependency_is_pinned_by_plain_lines() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*", line)] == []
    pinned = {line.split("==")[0] for line in lines}
    extras = PROJECT["optional-dependencies"].values()
    wanted = {re.split(r"[^\w.-]", item)[0] for items in extras for item in items}
    wanted |= {re.split(r"[^\w.-]", item)[0] for item in PROJECT["dependencies"]}
    assert wanted - {"thrifty"} <= pinned
