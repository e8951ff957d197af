"""A feature store by its HTTP face: the feature server of Feast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thrifty.errors import DataError, raise_all
from thrifty.serve.sources.base import Query, UnusableError
from thrifty.serve.sources.http import HttpSource
from thrifty.serve.sources.rows import Feature
from thrifty.serve.sources.templates import fill_json, variables

__all__ = ["FeatureStoreSource"]

# What the server says of a value that it has, or that it knows to be empty.
DELIVERED = ("PRESENT", "NULL_VALUE")


class FeatureStoreSource(HttpSource):
    """Features of one entity from the online store of Feast, by ``POST /get-online-features``.

    Parameters
    ----------
    name : str
    url : str
        Address of the feature server, such as ``http://localhost:6566``.
    references : mapping of feature to str
        What the store calls each feature, such as ``"lab:cholesterol"``.
    entity : mapping of str to str
        The join keys, such as ``{"patient_id": "{patient}"}``: ``{name}`` as in `HttpSource`.
    headers : mapping of str to str, optional
    **terms
        Other parameters of `Terms`. The features are free and sold each, unless these say
        otherwise.

    Examples
    --------
    >>> from thrifty.serve import FeatureStoreSource
    >>> FeatureStoreSource("store", "http://localhost:6566", {"chol": "lab:cholesterol"},
    ...                    {"patient_id": "{patient}"})
    FeatureStoreSource('store', http://localhost:6566/get-online-features)
    """

    def __init__(
        self,
        name: str,
        url: str,
        references: Mapping[Feature, str],
        entity: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
        **terms: Any,
    ) -> None:
        problems = [
            f"references: {text!r} of {feature!r} is not 'view:feature'"
            for feature, text in references.items()
            if not isinstance(text, str) or text.count(":") != 1
        ]
        if not entity:
            problems.append("entity: name at least one join key")
        raise_all(DataError, f"source {name!r}", problems)
        self._references, self._entity = dict(references), dict(entity)
        body = {"entities": {key: [value] for key, value in entity.items()}}
        super().__init__(
            name,
            f"{url.rstrip('/')}/get-online-features",
            dict.fromkeys(references, ""),
            "POST",
            headers,
            body,
            **{"sold": "each", "price": 0.0, **terms},
        )

    async def fetch(self, query: Query) -> Mapping[Feature, Any]:
        """Ask for the wanted features of one entity."""
        wanted = {self._references[feature]: feature for feature in query.features}
        entities = fill_json(self._entity, variables(query))
        body = {
            "features": list(wanted),
            "entities": {key: [value] for key, value in entities.items()},
            "full_feature_names": True,
        }
        document = await self.send(query, self._url, body)
        try:
            names: Sequence[str] = document["metadata"]["feature_names"]
            columns = dict(zip(names, document["results"], strict=True))
            found = {}
            for reference, feature in wanted.items():
                column = columns.get(reference.replace(":", "__"))
                if column is not None and column["statuses"][0] in DELIVERED:
                    found[feature] = column["values"][0]
        except (KeyError, IndexError, TypeError, ValueError):
            raise UnusableError(
                f"source {self.terms.name!r}: not the answer of a feature server"
            ) from None
        return found
