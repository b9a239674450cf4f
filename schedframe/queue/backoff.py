"""Pods that back off: heaps by expiry of rejected, held and failed pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from ..errors import InvariantError
from .heap import Heap
from .queued_pod import Pool, QueuedPodInfo

_SECOND = 1_000_000


def micros(seconds: float) -> int:
    """Return whole microseconds. Floats of today's epoch are exact to 0.25 µs; integers add up exactly."""
    return round(seconds * 1e6)


class BackoffQueues:
    """The backoff rule and the pods that back off.

    A pod waits initial × 2^(count−1) seconds, at most the maximum, from its timestamp on, where count is that
    of consecutive errors or, if there are none, of rejections. Expiries are truncated to whole seconds, and a
    pod is backing off up to the end of its second, so that all pods of a second leave together and in the
    order of the queue (Kubernetes KEP-5142). A maximum of 0 switches backoff off.

    A pod whose attempt took long rests up to its ``not_before`` at least, whatever lets others try again.

    ``rejected`` may be popped before their time while nothing is active. ``held`` and ``errors`` may not:
    held pods were rejected too, but all that happened since is that later attempts were rolled back.
    """

    __slots__ = ("_initial", "_maximum", "_order", "errors", "held", "rejected")

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
        self._order: dict[str, Any]
        if less is not None:
            self._order = {"less": self._expiry_then(less)}
        else:
            by_queue = sort_key if sort_key is not None else attrgetter("timestamp")
            self._order = {"sort_key": self._expiry_and(by_queue)}
        self.rejected = self._new_heap()
        self.held = self._new_heap()
        self.errors: Heap[QueuedPodInfo] = Heap(attrgetter("key"), sort_key=self.expiry)

    def expiry(self, info: QueuedPodInfo) -> int:
        """Return the second of the clock in which the backoff of *info* ends; computed once. O(1)."""
        expiry = info.backoff_expiry
        if expiry is None:
            expiry = (micros(info.timestamp) + self.duration(info)) // _SECOND
            expiry = max(expiry, info.not_before)
            info.backoff_expiry = expiry
        return expiry

    def duration(self, info: QueuedPodInfo) -> int:
        """Return how long a pod with that history backs off, in microseconds."""
        count = info.error_count or info.unschedulable_count
        if count == 0 or self._maximum == 0:
            return 0
        # Beyond 2^64 the maximum is reached for any configuration; a larger exponent only costs memory.
        return min(self._initial << min(count - 1, 64), self._longest(info))

    def _longest(self, info: QueuedPodInfo) -> int:
        """Return the longest backoff of *info*, in microseconds."""
        return self._maximum

    @property
    def steps(self) -> int:
        """Rejections from which on the backoff does not grow any more."""
        if not self._initial or self._initial >= self._maximum:
            return 1
        return 1 + (-(-self._maximum // self._initial) - 1).bit_length()

    def is_backing_off(self, info: QueuedPodInfo, now: float) -> bool:
        """Return whether *info* still backs off at *now*; never for a pod that has not failed."""
        if info.attempts == 0 or (self._maximum == 0 and not info.not_before):
            return False
        return self.expiry(info) >= micros(now) // _SECOND

    def rests(self, info: QueuedPodInfo, now: float) -> bool:
        """Return whether *info* still rests after an attempt that took long. O(1)."""
        return info.not_before >= micros(now) // _SECOND

    def add(self, info: QueuedPodInfo, *, held: bool = False) -> Pool:
        """Hold *info* back, not to be popped early if *held*; return the pool that it went to. O(log n)."""
        if info.unschedulable_plugins or info.pending_plugins:
            (self.held if held else self.rejected).add(info)
            return Pool.BACKOFF
        self.errors.add(info)
        return Pool.ERROR_BACKOFF

    def replace(self, info: QueuedPodInfo) -> None:
        """Put *info*, a later version, in place of the pod with its key. O(log n)."""
        self._heap_with(info).add(info)

    def remove(self, info: QueuedPodInfo) -> None:
        """Take *info* out. O(1) amortised."""
        self._heap_with(info).delete(info.key)

    def pop_early(self) -> QueuedPodInfo | None:
        """Pop the first pod that backs off after a rejection; none while that one rests. O(log n)."""
        head = self.rejected.peek()
        if head is None or head.not_before > head.timestamp:
            return None
        return self.rejected.pop()

    def release(self, after: int = 0) -> bool:
        """Let held pods whose last pop came after that one be popped early; whether there are any.

        O(held pods · log n).
        """
        released = [info for info in self.held if info.popped > after]
        for info in released:
            self.rejected.add(info)
            self.held.delete(info.key)
        return bool(released)

    def members(self, pool: Pool) -> list[QueuedPodInfo]:
        """Return the pods of ``Pool.BACKOFF``, held ones last, or of ``Pool.ERROR_BACKOFF``. O(n log n)."""
        return [info for heap in self.heaps_of(pool) for info in heap.sorted()]

    def count(self, pool: Pool) -> int:
        """Return how many pods ``Pool.BACKOFF`` or ``Pool.ERROR_BACKOFF`` has. O(1)."""
        return sum(map(len, self.heaps_of(pool)))

    def pop_completed(self, now: float) -> Iterator[QueuedPodInfo]:
        """Pop every pod whose backoff is over, rejected ones first. O(log n) each.

        A pod leaves as the next one is asked for, unless the caller has moved it: it stays if that fails.
        """
        for heap in self._heaps():
            while (head := heap.peek()) is not None and not self.is_backing_off(head, now):
                yield head
                if head.key in heap:
                    self.remove(head)

    def deadline(self) -> float | None:
        """Return when the first backoff is over: the instant after the second of its expiry. O(1)."""
        first = None
        for heap in self._heaps():
            if heap.entries and (head := heap.peek()) is not None:
                end = self.wake_at(head)
                if first is None or end < first:
                    first = end
        return first

    def wake_at(self, info: QueuedPodInfo) -> float:
        """Return when the backoff of *info* is over."""
        return float(self.expiry(info) + 1)

    def __bool__(self) -> bool:
        return any(self._heaps())

    def __len__(self) -> int:
        return sum(map(len, self._heaps()))

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if a heap is inconsistent or holds a pod of the other one. O(n)."""
        for pool in (Pool.BACKOFF, Pool.ERROR_BACKOFF):
            for heap in self.heaps_of(pool):
                heap.check_invariants()
                for info in heap:
                    if info.pool is not pool:
                        raise InvariantError(f"{info.key} is in a {pool} heap but says it is in {info.pool}")
        if twice := self.held.entries.keys() & self.rejected.entries.keys():
            raise InvariantError(f"{sorted(map(str, twice))} are held and may be popped early")

    def _new_heap(self) -> Heap[QueuedPodInfo]:
        """Return a heap of pods by expiry, then in the order of the queue."""
        return Heap(attrgetter("key"), **self._order)

    def _heaps(self) -> tuple[Heap[QueuedPodInfo], ...]:
        return self.rejected, self.held, self.errors

    def heaps_of(self, pool: Pool) -> tuple[Heap[QueuedPodInfo], ...]:
        """Return the heaps with the pods of one pool; pods that may be popped early are in the first one."""
        return (self.rejected, self.held) if pool is Pool.BACKOFF else (self.errors,)

    def _heap_with(self, info: QueuedPodInfo) -> Heap[QueuedPodInfo]:
        return next(heap for heap in self._heaps() if info.key in heap)

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
