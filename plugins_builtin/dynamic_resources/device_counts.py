"""Devices that back an extended resource as amounts that nodes have and use, for plugins that score."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from typing import Final

from attrs import define, field

from schedframe import Node, NodeInfo, ObjectStore
from schedframe.api import DeviceClass

from ..node_resources.scored import Amounts
from .cel.selector import CelDevice, CelError, compile_selector
from .claims.extended_resources import BackingClasses, may_be_backed
from .claims.tracker import ClaimTracker, tracker_of
from .inventory.offered_devices import DeviceId, OfferedDevice, PoolId

_NOTHING = (0, 0)
_MAX_NODES: Final = 65_536
"""Nodes whose devices are kept for a resource; beyond, all are dropped."""


@define(eq=False)
class _DevicesOfClass:
    """The devices of one node that match a class, and how many of them are in use."""

    node: Node
    stamp: Hashable
    """Of the slices for the node when they were looked at, see :meth:`.PoolIndex.stamp_of`."""
    ids: tuple[DeviceId, ...]
    pools: tuple[PoolId, ...]
    """Theirs, each once."""
    changes: tuple[int, ...] | None = None
    """The last changes of usage in the pools when ``in_use`` was counted."""
    in_use: int = 0


@define(eq=False)
class DeviceCounts:
    """Counts devices by the class that backs a resource, whatever the generation and state of their pools.

    The devices of a node are matched when its slices, its labels or the class changed, and those in use are
    counted when usage changed in one of their pools.
    """

    _classes: BackingClasses
    _tracker: ClaimTracker
    _kept: dict[str, tuple[DeviceClass, dict[str, _DevicesOfClass]]] = field(factory=dict, init=False)
    """Resource → the class, and node name → its devices."""

    @classmethod
    def of(cls, objects: ObjectStore, resources: Iterable[str]) -> DeviceCounts | None:
        """Return the counts; ``None`` if no device class can back any of *resources*."""
        if not any(map(may_be_backed, resources)):
            return None
        return cls(BackingClasses(objects), tracker_of(objects))

    def backs(self, resource: str) -> bool:
        """Return whether a device class backs *resource*."""
        return may_be_backed(resource) and self._classes.of(resource) is not None

    def amounts(self, resource: str) -> Amounts | None:
        """Return the function from a node to its devices and those in use; ``None`` without a class.

        A node that has the resource from a device plugin counts that, and no devices. O(pools of the node);
        O(devices of the node) after a change.
        """
        if not self.backs(resource):
            return None
        self._tracker.sync()
        return partial(self._on_node, resource)

    def _on_node(self, resource: str, info: NodeInfo) -> tuple[int, int]:
        amount = info.allocatable.get(resource, 0)
        if amount:
            return amount, info.requested.get(resource, 0)
        device_class = self._classes.of(resource)
        return _NOTHING if device_class is None else self._count(resource, device_class, info.node)

    def _count(self, resource: str, device_class: DeviceClass, node: Node) -> tuple[int, int]:
        found, usage = self._devices_of(resource, device_class, node), self._tracker.usage
        changes = tuple([usage.changes.get(pool, 0) for pool in found.pools])
        if changes != found.changes:
            found.in_use, found.changes = sum(map(usage.is_allocated, found.ids)), changes
        return len(found.ids), found.in_use

    def _devices_of(self, resource: str, device_class: DeviceClass, node: Node) -> _DevicesOfClass:
        """Return the devices that match the class, of this node as its slices are now."""
        kept = self._kept.get(resource)
        if kept is None or kept[0] is not device_class:
            kept = self._kept[resource] = device_class, {}
        of_node, stamp = kept[1], self._tracker.pools.stamp_of(node.name)
        found = of_node.get(node.name)
        if found is not None and found.stamp == stamp and _is_selected_alike(found.node, node):
            return found
        ids = self._matching(device_class, node)
        if len(of_node) >= _MAX_NODES:
            of_node.clear()
        found = of_node[node.name] = _DevicesOfClass(node, stamp, ids, tuple({id[:2] for id in ids}))
        return found

    def _matching(self, device_class: DeviceClass, node: Node) -> tuple[DeviceId, ...]:
        """Return the devices that match; none on a node with a device for which the class fails."""
        try:
            return tuple(
                device.id
                for offered in self._tracker.pools.slices_of(node)
                for device in offered.devices
                if device.is_for(node) and _is_of(device_class, device)
            )
        except CelError:
            return ()


def _is_selected_alike(one: Node, other: Node) -> bool:
    """Return whether node selectors tell two versions of a node not apart."""
    return one is other or one.labels == other.labels


def _is_of(device_class: DeviceClass, device: OfferedDevice) -> bool:
    """Return whether all selectors match; :class:`CelError` if one fails.

    For scoring, ``device.allowMultipleAllocations`` is false for every device.
    """
    expressions = [each.cel.expression for each in device_class.spec.selectors if each.cel is not None]
    if not device.shared:
        return all(map(device.matches, expressions))
    content = device.device
    tree = CelDevice.of(device.id[0], False, content.attributes, content.capacity)
    return all(compile_selector(expression).matches(tree) for expression in expressions)
