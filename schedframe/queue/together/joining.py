"""Join what was just rejected with what waits with the same history.

Only pods that failed at the last moment can have the history of one that fails now, so only these are filed.
"""

from __future__ import annotations

from typing import Any

from attrs import field

from ..._base.value import record
from ..pools import Pools
from ..queued_pod import Pool, QueuedPodInfo
from .cohort import Cohort, cohort_of
from .known_outcomes import PodClass


@record(eq=False)
class Joining:
    """Finds the entry of the unschedulable pool that a rejected pod or cohort becomes a part of."""

    pools: Pools
    _entries: dict[Any, QueuedPodInfo] = field(factory=dict, init=False)
    """History → the entry that has it; of the last moment only."""
    _moment: tuple[float, int] = field(default=(0.0, 0), init=False)

    def pod(self, info: QueuedPodInfo, pod_class: PodClass) -> None:
        """Let a pod that was just rejected, and is in the unschedulable pool, wait with its equals. O(1)."""
        info.pod_class = pod_class
        other = self._find(info)
        if other is None:
            return
        self.pools.leave(info)
        info.pool = None
        cohort = cohort_of(other)
        if cohort is None:
            assert other.pod_class is not None
            cohort = Cohort.like(other)
            self.pools.leave(other)
            cohort.history.pool = None
            cohort.add(other, other.pod_class)
            self.pools.wait(cohort.history, other.timestamp)
            self._entries[self._key(cohort.history)] = cohort.history
        cohort.add(info, pod_class)

    def cohort(self, cohort: Cohort) -> None:
        """Let a cohort that was just rejected become one with its equals. O(members of the smaller)."""
        history = cohort.history
        other = self._find(history)
        if other is None:
            return
        waiting = cohort_of(other)
        if waiting is None:
            assert other.pod_class is not None
            self.pools.leave(other)
            cohort.add(other, other.pod_class)
            self._entries[self._key(history)] = history
            return
        small, large = sorted((cohort, waiting), key=lambda one: one.size)
        self.pools.leave(small.history)
        large.absorb(small)
        self._entries[self._key(large.history)] = large.history

    def _find(self, info: QueuedPodInfo) -> QueuedPodInfo | None:
        """Return what waits with the history of *info*; if nothing does, file *info* for those to come."""
        moment = info.timestamp, info.moment
        if moment != self._moment:
            self._entries.clear()
            self._moment = moment
        key = self._key(info)
        other = self._entries.get(key)
        if other is not None and other is not info and self._may_be_joined(other) and self._key(other) == key:
            return other
        self._entries[key] = info
        return None

    def _may_be_joined(self, other: QueuedPodInfo) -> bool:
        """Return whether an entry that was filed waits as it did then."""
        if other.pool is not Pool.UNSCHEDULABLE or other.line is not None:
            return False
        cohort = cohort_of(other)
        return other.pod_class is not None if cohort is None else bool(cohort.size)

    def _key(self, info: QueuedPodInfo) -> Any:
        """Return all of a history that decides what becomes of it."""
        return (
            info.profile,
            info.pod.priority,
            info.timestamp,
            info.moment,
            info.unschedulable_plugins,
            info.pending_plugins,
            info.gating_plugin,
            info.error_count,
            min(info.unschedulable_count, self.pools.backoff.steps),
            info.flushed,
        )
