"""What pacing and a shadow have to say, as figures for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from thrifty.serve import Pacing, Runtime, Shadow
from thrifty.web.metrics import Metrics, Sample

__all__ = ["watch_runtime"]


def watch_runtime(runtime: Runtime, metrics: Metrics) -> None:
    """Have the figures of the pacing and of the shadow of a runtime shown, if it has them."""
    pacing, shadow = runtime.pacing, runtime.shadow
    if pacing is not None:
        metrics.watch(lambda: _paced(pacing), "counter")
        metrics.watch(lambda: _pace(pacing))
    if shadow is not None:
        metrics.watch(lambda: _shadowed(shadow), "counter")


def _paced(pacing: Pacing) -> Iterator[Sample]:
    found = pacing.metrics()
    for index, count in enumerate(found["by_point"]):
        yield "thrifty_paced_cases_total", {"point": str(index)}, count
    yield "thrifty_limited_cases_total", {}, found["limited"]
    yield "thrifty_paced_settled_total", {}, found["cases"] - found["open"]
    yield "thrifty_paced_spent_total", {}, found["spent"]
    yield "thrifty_paced_expected_total", {}, found["expected"]


def _pace(pacing: Pacing) -> Iterator[Sample]:
    found = pacing.metrics()
    yield "thrifty_budget", {}, found["budget"]
    yield "thrifty_cost_weight", {}, found["cost_weight"]
    for window, limit in found["ceilings"].items():
        yield "thrifty_ceiling", {"window": window}, limit
        yield "thrifty_ceiling_committed", {"window": window}, found["committed"][window]


def _shadowed(shadow: Shadow) -> Iterator[Sample]:
    found = shadow.metrics()
    for outcome in ("agreed", "changed", "incomplete", "failed", "dropped"):
        yield "thrifty_shadow_cases_total", {"outcome": outcome}, found[outcome]
    yield "thrifty_shadow_billed_total", {"model": "shadow"}, found["billed"]
    yield "thrifty_shadow_billed_total", {"model": "served"}, found["served_bill"]
    for feature, count in found["lacking"].items():
        yield "thrifty_shadow_lacking_total", {"feature": str(feature)}, count
