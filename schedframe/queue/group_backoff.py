"""Backoff of pods some of which are members of groups."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from operator import attrgetter
from typing import Any

from ..api import group_of
from ..errors import InvariantError
from .backoff import BackoffQueues
from .group_filing import HeldMembers
from .grouped_heap import GroupedHeap
from .heap import Heap
from .queued_pod import Pool, QueuedPodInfo


class GroupBackoffQueues(BackoffQueues):
    """Backoff queues with one entry for each group; members of groups are held apart from other pods.

    The longest backoff of a member is the configured one times the square root of the size of its group.
    """

    __slots__ = ("held_group", "held_members", "size_of")

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        BackoffQueues.__init__(self, *arguments, **keywords)
        self.errors = GroupedHeap(attrgetter("key"), named_group, sort_key=self.expiry)
        self.held_group = self._new_heap()
        self.held_members = HeldMembers()
        self.size_of: Callable[[str], int] = single

    def add(self, info: QueuedPodInfo, *, held: bool = False) -> Pool:
        """See :class:`BackoffQueues`."""
        if not held or not group_of(info.pod) or not (info.unschedulable_plugins or info.pending_plugins):
            return BackoffQueues.add(self, info, held=held)
        self.held_group.add(info)
        self.held_members.add(info)
        return Pool.BACKOFF

    def remove(self, info: QueuedPodInfo) -> None:
        """See :class:`BackoffQueues`."""
        self.held_members.remove(info)
        BackoffQueues.remove(self, info)

    def replace(self, info: QueuedPodInfo) -> None:
        """See :class:`BackoffQueues`."""
        if info.key in self.held_group:
            self.held_members.add(info)
        BackoffQueues.replace(self, info)

    def release_group(self, key: str) -> bool:
        """Let the held members of a group be popped early; return whether there are any. O(members log n)."""
        infos = self.held_group.take_group(key)
        for info in infos:
            self.held_members.remove(info)
            self.rejected.add(info)
        return bool(infos)

    def _longest(self, info: QueuedPodInfo) -> int:
        key = group_of(info.pod)
        size = self.size_of(key) if key else 1
        return self._maximum if size <= 1 else int(self._maximum * sqrt(size))

    def _new_heap(self) -> GroupedHeap[QueuedPodInfo]:
        return GroupedHeap(attrgetter("key"), named_group, **self._order)

    def _heaps(self) -> tuple[Heap[QueuedPodInfo], ...]:
        return self.rejected, self.held, self.held_group, self.errors

    def heaps_of(self, pool: Pool) -> tuple[Heap[QueuedPodInfo], ...]:
        """Return the heaps with the pods of one pool; pods that may be popped early are in the first one."""
        return (self.rejected, self.held, self.held_group) if pool is Pool.BACKOFF else (self.errors,)

    def check_invariants(self) -> None:
        """See :class:`BackoffQueues`."""
        BackoffQueues.check_invariants(self)
        if len(self.held_members) != len(self.held_group):
            raise InvariantError(
                f"{len(self.held_group)} members are held, {len(self.held_members)} are filed"
            )


def named_group(info: QueuedPodInfo) -> str:
    """Return the key of the group that the pod names, empty without one."""
    return group_of(info.pod)


def single(key: str) -> int:
    """Return the size of a group as if it were a single pod."""
    return 1
