"""Points to workers: each worker has one point at a time; a row comes back for each.

waiting -> a worker -> its row                 finished, failed, refused
        -> the worker dies  -> another worker  Dask does that, `retries` times; then the row says "killed"
        -> another process works on the point  later again
"""

import time
from collections import deque
from collections.abc import Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from ..errors import InterruptedRunError
from .point_run import Order, run_point
from .rows import INTERRUPTED, KILLED, RUNNING, Row
from .workers import Workers, work

TICK = 0.2
"""Seconds between two looks at signals and at the cluster."""
ABSENCE = 30.0
"""Seconds without its scheduler after which a client gives up."""


class OnWorkers:
    """Points on the workers of Dask (a `lead.Dispatcher`).

    retries: the deaths of its worker that a point survives.
    """

    def __init__(self, workers: Workers, orders: Mapping[int, Order], retries: int):
        self.workers, self.client, self.orders, self.retries = workers, workers.client, orders, retries
        self.todo = deque(orders)
        self.sent: dict[Any, int] = {}
        self.stopped = False
        self._back: SimpleQueue[Any] = SimpleQueue()
        self._later: list[tuple[float, int]] = []
        self._workers, self._asked, self._seen = 1, 0.0, time.monotonic()

    @property
    def points(self) -> set[int]:
        """The points that a worker has or will have next."""
        return set(self.sent.values())

    def close(self) -> None:
        """Send no more; those that are running end."""
        self.todo.clear()
        self._later.clear()

    def stop(self) -> None:
        """End the iteration; the caller ends the workers, whose runs are safe in their folders."""
        self.stopped = True

    def __iter__(self) -> Iterator[Row | None]:
        while (self.todo or self.sent or self._later) and not self.stopped:
            self._look_after_workers()
            self._fill_workers()
            try:
                future = self._back.get(timeout=TICK)
            except Empty:
                yield None
            else:
                row = self._row_of_future(future)
                self._fill_workers()  # before the caller takes its time
                yield row

    def _fill_workers(self) -> None:
        """Give each worker a point; one that waits behind another's would make the end late."""
        while self.todo and len(self.sent) < self._workers:
            self._send_point(self.todo.popleft())

    def _send_point(self, point: int) -> None:
        future = self.client.submit(work, self.orders[point], pure=False, retries=0)
        self.sent[future] = point
        future.add_done_callback(self._back.put)

    def _look_after_workers(self) -> None:
        """Count the workers, see whether the scheduler is there, and take points up that others had."""
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            self.todo.append(self._later.pop(0)[1])
        if self.client.status == "running":
            self._seen = now
        elif now - self._seen > ABSENCE or self.client.status in ("closed", "closing"):
            raise InterruptedRunError("the scheduler has gone; nothing is lost, give the same line again")
        if now - self._asked > 2.0 and self.client.status == "running":
            self._asked, self._workers = now, max(1, self.workers.replenish())

    def _row_of_future(self, future: Any) -> Row | None:
        point = self.sent.pop(future)
        if future.status == "finished":
            row = future.result()
            if row.state == RUNNING:  # of another process, or of a worker that is about to die
                self._later.append((time.monotonic() + 0.5, point))
                return None
            return row
        if future.status in ("cancelled", "lost"):
            if not self.stopped:
                self.todo.append(point)
            return None
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            text = f"its worker died {self.retries + 1} times; give the same line again, or raise `retries`"
            return Row(point, KILLED, error=text)
        raise error


class InThisProcess:
    """Points one after another in this process (`lead.Dispatcher`)."""

    def __init__(self, orders: Mapping[int, Order]):
        self.orders = orders
        self.points: set[int] = set()
        self.closed = False

    def close(self) -> None:
        self.closed = True

    stop = close

    def __iter__(self) -> Iterator[Row | None]:
        for point, order in self.orders.items():
            if self.closed:
                return
            self.points = {point}
            yield None
            row = run_point(order)
            yield row
            if row.state == INTERRUPTED:
                return
