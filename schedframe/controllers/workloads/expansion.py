"""Replace the workloads among objects by what their controllers make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from attrs import evolve, field

from ..._base.value import record
from ...api import (
    CONTROLLER_KINDS,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    Node,
    PersistentVolumeClaim,
    Pod,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from ...errors import InputError
from ..names import content_of, generated_names, with_uid
from .daemons import pods_of_daemon_set
from .existing import Existing
from .jobs import pods_of_cron_job, pods_of_job
from .pods import check_template
from .replicas import dependents_of_deployment, pods_of_replica_set, pods_of_replication_controller
from .stateful import dependents_of_stateful_set
from .treatment import Workloads


def pod_of_template(owner: PodTemplate, existing: Existing) -> Iterator[Pod]:
    """Yield one pod with the name of the template, unless it is there. Nothing owns the pod."""
    template = check_template(owner.template, "template")
    names = existing.pod_names[owner.namespace]
    if owner.name not in names:
        names.add(owner.name)
        metadata = evolve(template.metadata, name=owner.name, namespace=owner.metadata.namespace)
        yield Pod(metadata, template.spec)


_DEPENDENTS: Final[Mapping[type[Any], Callable[[Any, Existing], Iterator[Any]]]] = {
    ReplicationController: pods_of_replication_controller,
    ReplicaSet: pods_of_replica_set,
    Deployment: dependents_of_deployment,
    StatefulSet: dependents_of_stateful_set,
    DaemonSet: pods_of_daemon_set,
    Job: pods_of_job,
    CronJob: pods_of_cron_job,
    PodTemplate: pod_of_template,
}
"""Kind → function of the workload and the index of what exists. It yields what is to be added, in order."""


def _has_no_template(obj: Any) -> bool:
    if isinstance(obj, CronJob):
        return obj.spec.job_template.spec.template is None
    return (obj.template if isinstance(obj, PodTemplate) else obj.spec.template) is None


def _without_template(obj: Any) -> Any:
    if isinstance(obj, PodTemplate):
        return evolve(obj, template=None)
    if isinstance(obj, CronJob):
        job = obj.spec.job_template
        return evolve(
            obj, spec=evolve(obj.spec, job_template=evolve(job, spec=evolve(job.spec, template=None)))
        )
    return evolve(obj, spec=evolve(obj.spec, template=None))


@record(frozen=True)
class MadePods:
    """The number of pods that were made of a workload."""

    kind: str
    key: str
    pods: int


@record(eq=False)
class Expander:
    """Makes the dependents of workloads, given everything else that the cluster has or will have."""

    READS: ClassVar = (Node.KIND, Pod.KIND, ReplicaSet.KIND, PersistentVolumeClaim.KIND)
    """Kinds that the expansion of others depends on."""

    treatment: Workloads
    existing: Existing
    made: list[MadePods] = field(factory=list)
    left_alone: Counter[str] = field(factory=Counter)
    """Kind → number of workloads that scheduling does not read and that were not expanded."""

    @classmethod
    def among(cls, objects: Iterable[Any], treatment: Workloads | str = Workloads.AUTO) -> Expander:
        """Return an expander for a cluster of *objects*; O(objects)."""
        return cls(Workloads.of(treatment), Existing.of(objects))

    @staticmethod
    def handles(obj: Any) -> bool:
        """Return whether *obj* is a workload."""
        return type(obj) in _DEPENDENTS

    def expand(self, obj: Any) -> list[Any]:
        """Return *obj* and its dependents.

        It gets its name first, if it has only a ``generateName``: one that depends on the whole object.
        Ignored workloads get a uid and lose their template, so that a later expansion makes no pods of them
        either. Raises :class:`InputError` for a workload that the API server refuses.
        """
        obj = self._named(obj)
        make = _DEPENDENTS.get(type(obj))
        if make is None:
            return [obj]
        is_read = type(obj) not in CONTROLLER_KINDS
        if (is_read or obj.uid) and _has_no_template(obj):
            return [obj]
        if self.treatment is Workloads.IGNORE:
            self._leave_alone(obj, is_read)
            return [with_uid(_without_template(obj))]
        if self.treatment is Workloads.AUTO and self.existing.has_dependents(obj):
            self._leave_alone(obj, is_read)
            return [obj]
        workload = with_uid(obj)
        try:
            dependents = list(make(workload, self.existing))
        except InputError as error:
            raise error.in_location(f"{obj.KIND} {obj.name}") from None
        for dependent in dependents:
            self.existing.add(dependent)
        pods = sum(isinstance(dependent, Pod) for dependent in dependents)
        self.made.append(MadePods(obj.KIND, obj.key, pods))
        return [workload, *dependents]

    def for_new_nodes(self, daemon_sets: Iterable[DaemonSet], nodes: Iterable[Node]) -> list[Pod]:
        """Return the pods of *daemon_sets*, which are there, for *nodes*, which were added later."""
        every = self.existing.nodes
        self.existing.nodes = {node.name: node for node in nodes}
        try:
            made = [
                pod
                for owner in daemon_sets
                if owner.spec.template is not None and self.treatment is not Workloads.IGNORE
                for pod in self._noted(owner, list(pods_of_daemon_set(owner, self.existing)))
            ]
        finally:
            self.existing.nodes = every
        for pod in made:
            self.existing.add(pod)
        return made

    def _noted(self, owner: Any, pods: list[Pod]) -> list[Pod]:
        if pods:
            self.made.append(MadePods(owner.KIND, owner.key, len(pods)))
        return pods

    def _named(self, obj: Any) -> Any:
        """Return *obj* with a name that no object of its kind has, if its name is still to be generated."""
        metadata = obj.metadata
        if metadata.name or not metadata.generate_name:
            return obj
        for name in generated_names(metadata.generate_name, f"{obj.KIND}/{content_of(obj)}", ()):
            named = evolve(obj, metadata=evolve(metadata, name=name))
            if self.existing.take_name(named):
                return named
        raise InputError("metadata.generateName", "all names that begin with it are taken", "use another one")

    def _leave_alone(self, obj: Any, is_read: bool) -> None:
        if not is_read:
            self.left_alone[obj.KIND] += 1
