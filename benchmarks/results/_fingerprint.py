"""A hash of the code that a measurement runs, so that no page shows figures of other code.

Of the library, the packages that train and predict count. Of the scripts, what the measuring
function uses counts: the text and the verdicts of a page can be edited without measuring again.
Comments, docstrings and layout never count.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "benchmarks" / "results", ROOT / "benchmarks")
LIBRARY = ROOT / "src" / "thrifty"
TRAINING = ("bundle", "costs", "data", "frontier", "kernels", "learn", "model")
PACKAGES = ("numpy", "scipy", "scikit-learn", "lightgbm")


@cache
def fingerprint(measure: Callable[..., Any]) -> str:
    """Return a hash of the code of a function of a script, and of all that it may call."""
    used = used_code(Path(inspect.getfile(measure)), measure.__name__)
    assert used, f"{measure.__name__} must be defined at the top level of its script"
    versions = [f"{package} {version(package)}" for package in PACKAGES]
    return _hash([_library_code(), *sorted(used), *versions])


def used_code(path: Path, name: str) -> set[str]:
    """Return the statements that define a name of a script, and all that they use of scripts."""
    found: set[str] = set()
    seen: set[tuple[Path, str]] = set()
    waiting = [(path, name)]
    while waiting:
        path, name = waiting.pop()
        if (path, name) in seen:
            continue
        seen.add((path, name))
        for statement in _definitions(path).get(name, ()):
            found.add(_code(statement))
            for node in ast.walk(statement):
                if isinstance(node, ast.Name):
                    waiting.append((path, node.id))
                elif isinstance(node, ast.ImportFrom) and (script := _script(path, node.module)):
                    waiting += [(script, alias.name) for alias in node.names]
                elif isinstance(node, ast.Import):
                    scripts = [_script(path, alias.name) for alias in node.names]
                    waiting += [(s, each) for s in scripts if s for each in _definitions(s)]
    return found


@cache
def _definitions(path: Path) -> dict[str, list[ast.stmt]]:
    """Return the statements of a script by the names that they define."""
    found: dict[str, list[ast.stmt]] = defaultdict(list)
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found[statement.name].append(statement)
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:  # the other names of the line do not count
                one = ast.ImportFrom(statement.module, [alias], statement.level)
                found[alias.asname or alias.name].append(one)
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                found[alias.asname or alias.name.partition(".")[0]].append(ast.Import([alias]))
        else:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    found[node.id].append(statement)
    return found


def _script(importer: Path, module: str | None) -> Path | None:
    """Return the script that a module is; None if it comes from elsewhere."""
    paths = [folder / f"{module}.py" for folder in (importer.parent, *FOLDERS)]
    return next((path for path in paths if path.exists()), None)


@cache
def _library_code() -> str:
    """Return a hash of the packages of the library that train and predict."""
    paths = [p for package in TRAINING for p in sorted((LIBRARY / package).rglob("*.p*"))]
    sources = [path for path in paths if path.suffix in (".py", ".pxd")]
    return _hash(
        part
        for path in sources
        for part in (
            str(path.relative_to(LIBRARY)),
            _code(ast.parse(path.read_text())) if path.suffix == ".py" else path.read_text(),
        )
    )


def _code(tree: ast.AST) -> str:
    """Return code as text, without comments, docstrings and layout."""
    for node in ast.walk(tree):
        documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
