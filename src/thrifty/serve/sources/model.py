"""An expensive model as a source: a call has a price, and its value is the answer of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self
from urllib.error import HTTPError, URLError

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.serve.calls import ModelCall
from thrifty.serve.sources.base import (
    AsyncSource,
    Query,
    RefusedError,
    Terms,
    UnclearError,
    UnsentError,
    UnusableError,
)
from thrifty.serve.sources.rows import Feature
from thrifty.serve.sources.threads import in_thread

__all__ = ["ModelSource"]


class ModelSource(AsyncSource):
    """Makes the calls of a predictor that is connected to an expensive model.

    Parameters
    ----------
    call : ModelCall
    terms : Terms
        All results of a call are sold together.
    """

    def __init__(self, call: ModelCall, terms: Terms) -> None:
        super().__init__(terms)
        self._call = call

    @classmethod
    def of(cls, predictor: Predictor, **terms: Any) -> Self:
        """Return the source of a connected predictor, named as its price list names the call."""
        call, prices, names = predictor.caller, predictor.prices, predictor.schema.names
        if not isinstance(call, ModelCall):
            raise DataError("the predictor is not connected to a model by thrifty.serve.connect")
        columns = sorted(call.columns)
        group = int(prices.group[columns[0]])
        name = "call" if group < 0 else prices.group_names[group].replace("/", "_")
        features = tuple(names[j] for j in columns)
        return cls(call, Terms(name, features, **{"sold": "together", "timeout": 30.0, **terms}))

    async def fetch(self, query: Query) -> Mapping[Feature, Any]:
        """Make the call with the values of the example so far."""
        lacking = [name for name in self._call.needs if name not in query.values]
        if lacking:
            raise UnsentError(f"call {self.terms.name!r}: it needs {', '.join(map(repr, lacking))}")
        try:
            return await in_thread(self._call.results, query.values)
        except HTTPError as error:
            raise RefusedError(f"call {self.terms.name!r}: status {error.code}") from None
        except URLError as error:
            failure = (
                UnsentError if isinstance(error.reason, ConnectionRefusedError) else UnclearError
            )
            raise failure(f"call {self.terms.name!r}: no connection") from None
        except OSError as error:
            raise UnclearError(f"call {self.terms.name!r}: {type(error).__name__}") from None
        except ValueError:
            raise UnusableError(f"call {self.terms.name!r}: it returned no probabilities") from None
