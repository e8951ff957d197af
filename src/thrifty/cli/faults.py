"""Several things that can go wrong on their own, told together."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from thrifty.errors import DataError, ThriftyError, raise_all

__all__ = ["Faults"]

P = ParamSpec("P")
T = TypeVar("T")


class Faults:
    """Errors in the data that were found so far.

    Examples
    --------
    >>> from thrifty.cli.faults import Faults
    >>> from thrifty.errors import DataError
    >>> faults = Faults()
    >>> faults.add(DataError("the table is upside down"))
    >>> faults.of(len, "four")
    4
    >>> faults.error
    DataError('the table is upside down')
    """

    def __init__(self) -> None:
        self._found: list[DataError] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, error: DataError) -> None:
        """Keep an error."""
        self._found.append(error)

    def of(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Do some work and give its result; None if it fails, with the error kept."""
        try:
            return work(*args, **kwargs)
        except DataError as error:
            self.add(error)
            return None

    @property
    def error(self) -> ThriftyError:
        """The only error as it is, or one that tells all."""
        if len(self._found) == 1:
            return self._found[0]
        try:
            problems = [str(error).replace("\n", "\n    ") for error in self._found]
            raise_all(DataError, "what was given", problems)
        except DataError as error:
            return error
        raise AssertionError("there is no error to tell")
