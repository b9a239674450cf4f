"""The cluster of a fork: objects in memory whose changes a trial takes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field
from typing_extensions import override

from .._base.undo import UndoDict, UndoLog
from .._base.value import record
from ..api import Pod
from ..cluster import InMemoryCluster, Subscription, WatchHandler


@record(eq=False)
class ForkCluster(InMemoryCluster):
    """An :class:`InMemoryCluster` in which trials can be reverted.

    A revert makes no events: the scheduler and the controllers of the fork are set back themselves.
    """

    undo: UndoLog = field(factory=UndoLog, kw_only=True)
    """The log of all trials of the fork."""
    is_known: bool = field(default=False, kw_only=True)
    """Whether watchers know the objects that are there already, as those of a copied scheduler do."""

    @override
    def _new_keys(self) -> dict[str, Any]:
        return UndoDict(self.undo)

    def fill(
        self, objects: Mapping[str, dict[str, Any]], version: int, pod_uids: Mapping[str, object]
    ) -> None:
        """Take over *objects* by kind and key, as of resource version *version*; *pod_uids*: of all pods."""
        self._version = version
        for kind, by_key in objects.items():
            self._objects[kind] = UndoDict(self.undo, by_key)
            uids = pod_uids if kind == Pod.KIND else [obj.metadata.uid for obj in by_key.values()]
            self.uids.fill(kind, UndoDict(self.undo, dict.fromkeys(uids)))

    @override
    def watch(self, handler: WatchHandler, kinds: Iterable[str] | None = None) -> Subscription:
        """See :class:`InMemoryCluster`; the present state is left out if it is known."""
        if not self.is_known:
            return InMemoryCluster.watch(self, handler, kinds)
        with self._delivery.lock:
            watch = self._delivery.join(handler, kinds, [])
        self._delivery.deliver()
        return watch
