"""Events that may make room for a pod that did not fit."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define

from schedframe import Handle, Node, NodeInfo, Pod
from schedframe.api import DeviceClass
from schedframe.framework import pods_being_preempted

from .device_classes import IMPLICIT_PREFIX, DeviceClassNames
from .shortage import Demand


@define(eq=False)
class FitHints:
    """Queueing hints of NodeResourcesFit. As in the reference, those for nodes count ignored resources."""

    _classes: DeviceClassNames
    _handle: Handle
    _demand_of: Callable[[Pod], Demand]
    """What the filter demands for a pod."""

    def pod_left_or_shrank(self, pod: Pod, old: Pod, new: Pod | None) -> bool:
        """Hint: a pod that had a node, or a nomination, has left; or :func:`_shrank_for`.

        Not if *pod* waits for its victims, see :meth:`_waits_for_victims`.
        """
        if new is None:
            left = old.spec.node_name or old.status.nominated_node_name
            return bool(left) and not self._waits_for_victims(pod, left)
        return new.uid == pod.uid or (bool(new.spec.node_name) and _shrank_for(pod, old, new))

    def _waits_for_victims(self, pod: Pod, left: str) -> bool:
        """Return whether victims of *pod* still end, and *left*, which a pod has left, has no room for it.

        A pod may not preempt others before its victims are gone, so an attempt would be in vain. With many
        preemptors each deletion would cause one for each of them. O(pods of the nominated node).
        """
        nominated = pod.status.nominated_node_name
        # Of a group, one answer counts for all members with equal specs, nominated or not.
        if not nominated or pod.spec.scheduling_group is not None or self._fits(pod, left):
            return False
        preempted = pods_being_preempted(self._handle.table, nominated)
        return any(victim.priority < pod.priority for victim in preempted)

    def _fits(self, pod: Pod, node_name: str) -> bool:
        """Return whether *pod* fits the node as it is now, beside the pods that are nominated to it."""
        table, nominator = self._handle.table, self._handle.nominator
        row = table.live_row(node_name)
        if row is None:
            return False
        demand, info = self._demand_of(pod), table.info(row)
        if demand.shortage(info) is not None:
            return False
        expected = [
            other
            for other in nominator.nominated_pods_for_node(node_name)
            if other.priority >= pod.priority and other.uid != pod.uid
        ]
        if not expected:
            return True
        full = info.clone()
        for other in expected:
            full.add_pod(other)
        return demand.shortage(full) is None

    def node_has_room(self, pod: Pod, old: Node | None, new: Node) -> bool:
        """Hint: the pod fits the empty node, and the node is new or has more of what it requests."""
        demand = Demand.of(pod.requests)
        demand = demand.delegating(self._classes.backed(demand.extended))
        if demand.shortage(NodeInfo.of(new)) is not None:
            return False
        return old is None or _grew_for(demand, old, new)

    def class_stands_for_request(self, pod: Pod, old: DeviceClass | None, new: DeviceClass) -> bool:
        """Hint: the class now stands for a resource that the pod names, be it with an amount of 0."""
        name = new.spec.extended_resource_name
        if old is None:
            if IMPLICIT_PREFIX + new.name in pod.requests:
                return True
        elif (old.spec.extended_resource_name or "") == (name or ""):
            return False
        return name is not None and name in pod.requests


def _shrank_for(pod: Pod, old: Pod, new: Pod) -> bool:
    """Return whether something that *pod* requests is requested less than before."""
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
