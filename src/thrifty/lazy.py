"""Values of frozen objects that are computed when they are first read, and then kept."""

from __future__ import annotations

import functools
from typing import Any, Self, TypeVar, overload

__all__ = ["cached_property"]

T = TypeVar("T")


class cached_property(functools.cached_property[T]):  # noqa: N801 -- as in the standard library
    """A `functools.cached_property` without a lock.

    Until Python 3.12 that of the standard library holds a lock while it computes, one for all
    objects of the class. A process that is forked meanwhile inherits the locked lock and waits for
    ever. Here two threads may compute a value twice, which does no harm: what is frozen always
    gives the same.

    Examples
    --------
    >>> from thrifty.lazy import cached_property
    >>> class Circle:
    ...     radius = 2.0
    ...     @cached_property
    ...     def area(self):
    ...         print("computed")
    ...         return 3.14 * self.radius**2
    >>> circle = Circle()
    >>> circle.area
    computed
    12.56
    >>> circle.area
    12.56
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        """Compute the value and keep it on the object, where Python finds it the next time."""
        if instance is None:
            return self
        assert self.attrname is not None
        value: T = self.func(instance)
        instance.__dict__[self.attrname] = value
        return value
