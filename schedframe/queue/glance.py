"""Figures of a queue for other threads: nothing is locked or changed, and each collection is copied at once.

While pods move, a figure may miss one or count it twice. All pods of entries that a pass has begun count
as unschedulable, which they are as soon as it is closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .in_flight import RecordedEvent
from .pools import Pools
from .priority_queue import PriorityQueue
from .queued_pod import Pool, QueuedPodInfo
from .together.cohort import size_of

POPPED = "PodPopped"
"""Label of pods in flight among the events that are kept for them."""


def pool_sizes(queue: PriorityQueue) -> dict[Pool, int]:
    """Return the number of pods in each pool, those in flight left out. O(cohorts)."""
    pools = queue.parts
    waiting, backoff = pools.waiting, pools.backoff
    sizes = Counter(
        {
            Pool.ACTIVE: len(pools.active),
            Pool.BACKOFF: backoff.count(Pool.BACKOFF),
            Pool.ERROR_BACKOFF: backoff.count(Pool.ERROR_BACKOFF),
            Pool.UNSCHEDULABLE: len(waiting) - waiting.gated,
            Pool.GATED: waiting.gated,
        }
    )
    for cohort in list(pools.cohorts.values()):
        sizes[cohort.history.pool or Pool.ACTIVE] += cohort.size - 1
    passed = queue.passed_over()
    sizes[Pool.UNSCHEDULABLE] += sum(map(size_of, passed))
    return dict(sizes)


def rejections(queue: PriorityQueue) -> Counter[tuple[str, str]]:
    """Return (plugin, profile) → pods in the queue that the plugin rejected last. O(pods outside groups)."""
    pools = queue.parts
    found: Counter[tuple[str, str]] = Counter()
    for group in list(pools.waiting.groups()):
        size = sum(map(size_of, list(group.pods.values())))
        for plugin in group.unschedulable | group.pending:
            found[plugin, group.profile] += size
    for info in (*_others(pools), *queue.passed_over()):
        for plugin in info.unschedulable_plugins | info.pending_plugins:
            found[plugin, info.profile] += size_of(info)
    return found


def events_in_flight(queue: PriorityQueue) -> Counter[str]:
    """Return the number of events that are kept for pods in flight, by label, and that of these pods."""
    log: list[RecordedEvent] = queue.in_flight.recorded()
    return Counter([each.event.label for each in log]) + Counter({POPPED: len(queue.in_flight)})


def _others(pools: Pools) -> Iterable[QueuedPodInfo]:
    """Return what is active or backs off and was rejected before."""
    backoff = pools.backoff
    heaps = pools.active, *backoff.heaps_of(Pool.BACKOFF), *backoff.heaps_of(Pool.ERROR_BACKOFF)
    infos = [info for heap in heaps for info in heap.list()]
    return [info for info in infos if info is not None and info.attempts]
