"""A cluster that can be read but not changed. Requests to write are recorded."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any, Literal

from attrs import field

from .._base.value import record
from ..api import ClusterObject, Pod, PodCondition
from ..cluster import ClusterPort, Subscription, WatchHandler
from ..cluster.port import K
from ..cycle.binding.api_writes import PodWriteQueue
from ..cycle.core import Core
from ..cycle.events import EventRecorder
from ..cycle.runtime.executors import InlineExecutor
from ..cycle.runtime.inbox import Inbox
from ..cycle.runtime.timers import Timers


@record(eq=False)
class DryRunCluster:
    """A :class:`ClusterPort` over another one that accepts every request and carries out none."""

    inner: ClusterPort
    bound: builtins.list[tuple[Pod, str]] = field(factory=list)
    evicted: builtins.list[Pod] = field(factory=list)
    written: builtins.list[tuple[str, Any]] = field(factory=list)
    """``create``, ``update`` or ``delete``, with the object."""
    patched: builtins.list[tuple[Pod, PodCondition | None, str | None]] = field(factory=list)

    def list(self, kind: str) -> builtins.list[Any]:
        """Return all objects of *kind*."""
        return self.inner.list(kind)

    def get(self, kind: str, key: str) -> Any | None:
        """Return the object of *kind* with that key, ``None`` if there is none."""
        return self.inner.get(kind, key)

    def watch(self, handler: WatchHandler, kinds: Iterable[str] | None = None) -> Subscription:
        """Watch the inner cluster."""
        return self.inner.watch(handler, kinds)

    def bind(self, pod: Pod, node_name: str) -> None:
        """Record the request."""
        self.bound.append((pod, node_name))

    def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> None:
        """Record the request."""
        self.patched.append((pod, condition, nominated_node_name))

    def evict(self, pod: Pod, *, condition: PodCondition | None = None) -> None:
        """Record the request."""
        self.evicted.append(pod)

    def create(self, obj: K) -> K:
        """Record the request."""
        self.written.append(("create", obj))
        return obj

    def update(self, obj: K) -> K:
        """Record the request."""
        self.written.append(("update", obj))
        return obj

    def delete(self, obj: ClusterObject) -> None:
        """Record the request."""
        self.written.append(("delete", obj))

    def record_event(
        self,
        obj: ClusterObject,
        type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        action: str = "",
    ) -> None:
        """Discard the event."""


@contextmanager
def dry_run(core: Core) -> Iterator[DryRunCluster]:
    """Context in which requests of plugins through their handle have no effect on *core*.

    This concerns writes, events, verdicts on waiting pods and requests to the queue. Random draws come from
    another generator, so that the next tie of the scheduler is broken as without the dry run.
    """
    dry = DryRunCluster(core.cluster)
    replaced: dict[str, Any] = {
        "cluster": dry,
        "events": EventRecorder(dry, core.clock),
        "waiting": core.waiting.muted(),
        "inbox": Inbox(),
        "rng": Random(0),
        "binding": {},
        "written": dict(core.written),
        "timers": Timers(),
        # A write in a thread would be made after the dry run, to the real cluster.
        "executor": InlineExecutor(),
        "writes": PodWriteQueue(core),
    }
    real = {name: getattr(core, name) for name in replaced}
    try:
        _set(core, replaced)
        yield dry
    finally:
        _set(core, real)


def _set(core: Core, parts: Mapping[str, Any]) -> None:
    for name, part in parts.items():
        setattr(core, name, part)
