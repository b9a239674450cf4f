"""The parts of a fork of a scheduler: a second core, made of a picture of the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .._base.undo import UndoDict
from ..api import Pod
from ..cluster import InMemoryCluster
from ..cycle import Scheduler, VirtualClock
from ..cycle.start import Start
from ..cycle.tuning import Tuning
from ..errors import PluginError
from ..framework.declarations import declares
from ..framework.factories import SharedInstance
from ..state import Cache, GroupCache, NodeTable, ObjectStore
from ..state.cache import PodState
from .cluster import ForkCluster
from .offline import OfflineCluster
from .parts import ForkParts
from .picture import Picture, take_picture
from .scheduler import ForkScheduler, SavingRandom


def parts_of_scheduler(
    source: Scheduler | OfflineCluster,
    *,
    shares_instances: bool = False,
    cluster_of: Callable[..., ForkCluster] = ForkCluster,
) -> ForkParts:
    """Return the parts of a fork of a scheduler, or of the one in a simulation or another fork.

    *shares_instances*: whether plugins that the program passed are used in the fork too, which must place
    nothing then. *cluster_of* makes the cluster of the fork. What attempts under way have reserved counts as
    done. Raises :class:`PluginError` for a plugin that cannot be made a second time, and :class:`CoreBusy`.
    """
    scheduler = source if isinstance(source, Scheduler) else source.scheduler
    offline = None if isinstance(source, Scheduler) else source
    if not shares_instances:
        refuse_what_cannot_fork(scheduler)
    picture = take_picture(scheduler)
    undo, clock = picture.table.undo, VirtualClock(picture.now)
    strict = True if offline is None else offline.strict
    cluster = cluster_of(clock=clock, strict=strict, undo=undo, is_known=True)
    others, version = _of_cluster(scheduler)
    objects, cache = _objects(picture, others, scheduler), _cache_of(scheduler.core.cache, picture)
    unplaced = {pod.uid: pod for pod in objects[Pod.KIND].values() if pod.uid not in cache.states}
    cluster.fill(objects, version, {**cache.states, **unplaced})
    fork = _scheduler_of(scheduler, picture, cluster, cache, clock)
    return ForkParts(
        cluster,
        fork,
        clock,
        strict,
        frozenset() if offline is None else offline.without,
        given={} if offline is None else dict(offline.given),
    )


def refuse_what_cannot_fork(scheduler: Scheduler) -> None:
    """Raise :class:`PluginError` if a plugin of *scheduler* cannot be made a second time, with its name."""
    for framework in scheduler.core.frameworks.values():
        for name, plugin in framework.plan.plugins.items():
            if isinstance(scheduler.registry.factory(name), SharedInstance):
                raise PluginError(
                    f"plugin {name} is an instance that the program passed, and a fork needs one of its own: "
                    f"pass the class {type(plugin).__name__}, or a function that makes the plugin"
                )
            if declares(plugin, "keeps_own_state"):
                raise PluginError(
                    f"plugin {name} has state that a fork cannot copy, as keeps_own_state says: derive it "
                    "from rows and objects, or set it in reserve and undo that in unreserve"
                )


def _scheduler_of(
    source: Scheduler, picture: Picture, cluster: ForkCluster, cache: Cache, clock: VirtualClock
) -> ForkScheduler:
    options, undo = source.options, cluster.undo
    objects = ObjectStore(undo=undo)
    objects.fill({kind: dict(by_key) for kind, by_key in picture.objects.items()})
    for obj in picture.reserved:
        objects.set(obj)
    rng = SavingRandom()
    rng.setstate(picture.rng)
    pending = UndoDict(undo, {pod.key: pod for pod in picture.pending})
    scheduler = ForkScheduler(
        cluster,
        source.config,
        Start(undo, pending, rng, cache, objects, picture.next_start),
        clock=clock,
        registry=source.registry,
        extenders=options["extenders"],
        score_all_nodes=options["score_all_nodes"],
        tuning=Tuning(remember=options["tuning"].remember),
    )
    scheduler.start()
    for pod, node_name in picture.nominations:
        scheduler.core.queue.nominator.add(pod, node_name)
    return scheduler


def _cache_of(source: Cache, picture: Picture) -> Cache:
    """Return a cache of the picture's rows, in which every pod counts as bound. O(pods)."""
    table, order = picture.table, picture.order
    kept: dict[str, Any] = {"ordered": order is not None, "table": table, "states": states_of(table)}
    if order is not None:
        kept["order"] = order
    if isinstance(source, GroupCache):
        return GroupCache(**kept, members=picture.members)
    return Cache(**kept)


def states_of(table: NodeTable) -> dict[str, PodState]:
    """Return the pods of the rows by uid, each of which counts as bound; O(pods)."""
    return {
        uid: PodState(pod, name)
        for name, pods in zip(table.row_names(), table.all_pods(), strict=True)
        if name is not None
        for uid, pod in pods.items()
    }


_FOREIGN: Final = 1 << 62
"""Resource version from which a fork counts if the cluster of its scheduler is another one's."""


def _of_cluster(scheduler: Scheduler) -> tuple[dict[str, dict[str, Any]], int]:
    """Return what a cluster in memory has, by kind and key, and its last resource version; any thread."""
    cluster = scheduler.core.cluster
    return cluster.copied() if isinstance(cluster, InMemoryCluster) else ({}, _FOREIGN)


def _objects(
    picture: Picture, others: Mapping[str, Mapping[str, Any]], scheduler: Scheduler
) -> dict[str, dict[str, Any]]:
    """Return the objects of the cluster of the fork, by kind and key: those of the core first of all.

    *others* are those of the cluster, which has more kinds, and pods that the scheduler ignores.
    """
    objects = {kind: dict(by_key) for kind, by_key in others.items()}
    for kind, by_key in picture.objects.items():
        objects[kind] = dict(by_key)
    for obj in picture.reserved:
        objects.setdefault(obj.KIND, {})[obj.key] = obj
    table = picture.table
    objects["Node"] = {node.name: node for node in table.nodes()[1]}
    own = {pod.key: pod for pods in table.all_pods() for pod in pods.values()}
    own |= {pod.key: pod for pod in picture.pending}
    strangers = {
        key: pod
        for key, pod in others.get(Pod.KIND, {}).items()
        if key not in own and _is_ignored(pod, scheduler)
    }
    objects[Pod.KIND] = strangers | own
    return objects


def _is_ignored(pod: Pod, scheduler: Scheduler) -> bool:
    """Return whether *scheduler* does not count a pod: one that ended, or waits for another scheduler."""
    return pod.is_terminated or (
        not pod.node_name and pod.spec.scheduler_name not in scheduler.core.frameworks
    )
