"""Index of what a cluster has already of the pods, replica sets, jobs and claims that workloads make."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from attrs import field

from ..._base.value import record
from ...api import (
    ClusterObject,
    Job,
    NamespacedObject,
    Node,
    OwnerReference,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
)

POD_TEMPLATE_HASH: Final = "pod-template-hash"
"""Label of a replica set and its pods that a deployment made: the hash of their template."""

_RUN: Final = re.compile(r"-\d+$")
"""End of the name of a job that a cron job made: the time of its run."""

Owner = tuple[str, str, str]
"""Kind, namespace and name."""


@record(eq=False)
class Existing:
    """The nodes, and the dependents of each workload by kind, namespace and name of the workload.

    Invariant: ``pod_names``, ``claim_names`` and ``keys`` hold the names of all pods, claims and others, also
    of those that were made since.
    """

    nodes: dict[str, Node] = field(factory=dict)
    pods: defaultdict[Owner, list[Pod]] = field(factory=lambda: defaultdict(list))
    dependents: set[Owner] = field(factory=set)
    """Deployments with a replica set or a pod of one, and cron jobs with a job or a pod of one."""
    pod_names: defaultdict[str, set[str]] = field(factory=lambda: defaultdict(set))
    """Namespace → names."""
    claim_names: set[str] = field(factory=set)
    """``namespace/name``."""
    keys: set[tuple[str, str]] = field(factory=set)
    """Kind and key of all other objects that have a name."""

    @classmethod
    def of(cls, objects: Iterable[Any]) -> Existing:
        """Return the index of *objects*; O(objects)."""
        existing = cls()
        for obj in objects:
            existing.add(obj)
        return existing

    def add(self, obj: Any) -> None:
        """Add one object of any kind."""
        if isinstance(obj, Node):
            self.nodes[obj.name] = obj
        elif isinstance(obj, Pod):
            if obj.name:
                self.pod_names[obj.namespace].add(obj.name)
            if (owner := obj.metadata.controller) is not None:
                self._add_pod_of(owner, obj)
        elif isinstance(obj, PersistentVolumeClaim):
            self.claim_names.add(obj.key)
        else:
            self._add_other(obj)

    def _add_other(self, obj: Any) -> None:
        if obj.name:
            self.keys.add((obj.KIND, obj.key))
        if isinstance(obj, ReplicaSet | Job) and (owner := obj.metadata.controller) is not None:
            self.dependents.add((owner.kind, obj.namespace, owner.name))

    def _add_pod_of(self, owner: OwnerReference, pod: Pod) -> None:
        """Add a pod to its owner, and count it for the owner's owner, which may be in no manifest."""
        self.pods[owner.kind, pod.namespace, owner.name].append(pod)
        if owner.kind == "Job":
            self.dependents.add(("CronJob", pod.namespace, _RUN.sub("", owner.name)))
        elif owner.kind == "ReplicaSet":
            suffix = f"-{pod.labels.get(POD_TEMPLATE_HASH, '')}"
            self.dependents.add(("Deployment", pod.namespace, owner.name.removesuffix(suffix)))

    def take_name(self, obj: ClusterObject) -> bool:
        """Add the name of *obj* unless an object of its kind has it; return whether it was free."""
        names: set[Any] = self.keys
        name: Any = (obj.KIND, obj.key)
        if isinstance(obj, Pod):
            names, name = self.pod_names[obj.namespace], obj.name
        elif isinstance(obj, PersistentVolumeClaim):
            names, name = self.claim_names, obj.key
        if name in names or (isinstance(obj, Node) and name[1] in self.nodes):
            return False
        names.add(name)
        return True

    def pods_of(self, owner: NamespacedObject) -> list[Pod]:
        """Return the pods that *owner* controls, ended ones included."""
        return self.pods.get((owner.KIND, owner.namespace, owner.name), [])

    def active_pods_of(self, owner: NamespacedObject) -> list[Pod]:
        """Return the pods that *owner* controls and that have neither ended nor are being deleted."""
        return [pod for pod in self.pods_of(owner) if not pod.is_terminated and not pod.is_terminating]

    def has_dependents(self, owner: NamespacedObject) -> bool:
        """Return whether *owner* has made pods, or objects that make pods."""
        key = (owner.KIND, owner.namespace, owner.name)
        return key in self.dependents or key in self.pods
