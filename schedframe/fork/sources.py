"""Origins of forks besides schedulers: the objects of clusters, snapshots and collections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api import AnyObject, PodGroup
from ..cluster import ClusterPort
from ..cycle import Scheduler
from ..cycle.core import Core
from ..cycle.handlers import STORED_KINDS
from ..errors import InputError
from ..state import Snapshot
from .offline import OfflineCluster

_FIX: Final = "give a Scheduler, a Simulation, a cluster, a Snapshot, or a collection of objects or manifests"

ForkSource = Scheduler | OfflineCluster | ClusterPort | Snapshot | Iterable[AnyObject]
"""What a fork can be made of."""


def is_cluster(source: Any) -> bool:
    """Return whether *source* is a cluster, whose controllers have made the pods of its workloads."""
    return isinstance(source, ClusterPort) or hasattr(source, "watch")


def objects_in(source: Any) -> list[Any]:
    """Return the objects of *source*, which is no scheduler. Raises :class:`InputError`."""
    if isinstance(source, Snapshot):
        nodes = [info.node for info in source]
        return [*nodes, *(pod for info in source for pod in info.pods.values())]
    if is_cluster(source):
        return [obj for kind in (*STORED_KINDS, PodGroup.KIND, "Node", "Pod") for obj in source.list(kind)]
    if isinstance(source, str | bytes | Mapping) or not isinstance(source, Iterable):
        raise InputError("cluster", f"a {type(source).__name__} is no cluster", _FIX)
    return list(source)


def objects_of(core: Core) -> list[Any]:
    """Return all objects that a scheduler has, with assumed placements and nominations."""
    table, cache, nominator = core.cache.table, core.cache, core.queue.nominator
    objects = [obj for kind in (*STORED_KINDS, PodGroup.KIND) for obj in core.objects.list(kind)]
    objects += [info.node for info in table.rows()]
    objects += [state.pod for state in cache.pods()]
    for pod in core.pending.values():
        if cache.get_pod(pod.uid) is None:
            node = nominator.node_of(pod)
            objects.append(pod.with_status(nominated_node_name=node) if node is not None else pod)
    return [obj for obj in objects if obj is not None]
