"""Which events may make room for a pod that did not fit."""

from __future__ import annotations

from attrs import define

from schedframe import DeviceClass, Node, NodeInfo, Pod

from .device_classes import IMPLICIT_PREFIX, DeviceClassNames
from .shortage import Demand


@define(eq=False)
class FitHints:
    """Queueing hints of NodeResourcesFit. As in the reference, they do not know ignored resources."""

    _classes: DeviceClassNames

    def pod_left_or_shrank(self, pod: Pod, old: Pod, new: Pod | None) -> bool:
        """Any pod that had a node, or was promised one, has left; or :func:`_shrank_for`."""
        if new is None:
            return bool(old.spec.node_name or old.status.nominated_node_name)
        return new.uid == pod.uid or (bool(new.spec.node_name) and _shrank_for(pod, old, new))

    def node_has_room(self, pod: Pod, old: Node | None, new: Node) -> bool:
        """The pod fits the node if that is empty, and the node is new or has more of what it requests."""
        demand = Demand.of(pod.requests)
        demand = demand.delegating(self._classes.backed(demand.extended))
        if demand.shortage(NodeInfo.of(new)) is not None:
            return False
        return old is None or _grew_for(demand, old, new)

    def class_stands_for_request(self, pod: Pod, old: DeviceClass | None, new: DeviceClass) -> bool:
        """The class now stands for a resource that the pod names, be it with an amount of 0."""
        name = new.spec.extended_resource_name
        if old is None:
            if IMPLICIT_PREFIX + new.name in pod.requests:
                return True
        elif (old.spec.extended_resource_name or "") == (name or ""):
            return False
        return name is not None and name in pod.requests


def _shrank_for(pod: Pod, old: Pod, new: Pod) -> bool:
    """Whether something that *pod* requests is requested less than before."""
    before, after = old.requests, new.requests
    return any(amount and before.get(name, 0) > after.get(name, 0) for name, amount in pod.requests.items())


def _grew_for(demand: Demand, old: Node, new: Node) -> bool:
    before, after = old.allocatable, new.allocatable
    if after.get("pods", 0) > before.get("pods", 0):
        return True
    return any(
        after.get(name, 0) > before.get(name, 0) or (name in demand.delegated and not after.get(name, 0))
        for name in demand.names
    )
