"""A watch that goes wrong in the ways real ones do, under the control of a test."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, Literal

from attrs import field

from .._base.value import record
from ..api import ClusterObject, Pod, PodCondition
from .port import ClusterPort, K, Subscription, WatchEvent, WatchHandler

Objects = list[Any]


@record(eq=False)
class FlakyWatch:
    """Stands between a cluster and a watcher and holds back events.

    The present state is delivered at once. Later events wait in ``pending``, oldest first, until the test
    delivers, drops, duplicates or moves it. The watcher still gets well-formed events: ``old`` is what it
    got last, whatever went wrong in between, so an event can reach it as another type (an ``ADDED`` of
    something it knows is a ``MODIFIED``, a ``DELETED`` of something it does not know is nothing). ``relist``
    compares with the cluster and delivers the difference, as a client does that lost its connection.

    For tests that change the cluster in one thread.
    """

    cluster: ClusterPort
    handler: WatchHandler
    kinds: tuple[str, ...] | None = None
    pending: list[WatchEvent] = field(factory=list, init=False)
    told: dict[tuple[str, str], Any] = field(factory=dict, init=False)
    """What the watcher believes is there: (kind, key) → object."""
    closed: bool = field(default=False, init=False)
    _subscription: Subscription = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._subscription = self.cluster.watch(self.pending.append, self.kinds)
        self.deliver()

    def deliver(self, count: int | None = None) -> None:
        """Deliver the first *count* pending events, or all, including those that handlers add."""
        while self.pending and count != 0:
            event = self.pending.pop(0)
            count = None if count is None else count - 1
            if event.new is None:
                self._send_deleted(event.kind, event.old, stale=event.old_is_stale)
            else:
                self._send_present(event.kind, event.new)

    def drop(self, index: int = 0) -> WatchEvent:
        """Lose a pending event; only a relist makes up for it."""
        return self.pending.pop(index)

    def duplicate(self, index: int = 0) -> None:
        """Let a pending event come twice in a row."""
        self.pending.insert(index, self.pending[index])

    def move(self, index: int, to: int) -> None:
        """Let a pending event overtake others, or be overtaken."""
        self.pending.insert(to, self.pending.pop(index))

    def shuffle(self, rng: Random) -> None:
        """Put the pending events in any order in which those of a kind stay in theirs.

        That is what may happen in reality, where each kind has a connection of its own.
        """
        queues: dict[str, Objects] = {}
        for event in self.pending:
            queues.setdefault(event.kind, []).append(event)
        order = [event.kind for event in self.pending]
        rng.shuffle(order)
        self.pending[:] = [queues[kind].pop(0) for kind in order]

    def relist(self, *, resync: bool = False) -> None:
        """Lose all pending events and tell the watcher how the cluster differs from what it believes.

        What is gone comes as ``DELETED`` with ``old_is_stale``; what was deleted and created again as one
        ``MODIFIED``. With *resync* what did not change comes too, as a ``MODIFIED`` to the same.
        """
        self.pending.clear()
        kinds = self.kinds or sorted({kind for kind, _ in self.told} | self._known_kinds())
        for kind in kinds:
            present = {obj.key: obj for obj in self.cluster.list(kind)}
            for key in [key for known_kind, key in self.told if known_kind == kind and key not in present]:
                self._send_deleted(kind, self.told[kind, key], stale=True)
            for key, obj in present.items():
                old = self.told.get((kind, key))
                if resync or old is None or _version(old) != _version(obj):
                    self._send_present(kind, obj)

    def close(self) -> None:
        """Tell the watcher nothing more."""
        self.closed = True
        self.pending.clear()
        self._subscription.close()

    def _known_kinds(self) -> set[str]:
        seen: set[str] = set()
        self.cluster.watch(lambda event: seen.add(event.kind)).close()
        return seen

    def _send_present(self, kind: str, obj: Any) -> None:
        old = self.told.get((kind, obj.key))
        self.told[kind, obj.key] = obj
        self._send(WatchEvent("ADDED" if old is None else "MODIFIED", kind, old, obj))

    def _send_deleted(self, kind: str, obj: Any, *, stale: bool) -> None:
        if self.told.pop((kind, obj.key), None) is not None:
            self._send(WatchEvent("DELETED", kind, obj, None, stale))

    def _send(self, event: WatchEvent) -> None:
        if not self.closed:
            self.handler(event)


def _version(obj: Any) -> tuple[str, str]:
    return obj.uid, obj.metadata.resource_version


@record(eq=False)
class FlakyCluster(ClusterPort):
    """A cluster whose watches are :class:`FlakyWatch`, kept in ``watches``; all else passes through."""

    cluster: ClusterPort
    watches: list[FlakyWatch] = field(factory=list, init=False)

    def get(self, kind: str, key: str) -> Any | None:
        """See :class:`ClusterPort`."""
        return self.cluster.get(kind, key)

    def list(self, kind: str) -> Objects:
        """See :class:`ClusterPort`."""
        return self.cluster.list(kind)

    def watch(self, handler: WatchHandler, kinds: Iterable[str] | None = None) -> Subscription:
        """Tell *handler* the present state; what happens later is held back."""
        watch = FlakyWatch(self.cluster, handler, None if kinds is None else tuple(kinds))
        self.watches.append(watch)
        return watch

    def bind(self, pod: Pod, node_name: str) -> None:
        """See :class:`ClusterPort`."""
        self.cluster.bind(pod, node_name)

    def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> None:
        """See :class:`ClusterPort`."""
        self.cluster.patch_pod_status(pod, condition=condition, nominated_node_name=nominated_node_name)

    def evict(self, pod: Pod, *, condition: PodCondition | None = None) -> None:
        """See :class:`ClusterPort`."""
        self.cluster.evict(pod, condition=condition)

    def create(self, obj: K) -> K:
        """See :class:`ClusterPort`."""
        return self.cluster.create(obj)

    def update(self, obj: K) -> K:
        """See :class:`ClusterPort`."""
        return self.cluster.update(obj)

    def delete(self, obj: ClusterObject) -> None:
        """See :class:`ClusterPort`."""
        self.cluster.delete(obj)

    def record_event(
        self,
        obj: ClusterObject,
        type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        action: str = "",
    ) -> None:
        """See :class:`ClusterPort`."""
        self.cluster.record_event(obj, type, reason, message, action)
