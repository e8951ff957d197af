"""Sources in a database: one query a purchase, with parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thrifty.bundle.endpoint import HIDDEN
from thrifty.errors import DataError
from thrifty.serve.sources.base import (
    AsyncSource,
    NotFoundError,
    Query,
    RefusedError,
    Terms,
    UnclearError,
    UnsentError,
)
from thrifty.serve.sources.rows import Feature
from thrifty.serve.sources.templates import variables
from thrifty.serve.sources.threads import in_thread

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["SqlSource"]


class SqlSource(AsyncSource):
    """A query whose only row has the values, in columns with the names of the features.

    Parameters
    ----------
    name : str
    database : str or sqlalchemy.Engine
        URL of the database, as SQLAlchemy reads it.
    query : str
        With ``:name`` for an identifier in the context of the case, or a value that the case has
        already: they are parameters, never part of the text.
    features : sequence of str, or mapping of feature to str
        The features, or the column of each.
    **terms
        Other parameters of `Terms`. The features are sold together unless ``sold="each"``.

    Examples
    --------
    >>> import asyncio
    >>> from thrifty.serve import Query
    >>> from thrifty.serve import SqlSource
    >>> source = SqlSource("lab", "sqlite://", "SELECT :patient * 2 AS chol", ["chol"])
    >>> asyncio.run(source.fetch(Query(("chol",), context={"patient": 7})))
    {'chol': 14}
    """

    def __init__(
        self,
        name: str,
        database: str | Engine,
        query: str,
        features: Sequence[Feature] | Mapping[Feature, str],
        **terms: Any,
    ) -> None:
        super().__init__(Terms(name, tuple(features), **{"sold": "together", **terms}))
        try:
            import sqlalchemy
        except ImportError:
            raise DataError(
                f"source {name!r}: a database needs SQLAlchemy: pip install 'thrifty[serve]'"
            ) from None
        if not isinstance(features, Mapping):
            features = {feature: str(feature) for feature in features}
        self._columns = dict(features)
        self._sqlalchemy = sqlalchemy
        self._owns_engine = isinstance(database, str)
        try:
            # Its errors and logs show no values.
            self._engine: Engine = (
                sqlalchemy.create_engine(database, hide_parameters=True, pool_pre_ping=True)
                if isinstance(database, str)
                else database
            )
        except (sqlalchemy.exc.ArgumentError, ImportError, ValueError) as error:
            kind = type(error).__name__
            raise DataError(
                f"source {name!r}: the database cannot be used ({kind}); pass a URL such as "
                "'postgresql+pg8000://user@host/name', and install its driver"
            ) from None
        self._query = sqlalchemy.text(query)
        self.needs = sorted(self._query.compile().params)

    async def fetch(self, query: Query) -> Mapping[Feature, Any]:
        """Run the query in a thread."""
        found = variables(query)
        lacking = [name for name in self.needs if name not in found]
        if lacking:
            listed = ", ".join(map(repr, lacking))
            raise UnsentError(
                f"source {self.terms.name!r}: pass {listed} in the context of the case"
            )
        row = await in_thread(self._run, {name: found[name] for name in self.needs})
        lost = [c for c in self._columns.values() if c not in row]
        if lost:
            raise RefusedError(f"source {self.terms.name!r}: the query has no column {lost[0]!r}")
        return {feature: row[self._columns[feature]] for feature in query.features}

    def _run(self, parameters: dict[str, Any]) -> dict[str, Any]:
        name, errors = self.terms.name, self._sqlalchemy.exc
        try:
            connection = self._engine.connect()
        except errors.SQLAlchemyError as error:
            raise UnsentError(f"source {name!r}: no connection ({type(error).__name__})") from None
        try:
            with connection:
                rows = connection.execute(self._query, parameters).mappings().fetchmany(2)
        except errors.SQLAlchemyError as error:
            is_lost = getattr(error, "connection_invalidated", False)
            failure = UnclearError if is_lost else RefusedError
            raise failure(f"source {name!r}: {type(error).__name__}") from None
        if not rows:
            raise NotFoundError(f"source {name!r}: the query has no row")
        if len(rows) > 1:
            raise RefusedError(f"source {name!r}: the query has more than one row")
        return dict(rows[0])

    async def close(self) -> None:
        """Close the connections, unless the engine was passed."""
        if self._owns_engine:
            self._engine.dispose()

    def __repr__(self) -> str:
        shown = self._engine.url.set(query={}).render_as_string(hide_password=True)
        return f"SqlSource({self.terms.name!r}, {shown.replace(':***', f':{HIDDEN}')})"
