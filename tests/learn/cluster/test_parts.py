"""Parts on workers: shared evenly, called together, made again if they are lost."""

from __future__ import annotations

from typing import Any

import pytest
from dask.delayed import delayed
from joblib import parallel_config

from thrifty import DataError
from thrifty.learn.cluster import parts as module
from thrifty.learn.cluster.parts import Parts, active_client, share_partitions, wait_for


class Sum:
    """A part for tests: adds numbers up."""

    def __init__(self, numbers: list[int], setup: int) -> None:
        self.total = sum(numbers) + setup

    def run(self, messages: list[tuple[str, tuple[Any, ...]]]) -> Any:
        try:
            for name, arguments in messages:
                result = getattr(self, name)(*arguments)
        except Exception as error:
            return error
        return result

    def add(self, number: int) -> int:
        self.total += number
        return self.total


class Lost:
    """An actor whose worker is gone: at once, or as the answer is awaited."""

    def __init__(self, at_once: bool) -> None:
        self.at_once = at_once

    def run(self, messages: object) -> Lost:
        if self.at_once:
            raise RuntimeError("Worker holding Actor was lost")
        return self

    def result(self, timeout: float) -> None:
        raise OSError("Unable to contact Actor's worker")


@pytest.fixture
def parts(dask_client: Any) -> Parts:
    """Parts with the numbers 0, 1, 2 and 3."""
    return Parts(dask_client, [delayed(int)(i) for i in range(4)], [10] * 4, "abcd", Sum, 100)


def test_all_parts_are_called(parts):
    assert len(parts) == 2
    assert sum(parts.call("add", 1000)) == 2 * 1100 + 6
    assert parts.n_messages == 2


def test_messages_that_wait_go_before_the_next_one(parts):
    parts.queue("add", 1)
    parts.queue("add", 2)
    assert sum(parts.call("add", 0)) == 2 * 103 + 6


@pytest.mark.parametrize("at_once", [False, True])
def test_a_lost_part_is_made_again_and_repeats_what_it_did(parts, at_once):
    parts.call("add", 10_000)
    parts.forget("add")
    parts.call("add", 10)
    parts.queue("add", 5, for_new=("add", (7,)))
    kept = parts._parts[1].actor.run([("add", (0,))]).result()
    parts._parts[0].actor = Lost(at_once)
    first, second = parts.call("add", 1)
    # The new part has not seen what was forgotten, and got the other message.
    assert first in {100 + i + j + 18 for i in range(4) for j in range(4)}
    assert second == kept + 6


def test_a_part_that_is_lost_again_and_again_ends_the_fit(parts, monkeypatch):
    parts._parts[0].actor = Lost(True)
    monkeypatch.setattr(Parts, "_rebuild", lambda self, part: None)
    with pytest.raises(DataError, match="workers were lost 6 times .* more memory"):
        parts.call("add", 1)


def test_an_error_of_a_part_is_raised(parts):
    with pytest.raises(TypeError, match="str"):
        parts.call("add", "text")


def test_an_error_while_a_part_is_made_again_is_raised(parts):
    parts._parts[0].actor = Lost(False)
    parts.tasks = [delayed(int)("no number")] * 4
    with pytest.raises(DataError, match="[abcd] cannot be read: invalid literal"):
        parts.call("add", 1)


def on_worker() -> bool:
    with parallel_config("dask"):
        return active_client() is None


def test_a_worker_shares_nothing_of_its_own(dask_client):
    assert active_client() is None
    with parallel_config("dask"):
        assert active_client() is dask_client
    assert dask_client.submit(on_worker).result()


def test_workers_share_the_rows():
    assert share_partitions([5, 5, 5, 5], ["b", None, "b", "b"], ["a", "b"]) == {
        "a": [1, 3], "b": [0, 2],
    }  # fmt: skip
    assert share_partitions([5, 90, 5], [None] * 3, ["a", "b"]) == {"a": [0, 2], "b": [1]}
    assert share_partitions([5], ["gone"], ["a", "b", "c"]) == {"a": [0]}


def test_without_workers_nothing_is_awaited_for_ever(monkeypatch):
    times = iter([0.0, 10.0, 20.0, 81.0])
    monkeypatch.setattr(module, "monotonic", lambda: next(times))

    def wait(futures: object, timeout: float) -> None:
        raise TimeoutError

    class Empty:
        looks = iter([{"a": 1}, {}, {}])

        def nthreads(self) -> dict[str, int]:
            return next(self.looks)

    monkeypatch.setattr("distributed.wait", wait)
    with pytest.raises(DataError, match="no worker for 60 seconds"):
        wait_for(Empty(), [])
