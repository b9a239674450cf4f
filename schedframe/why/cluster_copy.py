"""The pod to explain and a copy of its cluster that may be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import evolve, field

from .._base.value import record
from ..api import AnyObject, ClusterObject, Pod, PodGroup, Strict
from ..cluster import ClusterPort
from ..config import FeatureGates
from ..controllers import Without, Workloads
from ..controllers.owners import WORKLOADS, makers
from ..cycle import Scheduler
from ..cycle.core import Core
from ..cycle.handlers import STORED_KINDS
from ..errors import InputError
from ..fork.decoding import as_pod
from ..framework import PluginsToPass
from ..simulate.evaluator import Evaluator
from ..simulate.simulation import Simulation
from ..state import Snapshot
from .written import AS_STORED, Written

_FIX: Final = "give a Scheduler, a Simulation, a cluster, a Snapshot, or a collection of objects or manifests"

ClusterSource = Scheduler | Simulation | ClusterPort | Snapshot | Iterable[AnyObject]
"""What can be explained."""


@record(eq=False)
class ClusterCopy:
    """A pod and a copy of its cluster."""

    pod: Pod
    """The pod as it was given: with its node if it has one."""
    simulation: Simulation
    """The copy; changes are tried out here."""
    scheduler: Scheduler | None = None
    """The running scheduler, ``None`` if none was given."""
    written: Written = AS_STORED
    """What people have written of the objects."""

    @property
    def live(self) -> Evaluator:
        """The evaluator of the running scheduler, with the state of its plugins; else that of the copy."""
        return Evaluator(self.scheduler.core) if self.scheduler is not None else self.simulation.evaluator


@record(frozen=True)
class CopyOptions:
    """The scheduler of the copy, and whether it first places the pending pods; as for :func:`explain`."""

    config: Any = None
    plugins: PluginsToPass | None = None
    allow_imports: str | Iterable[str] = ()
    strict: Strict = True
    after: bool = False
    seed: int = 0
    feature_gates: FeatureGates | Mapping[str, bool] | None = None
    without: Without = ()
    """Parts of a cluster that are not played for manifests."""
    given: Mapping[tuple[str, str], ClusterObject] = field(factory=dict)
    """Kind and key → the object as people have written it, of those that were completed before."""


def copy_cluster(source: Any, pod: Any, options: CopyOptions = CopyOptions()) -> ClusterCopy:  # noqa: B008
    """Copy the cluster of *source* and look up *pod* in it; O(cluster). Raises :class:`InputError`."""
    if not options.after:
        copy, scheduler = _copied(source, options)
        return _finished(copy, pod, scheduler, _written(source, copy, options))
    run, _ = _copied(source, options)
    if not isinstance(pod, str):
        value = as_pod(pod, strict=options.strict)
        pod = value if run.cluster.get("Pod", value.key) is None else value.key
    run.schedule()
    copy, scheduler = _copied(run, CopyOptions(strict=options.strict))
    return _finished(copy, pod, scheduler, _written(source, run, options))


def _finished(copy: Simulation, pod: Any, scheduler: Scheduler | None, written: Written) -> ClusterCopy:
    found = _pod_in(copy, pod)
    # what follows from a change is part of the change, so that it can be undone
    copy.close_controllers()
    return ClusterCopy(found, copy, scheduler, written)


def _written(source: Any, run: Simulation, options: CopyOptions) -> Written:
    """Return what people have written of the objects of *source*, which *run* has as they are stored."""
    known = source if isinstance(source, Simulation) else run
    return Written({**known.given, **options.given}, known.cluster.get)


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
        without=options.without,
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
    if (of_workload := _pod_of_workload(copy, wanted, all_pods)) is not None:
        return of_workload
    raise InputError(
        "pod",
        f"no pod is named {wanted}",
        "write its name, namespace/name, or a workload such as deployment/web",
    )


_WORKLOADS: Final = {
    "deploy": "Deployment",
    "sts": "StatefulSet",
    "ds": "DaemonSet",
    "rs": "ReplicaSet",
    "rc": "ReplicationController",
    "cj": "CronJob",
    **{kind.lower(): kind for kind in WORKLOADS},
    **{f"{kind.lower()}s": kind for kind in WORKLOADS},
}
"""What people write for a kind of workload → the kind."""


def _pod_of_workload(copy: Simulation, wanted: str, pods: Iterable[Pod]) -> Pod | None:
    """Return a pod, pending if there is one, of the workload that *wanted* names, as ``deployment/web``."""
    short, _, name = wanted.partition("/")
    kind = _WORKLOADS.get(short.lower())
    if kind is None or not name:
        return None
    found = [
        pod
        for pod in pods
        for made_by, _ in makers(pod, copy.cluster.get)
        if made_by.kind == kind and name in (made_by.name, f"{pod.namespace}/{made_by.name}")
    ]
    if not found:
        raise InputError("pod", f"no pod belongs to a {kind} {name}", "name a workload that has pods")
    return min(found, key=lambda pod: (bool(pod.node_name), pod.key))
