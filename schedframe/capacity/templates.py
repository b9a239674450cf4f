"""Templates of pods to add: pods by name, and the pods that a workload makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from attrs import evolve, field
from typing_extensions import override

from .._base.value import record
from ..api import (
    AnyPod,
    ClaimVolumeSource,
    ObjectMeta,
    PersistentVolumeClaim,
    Pod,
    StatefulSet,
)
from ..cluster.stamps import with_metadata
from ..controllers.owners import WORKLOADS, is_owned_by
from ..errors import InputError
from ..fork import Fork
from ..fork.decoding import as_pod
from ..fork.evicting import made_again
from ..fork.scaling import maker_of, workload_named
from ..why.subject import WORKLOAD_NAMES, pod_of_workload

_FIX = "write the name of a pod, namespace/name, or a workload such as deployment/web"


class Template(ABC):
    """Makes one more pod, and one more, in a fork. What it counts goes with a trial that is taken back."""

    key: str
    """``namespace/name`` of the pod or workload."""

    @abstractmethod
    def more(self, fork: Fork, number: int) -> list[Pod]:
        """Return *number* further pods, for :meth:`Fork.schedule`."""


@record(eq=False)
class Copies(Template):
    """Copies of one pod, with names of their own."""

    key: str
    pod: Pod
    """Without a node. With a uid admission has completed it; without one its claims are made with it."""
    _numbers: Any = field(factory=count, init=False)

    @override
    def more(self, fork: Fork, number: int) -> list[Pod]:
        """See :class:`Template`; O(number)."""
        made: list[Pod] = []
        metadata, find = self.pod.metadata, fork.cluster.get
        while len(made) < number:
            name = f"{metadata.name}-more-{next(self._numbers)}"
            if find(Pod.KIND, f"{metadata.namespace}/{name}") is None:
                uid = f"{metadata.uid}-{name}" if metadata.uid else ""
                made.append(with_metadata(self.pod, evolve(metadata, name=name, uid=uid)))
        return made


@record(eq=False)
class CopiesWithClaims(Template):
    """Copies of a pod of a stateful set whose template is not known, with claims of their own."""

    copies: Copies
    claims: Mapping[str, PersistentVolumeClaim]
    """Volume → the claim of the pod that is copied."""

    @property
    def key(self) -> str:  # type: ignore[override]  # read only
        """``namespace/name`` of the stateful set."""
        return self.copies.key

    @override
    def more(self, fork: Fork, number: int) -> list[Pod]:
        """See :class:`Template`; O(number × claims)."""
        made = []
        for pod in self.copies.more(fork, number):
            names = {volume: f"{volume}-{pod.name}" for volume in self.claims}
            fork.add(*[_unbound(claim, names[volume]) for volume, claim in self.claims.items()])
            volumes = [
                evolve(each, persistent_volume_claim=ClaimVolumeSource(names[each.name]))
                if each.name in names
                else each
                for each in pod.spec.volumes
            ]
            made.append(evolve(pod, spec=evolve(pod.spec, volumes=tuple(volumes))))
        return made


def _unbound(claim: PersistentVolumeClaim, name: str) -> PersistentVolumeClaim:
    """Return a claim like *claim* that has no volume yet."""
    metadata = ObjectMeta(name=name, namespace=claim.metadata.namespace, labels=claim.metadata.labels)
    return PersistentVolumeClaim(metadata, evolve(claim.spec, volume_name=""))


@record(eq=False)
class Replicas(Template):
    """Further pods of a stateful set, each with its number and claims."""

    key: str
    owner: StatefulSet

    @override
    def more(self, fork: Fork, number: int) -> list[Pod]:
        """See :class:`Template`; O(pods)."""
        return _scaled_up(fork, f"{self.owner.KIND.lower()}/{self.key}", self.owner, number)


def template_of(fork: Fork, wanted: AnyPod | str) -> Template:
    """Return what makes more of *wanted*: a pod or its manifest, the name of a pod, or that of a workload.

    A pod without a controller that waits under that name is taken out of *fork*: it is one of those that are
    counted. Raises :class:`InputError` if nothing has that name, or several things have it.
    """
    if not isinstance(wanted, str):
        return _copies(fork, as_pod(wanted, strict=fork.strict))
    if "/" in wanted and wanted.partition("/")[0].lower() in WORKLOAD_NAMES:
        return _of_workload(fork, wanted)
    pods = [pod for pod in fork.cluster.list(Pod.KIND) if wanted in (pod.name, pod.key)]
    if len(pods) == 1:
        return _copies(fork, _taken(fork, pods[0]))
    if pods:
        keys = ", ".join(sorted(pod.key for pod in pods))
        raise InputError("pods", f"{len(pods)} pods are named {wanted}", f"say which: {keys}")
    return _of_workload(fork, _workload_of_any_kind(fork, wanted))


def _taken(fork: Fork, pod: Pod) -> Pod:
    """Return *pod* as a model, out of *fork* if it waits and nothing makes it again."""
    if not pod.node_name and pod.metadata.controller is None:
        fork.remove(Pod.KIND, pod.key)
    return made_again(pod)


def _copies(fork: Fork, pod: Pod) -> Copies:
    if any(volume.ephemeral is not None for volume in pod.spec.volumes) or pod.spec.resource_claims:
        return Copies(pod.key, pod)
    return Copies(pod.key, fork.admit(evolve(pod, metadata=evolve(pod.metadata, uid=""))))


def _of_workload(fork: Fork, wanted: str) -> Template:
    try:
        owner = workload_named(fork.cluster, wanted)
    except InputError:
        owner = None
    if isinstance(owner, StatefulSet) and owner.spec.template is not None:
        return Replicas(owner.key, owner)
    if owner is not None:
        with fork.trial():
            made = _scaled_up(fork, wanted, owner, 1)
        if made:
            return evolve(_copies(fork, made_again(made[0])), key=owner.key)
    pod = pod_of_workload(fork, wanted, fork.cluster.list(Pod.KIND))
    assert pod is not None
    name = wanted.rpartition("/")[2]
    copies = evolve(_copies(fork, made_again(pod)), key=f"{pod.namespace}/{name}")
    claims = _own_claims(fork, pod)
    return CopiesWithClaims(copies, claims) if claims else copies


def _own_claims(fork: Fork, pod: Pod) -> dict[str, PersistentVolumeClaim]:
    """Return volume → claim, of those that a stateful set has made for *pod* alone."""
    owner = pod.metadata.controller
    if owner is None or owner.kind != StatefulSet.KIND:
        return {}
    names = {
        volume.name: volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    }
    own = {volume: name for volume, name in names.items() if name == f"{volume}-{pod.name}"}
    found = {
        volume: fork.cluster.get(PersistentVolumeClaim.KIND, f"{pod.namespace}/{name}")
        for volume, name in own.items()
    }
    return {volume: claim for volume, claim in found.items() if claim is not None}


def _scaled_up(fork: Fork, name: str, owner: Any, number: int) -> list[Pod]:
    """Give the workload *number* pods more; return them."""
    maker = maker_of(fork.cluster, owner)
    before = _pods_of(fork, maker)
    active = [pod for pod in before.values() if not pod.is_terminated and not pod.is_terminating]
    fork.scale(name, len(active) + number)
    return [pod for key, pod in _pods_of(fork, maker).items() if key not in before]


def _pods_of(fork: Fork, maker: Any) -> dict[str, Pod]:
    pods: Iterable[Pod] = fork.cluster.list(Pod.KIND)
    return {pod.key: pod for pod in pods if is_owned_by(pod, maker)}


def _workload_of_any_kind(fork: Fork, wanted: str) -> str:
    """Return kind/name of the only workload of that name, by its object or by its pods."""
    found = set()
    for kind in sorted(WORKLOADS):
        for owner in fork.cluster.list(kind):
            if wanted in (owner.name, owner.key) and owner.metadata.controller is None:
                found.add(f"{kind.lower()}/{owner.key}")
    if len(found) == 1:
        return found.pop()
    if found:
        raise InputError(
            "pods", f"{len(found)} workloads are named {wanted}", f"say which: {', '.join(sorted(found))}"
        )
    raise InputError("pods", f"no pod and no workload is named {wanted}", _FIX)
