"""The pod to explain and a copy of its cluster that may be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import define, evolve, frozen

from ..api import AnyObject, Pod, PodGroup, Strict
from ..cluster import ClusterPort
from ..config import FeatureGates
from ..controllers.workloads import Workloads
from ..cycle import Scheduler
from ..cycle.core import Core
from ..cycle.handlers import STORED_KINDS
from ..errors import InputError
from ..framework import PluginsToPass
from ..simulate.decoding import as_pod
from ..simulate.evaluator import Evaluator
from ..simulate.simulation import Simulation
from ..state import Snapshot

_FIX: Final = "give a Scheduler, a Simulation, a cluster, a Snapshot, or a collection of objects or manifests"

ClusterSource = Scheduler | Simulation | ClusterPort | Snapshot | Iterable[AnyObject]
"""What can be explained."""


@define(eq=False)
class ClusterCopy:
    """A pod and a copy of its cluster."""

    pod: Pod
    """The pod as it was given: with its node if it has one."""
    simulation: Simulation
    """The copy; changes are tried out here."""
    scheduler: Scheduler | None = None
    """The running scheduler, ``None`` if none was given."""

    @property
    def live(self) -> Evaluator:
        """The evaluator of the running scheduler, with the state of its plugins; else that of the copy."""
        return Evaluator(self.scheduler.core) if self.scheduler is not None else self.simulation.evaluator


@frozen
class CopyOptions:
    """The scheduler of the copy, and whether it first places the pending pods; as for :func:`explain`."""

    config: Any = None
    plugins: PluginsToPass | None = None
    allow_imports: str | Iterable[str] = ()
    strict: Strict = True
    after: bool = False
    seed: int = 0
    feature_gates: FeatureGates | Mapping[str, bool] | None = None


def copy_cluster(source: Any, pod: Any, options: CopyOptions = CopyOptions()) -> ClusterCopy:
    """Copy the cluster of *source* and look up *pod* in it; O(cluster). Raises :class:`InputError`."""
    if not options.after:
        copy, scheduler = _copied(source, options)
        return ClusterCopy(_pod_in(copy, pod), copy, scheduler)
    run, _ = _copied(source, options)
    if not isinstance(pod, str):
        value = as_pod(pod, strict=options.strict)
        pod = value if run.cluster.get("Pod", value.key) is None else value.key
    run.schedule()
    copy, scheduler = _copied(run, CopyOptions(strict=options.strict))
    return ClusterCopy(_pod_in(copy, pod), copy, scheduler)


def _copied(source: Any, options: CopyOptions) -> tuple[Simulation, Scheduler | None]:
    """Return a copy of the cluster, and the scheduler that runs it if it decides by the same plugins."""
    config, plugins, strict = options.config, options.plugins, options.strict
    scheduler = source.scheduler if isinstance(source, Simulation) else source
    is_cluster = isinstance(scheduler, Scheduler | ClusterPort) or hasattr(source, "watch")
    if isinstance(scheduler, Scheduler):
        if config is None and plugins is None and options.feature_gates is None:
            copy = Simulation(
                (), scheduler.config, seed=options.seed, registry=scheduler.registry, strict=strict
            )
            copy.add(*objects_of(scheduler.core), workloads=Workloads.IGNORE)
            if isinstance(source, Simulation):
                copy.add(*_unknown_pods(source, copy))
            return copy, scheduler
        source = objects_of(scheduler.core)
    copy = Simulation(
        (),
        config,
        seed=options.seed,
        plugins=plugins,
        allow_imports=options.allow_imports,
        strict=strict,
        feature_gates=options.feature_gates,
    )
    # the workloads of a running cluster have the pods that their controllers made
    kinds = STORED_KINDS if copy.scheduler.groups is None else (*STORED_KINDS, PodGroup.KIND)
    copy.add(*_objects(source, kinds), workloads=Workloads.IGNORE if is_cluster else Workloads.AUTO)
    return copy, None


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


def _unknown_pods(source: Simulation, copy: Simulation) -> list[Pod]:
    """Return the pods that the scheduler of *source* ignores, such as those of another scheduler."""
    pods: list[Pod] = source.cluster.list("Pod")
    return [pod for pod in pods if copy.cluster.get("Pod", pod.key) is None]


def _objects(source: Any, kinds: Iterable[str]) -> list[Any]:
    if isinstance(source, Snapshot):
        nodes = [info.node for info in source]
        return [*nodes, *(pod for info in source for pod in info.pods.values())]
    if isinstance(source, ClusterPort) or hasattr(source, "watch"):
        return [obj for kind in (*kinds, "Node", "Pod") for obj in source.list(kind)]
    if isinstance(source, str | bytes | Mapping) or not isinstance(source, Iterable):
        raise InputError("cluster", f"a {type(source).__name__} is no cluster", _FIX)
    return list(source)


def _pod_in(copy: Simulation, wanted: Any) -> Pod:
    """Return the pod with the name *wanted*, or *wanted* itself, which replaces a running pod of its name."""
    if not isinstance(wanted, str):
        pod = as_pod(wanted, strict=copy.strict)
        if not pod.uid:
            pod = evolve(pod, metadata=evolve(pod.metadata, uid=pod.key))
        existing = copy.cluster.get("Pod", pod.key)
        if existing is not None and existing.spec.node_name and not pod.spec.node_name:
            copy.remove_pod(pod.key)
        return pod
    all_pods: list[Pod] = copy.cluster.list("Pod")
    pods = [pod for pod in all_pods if wanted in (pod.key, pod.name)]
    if len(pods) == 1:
        return pods[0]
    if pods:
        keys = ", ".join(sorted(pod.key for pod in pods))
        raise InputError("pod", f"{len(pods)} pods are named {wanted}", f"say which: {keys}")
    raise InputError("pod", f"no pod is named {wanted}", "write its name or namespace/name")
