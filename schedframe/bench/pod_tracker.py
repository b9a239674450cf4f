"""Pending pods of a cluster, and the measured ones that got a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field

from .._base.value import record
from ..api import Pod
from ..cluster import InMemoryCluster, WatchEvent
from .clock import SkippingClock
from .measurement import Measurement


@record(frozen=True)
class PodSelection:
    """Pods by namespace and labels; no namespaces means all."""

    namespaces: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(factory=dict)

    def matches(self, pod: Pod) -> bool:
        """Return whether *pod* is selected."""
        if self.namespaces and pod.namespace not in self.namespaces:
            return False
        labels = pod.labels
        return all(labels.get(key) == value for key, value in self.labels.items())


@record(eq=False)
class PodTracker:
    """Follows the pods of a cluster by their events. Workloads that need none of this do not start it."""

    clock: SkippingClock
    measurement: Measurement
    pending: dict[str, Pod] = field(factory=dict)
    """Pods without a node, by key."""
    awaited: set[str] = field(factory=set)
    """Keys of pending pods for which the workload waits."""
    selection: PodSelection | None = None
    """Pods that are measured at present; ``None`` outside a measurement."""
    last_placed: float = 0.0
    """When a pod got a node last, on the scheduler's clock."""

    def start(self, cluster: InMemoryCluster) -> None:
        """Follow *cluster* from now on."""
        cluster.watch(self._on_event, ("Pod",))

    def await_pods(self, keys: Iterable[str]) -> None:
        """Replace the awaited pods by the pending ones among *keys*."""
        self.awaited = {key for key in keys if key in self.pending}

    def _on_event(self, event: WatchEvent) -> None:
        old: Any = event.old
        new: Any = event.new
        if new is None:
            self.pending.pop(old.key, None)
            self.awaited.discard(old.key)
        elif not new.spec.node_name:
            if event.type == "ADDED" and self._is_measured(new):
                self.measurement.pods += 1
            self.pending[new.key] = new
        elif self.pending.pop(new.key, None) is not None:
            self.awaited.discard(new.key)
            self.last_placed = self.clock()
            if self._is_measured(new):
                self.measurement.placed += 1

    def _is_measured(self, pod: Pod) -> bool:
        return self.selection is not None and self.selection.matches(pod)
