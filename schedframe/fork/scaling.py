"""Workloads with another number of pods: which ones are made, and which ones go first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from attrs import evolve

from ..api import Deployment, Pod, ReplicaSet, ReplicationController, StatefulSet
from ..cluster import ClusterPort
from ..controllers.owners import is_owned_by
from ..errors import InputError

_SHORT: Final[dict[str, type[Any]]] = {
    "deploy": Deployment,
    "sts": StatefulSet,
    "rs": ReplicaSet,
    "rc": ReplicationController,
}
_KINDS: Final[dict[str, type[Any]]] = {
    **_SHORT,
    **{cls.KIND.lower(): cls for cls in _SHORT.values()},
    **{f"{cls.KIND.lower()}s": cls for cls in _SHORT.values()},
}
_FIX: Final = "write kind/name or kind/namespace/name, such as deployment/web"


def workload_named(cluster: ClusterPort, name: str) -> Any:
    """Return the workload that *name* means, such as ``deployment/web`` or ``sts/shop/db``.

    Raises :class:`InputError` if there is none, or several.
    """
    short, _, key = name.partition("/")
    cls = _KINDS.get(short.lower())
    if cls is None or not key:
        raise InputError("workload", f"{name} names no workload that can be scaled", _FIX)
    found = [each for each in cluster.list(cls.KIND) if key in (each.name, each.key)]
    if not found:
        raise InputError("workload", f"there is no {cls.KIND} {key}", "add its manifest first")
    if len(found) > 1:
        keys = ", ".join(sorted(each.key for each in found))
        raise InputError("workload", f"{len(found)} are named {name}", f"say which: {keys}")
    return found[0]


def scaled(workload: Any, replicas: int) -> Any:
    """Return *workload* with that number of replicas."""
    return evolve(workload, spec=evolve(workload.spec, replicas=replicas))


def maker_of(cluster: ClusterPort, workload: Any) -> Any:
    """Return what makes the pods of *workload*: the newest replica set of a deployment, else itself."""
    if not isinstance(workload, Deployment):
        return workload
    sets = [each for each in cluster.list(ReplicaSet.KIND) if is_owned_by(each, workload)]
    active = [each for each in sets if each.spec.template is not None and each.spec.replicas != 0]
    newest = max(active or sets, key=lambda each: each.metadata.creation_timestamp or 0.0, default=None)
    return workload if newest is None else newest


def surplus(pods: Iterable[Pod], maker: Any, replicas: int) -> Sequence[Pod]:
    """Return the pods of *maker* that go if *replicas* stay, as its controller chooses them.

    Of a stateful set those with the highest number go. Of others first go pods without a node, then those on
    a node with most pods of the same maker, then the youngest ones.
    """
    own = [pod for pod in pods if is_owned_by(pod, maker) and not pod.is_terminated]
    count = len(own) - replicas
    if count <= 0:
        return ()
    if isinstance(maker, StatefulSet):
        ordered = sorted(own, key=lambda pod: _number_of(pod.name), reverse=True)
    else:
        together = Counter(pod.node_name for pod in own)
        ordered = sorted(
            own,
            key=lambda pod: (
                bool(pod.node_name),
                -together[pod.node_name],
                -(pod.metadata.creation_timestamp or 0.0),
            ),
        )
    return ordered[:count]


def _number_of(name: str) -> int:
    number = name.rpartition("-")[2]
    return int(number) if number.isdigit() else -1
