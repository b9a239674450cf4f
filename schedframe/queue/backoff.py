"""Pods that failed not long ago and have to wait: one heap after rejections, one after errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from ..errors import InvariantError
from .heap import Heap
from .queued_pod import Pool, QueuedPodInfo

_SECOND = 1_000_000


def micros(seconds: float) -> int:
    """Whole microseconds. At today's epoch a float is exact to a quarter of one; sums of these stay exact."""
    return round(seconds * 1e6)


class BackoffQueues:
    """The backoff rule and the pods it holds back.

    A pod waits initial × 2^(count−1) seconds, at most the maximum, from its timestamp on, where count is that
    of consecutive errors or, if there are none, of rejections. Expiries are truncated to whole seconds, and a
    pod is backing off up to the end of its second, so that all pods of a second leave together and in the
    order of the queue (Kubernetes KEP-5142). A maximum of 0 switches backoff off.
    """

    __slots__ = ("_initial", "_maximum", "errors", "rejected")

    def __init__(
        self,
        initial: float,
        maximum: float,
        *,
        sort_key: Callable[[QueuedPodInfo], Any] | None = None,
        less: Callable[[QueuedPodInfo, QueuedPodInfo], bool] | None = None,
    ) -> None:
        self._initial = micros(initial)
        self._maximum = micros(maximum)
        by_key = attrgetter("key")
        self.rejected: Heap[QueuedPodInfo]
        if less is not None:
            self.rejected = Heap(by_key, less=self._expiry_then(less))
        else:
            order = sort_key if sort_key is not None else attrgetter("timestamp")
            self.rejected = Heap(by_key, sort_key=self._expiry_and(order))
        self.errors: Heap[QueuedPodInfo] = Heap(by_key, sort_key=self.expiry)

    def expiry(self, info: QueuedPodInfo) -> int:
        """The second of the clock in which the backoff of *info* ends; computed once. O(1)."""
        expiry = info.backoff_expiry
        if expiry is None:
            expiry = (micros(info.timestamp) + self.duration(info)) // _SECOND
            info.backoff_expiry = expiry
        return expiry

    def duration(self, info: QueuedPodInfo) -> int:
        """How long a pod with that history waits, in microseconds."""
        count = info.error_count or info.unschedulable_count
        if count == 0 or self._maximum == 0:
            return 0
        # beyond 2^64 the maximum has long been reached, and the exponent of a wronged pod may be large
        return min(self._initial << min(count - 1, 64), self._maximum)

    def is_backing_off(self, info: QueuedPodInfo, now: float) -> bool:
        """Whether *info* still has to wait at *now*; never for a pod that has not failed."""
        if info.attempts == 0 or self._maximum == 0:
            return False
        return self.expiry(info) >= micros(now) // _SECOND

    def add(self, info: QueuedPodInfo) -> Pool:
        """Hold *info* back (or put it in place of the one with its key); where it went. O(log n)."""
        if info.unschedulable_plugins or info.pending_plugins:
            self.rejected.add(info)
            return Pool.BACKOFF
        self.errors.add(info)
        return Pool.ERROR_BACKOFF

    def heap_of(self, pool: Pool) -> Heap[QueuedPodInfo]:
        """The heap of ``Pool.BACKOFF`` or ``Pool.ERROR_BACKOFF``."""
        return self.rejected if pool is Pool.BACKOFF else self.errors

    def pop_completed(self, now: float) -> Iterator[QueuedPodInfo]:
        """Take out every pod that need not wait any longer, rejected ones first. O(log n) each."""
        for heap in (self.rejected, self.errors):
            while (head := heap.peek()) is not None and not self.is_backing_off(head, now):
                heap.pop()
                yield head

    def deadline(self) -> float | None:
        """When the next pod is through, the first instant after the second of its expiry. O(1)."""
        heads = (self.rejected.peek(), self.errors.peek())
        ends = [self.wake_at(head) for head in heads if head is not None]
        return min(ends) if ends else None

    def wake_at(self, info: QueuedPodInfo) -> float:
        """When *info* is through."""
        return float(self.expiry(info) + 1)

    def __bool__(self) -> bool:
        return bool(self.rejected or self.errors)

    def __len__(self) -> int:
        return len(self.rejected) + len(self.errors)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if a heap is inconsistent or holds a pod of the other one. O(n)."""
        for pool in (Pool.BACKOFF, Pool.ERROR_BACKOFF):
            heap = self.heap_of(pool)
            heap.check_invariants()
            for info in heap:
                if info.pool is not pool:
                    raise InvariantError(f"{info.key} is in the {pool} heap but says it is in {info.pool}")

    def _expiry_and(
        self, order: Callable[[QueuedPodInfo], Any]
    ) -> Callable[[QueuedPodInfo], tuple[Any, ...]]:
        def rank(info: QueuedPodInfo) -> tuple[Any, ...]:
            then = order(info)
            return (self.expiry(info), *then) if type(then) is tuple else (self.expiry(info), then)

        return rank

    def _expiry_then(
        self, less: Callable[[QueuedPodInfo, QueuedPodInfo], bool]
    ) -> Callable[[QueuedPodInfo, QueuedPodInfo], bool]:
        def earlier(one: QueuedPodInfo, other: QueuedPodInfo) -> bool:
            first, second = self.expiry(one), self.expiry(other)
            return less(one, other) if first == second else first < second

        return earlier
