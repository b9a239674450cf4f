"""Replace the workloads among objects by what their controllers make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from attrs import define, evolve, field, frozen

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
from .daemons import pods_of_daemon_set
from .existing import Existing
from .jobs import pods_of_cron_job, pods_of_job
from .names import with_uid
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


@frozen
class MadePods:
    """The number of pods that were made of a workload."""

    kind: str
    key: str
    pods: int


@define(eq=False)
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
        """Return what takes the place of *obj*: itself if scheduling reads its kind, then its dependents.

        Ignored workloads lose their template, so that a later expansion makes no pods of them either. Raises
        :class:`InputError` for a workload that the API server refuses.
        """
        make = _DEPENDENTS.get(type(obj))
        if make is None:
            return [obj]
        is_read = type(obj) not in CONTROLLER_KINDS
        if is_read and obj.spec.template is None:
            return [obj]
        if self.treatment is Workloads.IGNORE:
            self._leave_alone(obj, is_read)
            return [evolve(obj, spec=evolve(obj.spec, template=None))] if is_read else []
        if self.treatment is Workloads.AUTO and self.existing.has_dependents(obj):
            self._leave_alone(obj, is_read)
            return [obj] if is_read else []
        workload = with_uid(obj)
        try:
            dependents = list(make(workload, self.existing))
        except InputError as error:
            raise error.in_location(f"{obj.KIND} {obj.name}") from None
        for dependent in dependents:
            self.existing.add(dependent)
        pods = sum(isinstance(dependent, Pod) for dependent in dependents)
        self.made.append(MadePods(obj.KIND, obj.key, pods))
        return [workload, *dependents] if is_read else dependents

    def _leave_alone(self, obj: Any, is_read: bool) -> None:
        if not is_read:
            self.left_alone[obj.KIND] += 1
