"""Figures for Prometheus."""

from __future__ import annotations

from thrifty.web.metrics import Metrics


def test_requests_are_counted_by_route_and_status(client):
    client.post("/v1/next", json={})
    client.post("/v1/next", content=b"?")
    text = client.get("/metrics").text
    assert 'thrifty_requests_total{route="/v1/next",status="200"} ' in text
    assert 'thrifty_requests_total{route="/v1/next",status="400"} ' in text


def test_the_buckets_of_a_histogram_add_up():
    metrics = Metrics()
    for seconds in (0.0005, 0.002, 0.002, 99.0):
        metrics.count_request("/v1/next", 200, seconds)
    text = metrics.text()
    assert 'thrifty_request_seconds_bucket{route="/v1/next",le="0.001"} 1\n' in text
    assert 'thrifty_request_seconds_bucket{route="/v1/next",le="10.0"} 3\n' in text
    assert 'thrifty_request_seconds_bucket{route="/v1/next",le="+Inf"} 4\n' in text
    assert 'thrifty_request_seconds_count{route="/v1/next"} 4\n' in text


def test_sums_and_gauges_have_labels_and_a_type():
    metrics = Metrics()
    metrics.add("thrifty_spent_total", 2.5, source='the "lab"')
    metrics.add("thrifty_spent_total", 1.0, source='the "lab"')
    metrics.watch(lambda: [("thrifty_open_cases", {}, 3.0)])
    text = metrics.text()
    assert "# TYPE thrifty_spent_total counter\n" in text
    assert 'thrifty_spent_total{source="the \\"lab\\""} 3.5\n' in text
    assert "# TYPE thrifty_open_cases gauge\nthrifty_open_cases 3\n" in text
