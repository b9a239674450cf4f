"""The pod to explain and a fork of its cluster, in which changes are tried out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from attrs import evolve, field

from .._base.value import record
from ..api import ClusterObject, Pod, Strict
from ..config import FeatureGates
from ..controllers import Without
from ..controllers.owners import WORKLOADS, makers
from ..cycle import Scheduler
from ..errors import InputError
from ..fork import Fork
from ..fork.copying import parts_of_scheduler
from ..fork.decoding import as_pod
from ..fork.offline import OfflineCluster
from ..fork.parts import ForkOptions
from ..fork.sources import ForkSource
from ..framework import PluginsToPass
from ..simulate.evaluator import Evaluator
from .written import AS_STORED, Written


@record(eq=False)
class Subject:
    """A pod and a fork of its cluster."""

    pod: Pod
    """The pod as it was given: with its node if it has one."""
    fork: Fork
    """Changes are tried out here."""
    evaluator: Evaluator
    """Evaluates pods in the fork."""
    scheduler: Scheduler | None = None
    """The running scheduler, ``None`` if none was given."""
    written: Written = AS_STORED
    """What people have written of the objects."""

    @property
    def live(self) -> Evaluator:
        """The evaluator of the running scheduler, with the state of its plugins; else that of the fork."""
        return Evaluator(self.scheduler.core) if self.scheduler is not None else self.evaluator


def _nothing(fork: Fork) -> None:
    """Change nothing."""


@record(frozen=True)
class SubjectOptions:
    """The scheduler of the fork, and whether it first places the pending pods; as for :func:`explain`."""

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
    prepare: Callable[[Fork], None] = _nothing
    """Changes the fork before anything is placed or explained."""

    @property
    def is_another_scheduler(self) -> bool:
        """Return whether they ask for other decisions than those of a scheduler that is given."""
        return self.config is not None or self.plugins is not None or self.feature_gates is not None


def subject_of(source: ForkSource, pod: Any, options: SubjectOptions = SubjectOptions()) -> Subject:  # noqa: B008
    """Fork *source* and look up *pod* in it; O(cluster). Raises :class:`InputError`."""
    fork, scheduler = _forked(source, options)
    options.prepare(fork)
    if options.after:
        if not isinstance(pod, str):
            value = as_pod(pod, strict=options.strict)
            pod = value if fork.cluster.get("Pod", value.key) is None else value.key
        fork.scheduler.core.rng.seed(options.seed)
        fork.schedule()
        scheduler = fork.scheduler
    written = Written({**fork.given, **options.given}, fork.cluster.get)
    found = _pod_in(fork, pod, options.strict)
    # what follows from a change is part of the change
    fork.close_controllers()
    return Subject(found, fork, Evaluator(fork.scheduler.core), scheduler, written)


def _forked(source: ForkSource, options: SubjectOptions) -> tuple[Fork, Scheduler | None]:
    """Return a fork, and the scheduler that runs *source* if it decides by the same plugins."""
    if isinstance(source, Scheduler | OfflineCluster) and not options.is_another_scheduler:
        scheduler = source if isinstance(source, Scheduler) else source.scheduler
        # Nothing is placed in the fork but by after=True, so that an instance of a plugin may be shared.
        return Fork(parts_of_scheduler(source, shares_instances=True)), scheduler
    keywords: ForkOptions = {
        "seed": options.seed,
        "plugins": options.plugins,
        "allow_imports": options.allow_imports,
        "strict": options.strict,
        "feature_gates": options.feature_gates,
        "without": options.without,
    }
    return Fork.of(source, options.config, **keywords), None


def _pod_in(fork: Fork, wanted: Any, strict: Strict) -> Pod:
    """Return the pod with the name *wanted*, or *wanted* itself, which replaces a running pod of its name."""
    if not isinstance(wanted, str):
        pod = as_pod(wanted, strict=strict)
        if not pod.uid:
            pod = evolve(pod, metadata=evolve(pod.metadata, uid=pod.key))
        existing = fork.cluster.get("Pod", pod.key)
        if existing is not None and existing.spec.node_name and not pod.spec.node_name:
            fork.remove("Pod", pod.key)
        return pod
    all_pods: list[Pod] = fork.cluster.list("Pod")
    pods = [pod for pod in all_pods if wanted in (pod.key, pod.name)]
    if len(pods) == 1:
        return with_nomination(fork, pods[0])
    if pods:
        keys = ", ".join(sorted(pod.key for pod in pods))
        raise InputError("pod", f"{len(pods)} pods are named {wanted}", f"say which: {keys}")
    if (of_workload := pod_of_workload(fork, wanted, all_pods)) is not None:
        return with_nomination(fork, of_workload)
    raise InputError(
        "pod",
        f"no pod is named {wanted}",
        "write its name, namespace/name, or a workload such as deployment/web",
    )


def with_nomination(fork: Fork, pod: Pod) -> Pod:
    """Return *pod* with the nomination that the scheduler knows, which its status does not always have."""
    name = None if pod.node_name else fork.scheduler.core.queue.nominator.node_of(pod)
    return pod if name is None else pod.with_status(nominated_node_name=name)


WORKLOAD_NAMES: Final = {
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


def pod_of_workload(fork: Fork, wanted: str, pods: Iterable[Pod]) -> Pod | None:
    """Return a pod, pending if there is one, of the workload that *wanted* names, as ``deployment/web``."""
    short, _, name = wanted.partition("/")
    kind = WORKLOAD_NAMES.get(short.lower())
    if kind is None or not name:
        return None
    found = [
        pod
        for pod in pods
        for made_by, _ in makers(pod, fork.cluster.get)
        if made_by.kind == kind and name in (made_by.name, f"{pod.namespace}/{made_by.name}")
    ]
    if not found:
        raise InputError("pod", f"no pod belongs to a {kind} {name}", "name a workload that has pods")
    return min(found, key=lambda pod: (bool(pod.node_name), pod.key))
