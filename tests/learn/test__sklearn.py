"""Only one module imports what scikit-learn keeps private."""

from __future__ import annotations

import re
from pathlib import Path

import thrifty
from thrifty.learn import _sklearn

PRIVATE = re.compile(r"from sklearn[\w.]*\._\w+ import|from sklearn[\w.]* import[^\n]*\b_[a-z]")


def test_no_other_module_imports_private_names_of_scikit_learn():
    root = Path(thrifty.__file__).parent
    guilty = [
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if PRIVATE.search(path.read_text()) and path.name != "_sklearn.py"
    ]
    assert guilty == []


def test_everything_that_is_named_is_there():
    assert all(hasattr(_sklearn, name) for name in _sklearn.__all__)
    assert _sklearn.count_rows([[1], [2]]) == 2
    assert _sklearn.take_rows([10, 20, 30], [2, 0]) == [30, 10]
