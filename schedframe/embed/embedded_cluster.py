"""The cluster of an embedding: objects in memory that publish what the scheduler decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from attrs import evolve, field
from typing_extensions import override

from .._base.value import record
from ..api import Pod, PodCondition
from ..cluster import Conflict, InMemoryCluster, NotFound
from ..errors import ClusterError


@record(frozen=True)
class Placed:
    """A task was placed on a worker."""

    pod: Pod
    worker: str


@record(frozen=True)
class Unplaced:
    """No worker could take a task; ``nominated`` is the worker where room is being made for it, or empty."""

    pod: Pod
    condition: PodCondition
    nominated: str


@record(frozen=True)
class Evicted:
    """A placed task has to stop."""

    pod: Pod


PlacementEvent: TypeAlias = Placed | Unplaced | Evicted


@record(eq=False)
class EmbeddedCluster(InMemoryCluster):
    """Publishes each decision of the scheduler after it took effect here, in the same order.

    An evicted pod stays, marked as terminating, until the embedding reports that its task has stopped.
    """

    publish: Callable[[PlacementEvent], None] = field(kw_only=True)
    can_evict: bool = field(default=True, kw_only=True)
    """Whether running tasks can be stopped."""

    @override
    def bind(self, pod: Pod, node_name: str) -> None:
        """See :class:`ClusterPort`."""
        InMemoryCluster.bind(self, pod, node_name)
        self.publish(Placed(pod, node_name))

    @override
    def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> None:
        """See :class:`ClusterPort`."""
        InMemoryCluster.patch_pod_status(
            self, pod, condition=condition, nominated_node_name=nominated_node_name
        )
        if condition is not None:
            self.publish(Unplaced(pod, condition, nominated_node_name or ""))

    @override
    def evict(self, pod: Pod, *, condition: PodCondition | None = None) -> None:
        """See :class:`ClusterPort`."""
        if not self.can_evict:
            raise ClusterError(f"{pod.name} cannot be stopped; give on_evict, or disable preemption")
        current = self.get(Pod.KIND, pod.key)
        if current is None:
            raise NotFound(f"{pod.name} is not there")
        if pod.uid not in ("", current.uid):
            raise Conflict(f"{pod.name} was placed again since then")
        if not current.is_terminating:
            self.update(evolve(current, metadata=evolve(current.metadata, deletion_timestamp=self.clock())))
            self.publish(Evicted(current))

    @override
    def record_event(
        self, obj: Any, type: Literal["Normal", "Warning"], reason: str, message: str, action: str = ""
    ) -> None:
        """Record nothing: an embedding learns the same from ``publish``."""
