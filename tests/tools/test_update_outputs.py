"""Output on a page is replaced by what its snippets print."""

from __future__ import annotations

import doctest

import pytest
from update_outputs import main, updated

PAGE = """\
A page.

>>> for i in range(2):
...     print(i)
7
>>> print("a\\n\\nb")

    >>> 1 / 0
    Traceback (most recent call last):
    ...
    ZeroDivisionError: division by zero
    >>> list(range(1000))
    [0, 1, ...]

The end.
"""


def test_what_is_printed_replaces_what_was_there() -> None:
    new = updated(PAGE)
    assert "...     print(i)\n0\n1\n>>> print" in new
    assert "a\n<BLANKLINE>\nb\n" in new
    assert "    [0, 1, ...]\n\nThe end.\n" in new


def test_an_updated_page_passes_its_own_test(tmp_path) -> None:
    page = tmp_path / "page.rst"
    page.write_text(PAGE)
    main([str(page)])
    flags = doctest.ELLIPSIS
    assert doctest.testfile(str(page), module_relative=False, optionflags=flags).failed == 0
    before = page.read_text()
    main([str(page)])
    assert page.read_text() == before


def test_an_error_that_the_page_does_not_show_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        updated(">>> 1 / 0\n")


def test_a_skipped_snippet_stays_as_it_is() -> None:
    page = ">>> open('none')  # doctest: +SKIP\na file\n"
    assert updated(page) == page
