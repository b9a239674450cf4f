"""What is asked about: from a cluster, a scheduler or a list of objects to a copy that may be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, evolve

from ..api import Pod
from ..cluster import ClusterPort
from ..cycle import Scheduler
from ..cycle.core import Core
from ..cycle.handlers import STORED_KINDS
from ..errors import InputError
from ..framework.registry import Factory
from ..simulate.evaluator import Evaluator
from ..simulate.simulation import Simulation, as_pod
from ..state import Snapshot

_FIX = "give a Scheduler, a Simulation, a cluster, a Snapshot, or a collection of objects or manifests"


@define(eq=False)
class Situation:
    """A pod and its cluster. ``trial`` is ours to change."""

    pod: Pod
    """As it is asked about: with its node if it has one."""
    trial: Simulation
    scheduler: Scheduler | None = None
    """The running scheduler, where one was given."""

    @property
    def live(self) -> Evaluator:
        """Where the question is put: to the running scheduler with all its plugins know, else to the copy."""
        return Evaluator(self.scheduler.core) if self.scheduler is not None else self.trial.evaluator


def situation_of(
    source: Any, pod: Any, config: Any = None, plugins: Mapping[str, Factory] | None = None
) -> Situation:
    """Copy the cluster of *source* and find *pod* in it; O(cluster). Raises :class:`InputError`."""
    scheduler = source.scheduler if isinstance(source, Simulation) else source
    if isinstance(scheduler, Scheduler):
        if config is None and plugins is None:
            trial = Simulation(objects_of(scheduler.core), scheduler.config, registry=scheduler.registry)
            return Situation(_found(trial, pod), trial, scheduler)
        source = objects_of(scheduler.core)
    trial = Simulation(_objects(source), config, plugins=plugins)
    return Situation(_found(trial, pod), trial)


def objects_of(core: Core) -> list[Any]:
    """Everything a scheduler knows, assumed placements and nominations included."""
    table, cache, nominator = core.cache.table, core.cache, core.queue.nominator
    found = [obj for kind in STORED_KINDS for obj in core.objects.list(kind)]
    found += [info.node for info in table.rows()]
    found += [state.pod for state in cache.pods()]
    for pod in core.pending.values():
        if cache.get_pod(pod.uid) is None:
            node = nominator.node_of(pod)
            found.append(pod.with_status(nominated_node_name=node) if node is not None else pod)
    return [obj for obj in found if obj is not None]


def _objects(source: Any) -> list[Any]:
    if isinstance(source, Snapshot):
        nodes = [info.node for info in source if info.node is not None]
        return [*nodes, *(pod for info in source for pod in info.pods.values())]
    if isinstance(source, ClusterPort) or hasattr(source, "watch"):
        return [obj for kind in (*STORED_KINDS, "Node", "Pod") for obj in source.list(kind)]
    if isinstance(source, str | bytes | Mapping) or not isinstance(source, Iterable):
        raise InputError("cluster", f"a {type(source).__name__} is no cluster", _FIX)
    return list(source)


def _found(trial: Simulation, wanted: Any) -> Pod:
    """The pod that *wanted* names, or is; a running pod of the same name makes way for the one given."""
    if not isinstance(wanted, str):
        pod = as_pod(wanted)
        if not pod.uid:
            pod = evolve(pod, metadata=evolve(pod.metadata, uid=pod.key))
        known = trial.cluster.get("Pod", pod.key)
        if known is not None and known.spec.node_name and not pod.spec.node_name:
            trial.remove_pod(pod.key)
        return pod
    pods: list[Pod] = trial.cluster.list("Pod")
    found = [pod for pod in pods if wanted in (pod.key, pod.name)]
    if len(found) == 1:
        return found[0]
    if found:
        keys = ", ".join(sorted(pod.key for pod in found))
        raise InputError("pod", f"{len(found)} pods are named {wanted}", f"say which: {keys}")
    raise InputError("pod", f"no pod is named {wanted}", "write its name or namespace/name")
