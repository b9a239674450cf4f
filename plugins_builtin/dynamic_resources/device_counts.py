"""Devices that back an extended resource as amounts that nodes have and use, for plugins that score."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from attrs import define

from schedframe import DeviceClass, Node, NodeInfo, ObjectStore

from ..node_resources.scored import Amounts
from .cel.selector import CelDevice, CelError, compile_selector
from .claims.extended_resources import BackingClasses, may_be_backed
from .claims.tracker import ClaimTracker, tracker_of
from .inventory.offered_devices import OfferedDevice

_NOTHING = (0, 0)


@define(eq=False)
class DeviceCounts:
    """Counts devices by the class that backs a resource, whatever the generation and state of their pools."""

    _classes: BackingClasses
    _tracker: ClaimTracker

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

        A node that has the resource from a device plugin counts that, and no devices. O(devices of the node).
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
        try:
            return _NOTHING if device_class is None else self._count(device_class, info.node)
        except CelError:
            # A node with a device for which the class fails has no devices to score.
            return _NOTHING

    def _count(self, device_class: DeviceClass, node: Node) -> tuple[int, int]:
        usage = self._tracker.usage
        there = in_use = 0
        for offered in self._tracker.pools.slices_of(node):
            for device in offered.devices:
                if device.is_for(node) and _is_of(device_class, device):
                    there += 1
                    in_use += usage.is_allocated(device.id)
        return there, in_use


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
