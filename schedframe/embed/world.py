"""The cluster of an embedding: objects in memory, and a word to whoever carries the decisions out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from attrs import define, evolve, field, frozen
from typing_extensions import override

from ..api import Pod, PodCondition
from ..cluster import Conflict, InMemoryCluster, NotFound
from ..errors import ClusterError


@frozen
class Placed:
    """A task got a worker."""

    pod: Pod
    worker: str


@frozen
class Unplaced:
    """A task got no worker; ``nominated`` is where room is being made for it, if anywhere."""

    pod: Pod
    condition: PodCondition
    nominated: str


@frozen
class Evicted:
    """A placed task has to go."""

    pod: Pod


Word = Placed | Unplaced | Evicted


@define(eq=False)
class World(InMemoryCluster):
    """Tells ``tell`` what the scheduler decides, after it took effect here and in the order of it.

    An evicted pod stays, marked, until whoever runs it says that it has stopped.
    """

    tell: Callable[[Word], None] = field(kw_only=True)
    evicts: bool = field(default=True, kw_only=True)
    """Whether anybody can stop what runs."""

    @override
    def bind(self, pod: Pod, node_name: str) -> None:
        """See :class:`ClusterPort`."""
        InMemoryCluster.bind(self, pod, node_name)
        self.tell(Placed(pod, node_name))

    @override
    def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> None:
        """See :class:`ClusterPort`."""
        InMemoryCluster.patch_pod_status(
            self, pod, condition=condition, nominated_node_name=nominated_node_name
        )
        if condition is not None:
            self.tell(Unplaced(pod, condition, nominated_node_name or ""))

    @override
    def evict(self, pod: Pod, *, condition: PodCondition | None = None) -> None:
        """See :class:`ClusterPort`."""
        if not self.evicts:
            raise ClusterError(f"{pod.name} cannot be stopped; give on_evict, or disable preemption")
        current = self.get(Pod.KIND, pod.key)
        if current is None:
            raise NotFound(f"{pod.name} is not there")
        if pod.uid not in ("", current.uid):
            raise Conflict(f"{pod.name} was placed anew meanwhile")
        if not current.is_terminating:
            self.update(evolve(current, metadata=evolve(current.metadata, deletion_timestamp=self.clock())))
            self.tell(Evicted(current))

    @override
    def record_event(
        self, obj: Any, type: Literal["Normal", "Warning"], reason: str, message: str, action: str = ""
    ) -> None:
        """Nothing: who embeds is told by ``tell``."""
