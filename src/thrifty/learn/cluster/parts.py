"""Objects on the workers of a Dask cluster, each of which holds a part of the rows.

They are Dask actors, which do not survive their worker. What has been sent to them is kept as long
as it matters: if a worker is lost, its rows are read again on another one, and a new object repeats
what the lost one had done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from joblib.parallel import get_active_backend

from thrifty.errors import DataError, raise_all

__all__ = ["Parts", "active_client", "finish_tasks", "share_partitions", "wait_for"]

# Times that one part is made again before a fit is given up.
MAX_LOSSES = 5
# Seconds to wait for a worker if there is none, and between two looks.
PATIENCE = 60
SECONDS_PER_LOOK = 1
# Problems of partitions that one message lists.
MAX_LISTED = 10

Message = tuple[str, tuple[Any, ...]]


@dataclass(eq=False)
class _Part:
    """One object on a worker: the partitions that it holds, and how often it was lost."""

    partitions: list[int]
    worker: str = ""
    future: Any = None
    actor: Any = None
    losses: int = 0


class Parts:
    """All parts of a table, one on each worker.

    Parameters
    ----------
    client : distributed.Client
    tasks : sequence of Delayed
        Each computes what a part needs of one partition.
    n_rows : sequence of int
        Number of rows of each partition.
    names : sequence of str
        How messages refer to each partition.
    make : type
        Makes a part of a list of such results and `setup`. Its method `run` takes messages.
    setup : object
    """

    def __init__(
        self,
        client: Any,
        tasks: Sequence[Any],
        n_rows: Sequence[int],
        names: Sequence[str],
        make: Callable[[list[Any], Any], Any],
        setup: Any,
    ) -> None:
        self.client, self.tasks, self.names = client, list(tasks), list(names)
        self.make, self.setup = make, setup
        self.n_messages = 0
        self._waiting: list[Message] = []
        self._done: list[Message] = []
        futures = client.compute(self.tasks)
        finish_tasks(self.client, futures, self.names)
        places = client.who_has(futures)
        holders = [next(iter(places.get(future.key, ())), None) for future in futures]
        shares = share_partitions(n_rows, holders, self._workers())
        self._parts = [_Part(own) for own in shares.values()]
        for part, worker in zip(self._parts, shares, strict=True):
            self._place(part, worker, [futures[i] for i in part.partitions])
        for part in self._parts:
            self._bind(part)

    def __len__(self) -> int:
        return len(self._parts)

    def call(self, name: str, *arguments: Any) -> list[Any]:
        """Send a message to all parts, after those that wait; return their answers."""
        message = (name, arguments)
        messages = [*self._waiting, message]
        calls = [self._send(part, messages) for part in self._parts]
        answers = [
            self._answer(part, call, message) for part, call in zip(self._parts, calls, strict=True)
        ]
        self.n_messages += len(self._parts)
        self._waiting = []
        self._done.append(message)
        return answers

    def queue(self, name: str, *arguments: Any, for_new: Message | None = None) -> None:
        """Let a message wait for the next call; a part that is made later gets `for_new`."""
        self._waiting.append((name, arguments))
        self._done.append(for_new or (name, arguments))

    def forget(self, *names: str) -> None:
        """Forget messages that have no effect any more; a part that is made again skips them."""
        self._done = [message for message in self._done if message[0] not in names]

    def restart(self) -> None:
        """Forget all messages: what follows starts anew."""
        self._waiting, self._done = [], []

    def _send(self, part: _Part, messages: Sequence[Message]) -> Any:
        """Start a call; None if the worker is known to be lost."""
        try:
            return part.actor.run(messages)
        except Exception:  # whatever a part raises itself is returned by its `run`
            return None

    def _answer(self, part: _Part, call: Any, message: Message) -> Any:
        """Return the answer of a part; if its worker was lost, of a new one."""
        while True:
            try:
                if call is None:
                    self._rebuild(part)
                    call = self._send(part, [*self._done, message])
                answer = self._await(part, call)
            except DataError:
                raise
            except Exception as error:
                call = None
                part.losses += 1
                if part.losses > MAX_LOSSES:
                    held = ", ".join(self.names[i] for i in part.partitions[:3])
                    raise DataError(
                        f"cluster: workers were lost {part.losses} times while they held {held}; "
                        "give them more memory, or the table smaller partitions"
                    ) from error
                continue
            if isinstance(answer, Exception):
                raise answer
            return answer

    def _await(self, part: _Part, call: Any) -> Any:
        """Return the answer of a call; a worker that is gone answers no more."""
        while True:
            try:
                return call.result(timeout=SECONDS_PER_LOOK)
            except TimeoutError:
                if part.worker not in self._workers():
                    raise ConnectionError(f"{part.worker} is gone") from None

    def _rebuild(self, part: _Part) -> None:
        """Read the rows of a part again, on the worker that has the fewest parts."""
        futures = self.client.compute([self.tasks[i] for i in part.partitions])
        finish_tasks(self.client, futures, [self.names[i] for i in part.partitions])
        held = [other.worker for other in self._parts if other is not part]
        worker = min(self._workers(), key=held.count)
        self._place(part, worker, futures)
        self._bind(part)

    def _place(self, part: _Part, worker: str, futures: list[Any]) -> None:
        """Make the object of a part on a worker."""
        # If the worker is lost before it is known to be, another one may take its place.
        part.future = self.client.submit(
            self.make, futures, self.setup, actor=True, workers=[worker],
            allow_other_workers=True, pure=False,
        )  # fmt: skip

    def _bind(self, part: _Part) -> None:
        """Wait until the object of a part is there, and remember where."""
        wait_for(self.client, [part.future])
        part.actor = part.future.result()
        (part.worker,) = self.client.who_has([part.future])[part.future.key]

    def _workers(self) -> list[str]:
        """Return the addresses of the workers that are there now."""
        return sorted(self.client.nthreads())


def active_client() -> Any | None:
    """Return the client of ``joblib.parallel_config("dask")``, if that holds here.

    On a worker, which runs a part of what somebody else has shared, there is none.
    """
    backend, _ = get_active_backend()
    if type(backend).__name__ != "DaskDistributedBackend":
        return None
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return backend.client
    return None


def share_partitions(
    n_rows: Sequence[int], holders: Sequence[str | None], workers: Sequence[str]
) -> dict[str, list[int]]:
    """Return the partitions of each worker: those that it has, up to its share of the rows.

    Others go to the worker that has the fewest rows. A worker without partitions is left out.

    Examples
    --------
    >>> from thrifty.learn.cluster.parts import share_partitions
    >>> share_partitions([10, 10, 10, 10], ["a", "a", "a", None], ["a", "b"])
    {'a': [0, 1], 'b': [2, 3]}
    """
    share = sum(n_rows) / len(workers)
    held: dict[str, list[int]] = {worker: [] for worker in workers}
    rows = dict.fromkeys(workers, 0)
    moved = []
    for i, (n, holder) in enumerate(zip(n_rows, holders, strict=True)):
        if holder in rows and rows[holder] + n <= share:
            held[holder].append(i)
            rows[holder] += n
        else:
            moved.append(i)
    for i in moved:
        worker = min(workers, key=rows.__getitem__)
        held[worker].append(i)
        rows[worker] += n_rows[i]
    return {worker: own for worker, own in held.items() if own}


def wait_for(client: Any, futures: Sequence[Any]) -> None:
    """Wait for tasks; raise a DataError if there has been no worker for a while."""
    from distributed import wait

    last_seen = monotonic()
    while True:
        try:
            wait(futures, timeout=SECONDS_PER_LOOK)
            return
        except TimeoutError:
            if client.nthreads():
                last_seen = monotonic()
            elif monotonic() - last_seen > PATIENCE:
                raise DataError(
                    f"cluster: there has been no worker for {PATIENCE} seconds; start some"
                ) from None


def finish_tasks(client: Any, futures: Sequence[Any], names: Sequence[str]) -> None:
    """Wait for a task on each partition; raise a DataError that says which failed, and why."""
    wait_for(client, futures)
    problems = []
    for future, name in zip(futures, names, strict=True):
        if future.status == "error":
            error = future.exception()
            is_ours = isinstance(error, DataError)
            problems.append(f"{error}" if is_ours else f"{name} cannot be read: {error}")
    more = [f"and {len(problems) - MAX_LISTED} more"] if len(problems) > MAX_LISTED else []
    raise_all(DataError, "table", problems[:MAX_LISTED] + more)
