"""Counters and gauges in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Literal

__all__ = ["Metrics", "Sample"]

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

Kind = Literal["counter", "gauge"]
Sample = tuple[str, Mapping[str, str], float]
"""Name, labels and value of one figure."""


class Metrics:
    """Figures of a running server.

    Examples
    --------
    >>> from thrifty.web.metrics import Metrics
    >>> metrics = Metrics()
    >>> metrics.count_request("/v1/next", 200, 0.002)
    >>> metrics.add("thrifty_spent_total", 7.27)
    >>> print(metrics.text().splitlines()[0])
    # TYPE thrifty_requests_total counter
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)
        self._sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = defaultdict(float)
        self._watched: dict[Kind, list[Callable[[], Iterable[Sample]]]] = {
            "counter": [], "gauge": []
        }  # fmt: skip

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request and how long it took."""
        self._requests[route, status] += 1
        self._times[route][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] += seconds

    def add(self, name: str, amount: float, **labels: str) -> None:
        """Add to a sum, which never falls; its name ends in ``_total``."""
        self._sums[name, tuple(sorted(labels.items()))] += amount

    def watch(self, read: Callable[[], Iterable[Sample]], kind: Kind = "gauge") -> None:
        """Have `read` called for the present values of some figures whenever they are asked for."""
        self._watched[kind].append(read)

    def text(self, gauges: Iterable[Sample] = ()) -> str:
        """Return all figures, and some more gauges, as Prometheus reads them."""
        return "\n".join(self._lines(gauges)) + "\n"

    def _lines(self, gauges: Iterable[Sample]) -> Iterator[str]:
        yield "# TYPE thrifty_requests_total counter"
        for (route, status), count in sorted(self._requests.items()):
            labels = {"route": route, "status": str(status)}
            yield _line("thrifty_requests_total", labels, count)
        yield "# TYPE thrifty_request_seconds histogram"
        for route, counts in sorted(self._times.items()):
            below = 0
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
                below += count
                labels = {"route": route, "le": bound}
                yield _line("thrifty_request_seconds_bucket", labels, below)
            yield _line("thrifty_request_seconds_sum", {"route": route}, self._seconds[route])
            yield _line("thrifty_request_seconds_count", {"route": route}, below)
        sums = ((name, dict(labels), value) for (name, labels), value in self._sums.items())
        yield from _typed("counter", chain(sums, self._read("counter")))
        yield from _typed("gauge", chain(gauges, self._read("gauge")))

    def _read(self, kind: Kind) -> Iterator[Sample]:
        for read in self._watched[kind]:
            yield from read()


def _typed(kind: str, samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the lines of some samples, with the type before the first of each name."""
    last = None
    for name, labels, value in sorted(samples, key=lambda sample: (sample[0], str(sample[1]))):
        if name != last:
            yield f"# TYPE {name} {kind}"
            last = name
        yield _line(name, labels, value)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    number = f"{value:.12g}"
    return f"{name}{{{pairs}}} {number}" if pairs else f"{name} {number}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
