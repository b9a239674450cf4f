"""Devices and slices with what is derived from them once."""

from __future__ import annotations

from typing import TypeAlias

from attrs import define, field, frozen

from schedframe import Node, PluginError
from schedframe.api import Device, NodeSelector, ResourceSlice, compile_node_selector

from .device_content import Consumption, ContentTable, CounterId, DeviceContent

DeviceId: TypeAlias = tuple[str, str, str]
"""Driver, pool, name."""
PoolId: TypeAlias = tuple[str, str]
"""Driver, name."""


@define(eq=False)
class OfferedDevice:
    """One device of a slice."""

    id: DeviceId
    device: Device
    slice: ResourceSlice
    _contents: ContentTable
    shared: bool = field(init=False)
    """Whether it can be allocated several times, in shares."""
    consumes: Consumption = field(init=False)
    """Counters and the amounts, in billionths, that it consumes."""
    needs: Consumption = field(init=False)
    """The same with one sum for each counter."""
    _content: DeviceContent | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        device = self.device
        self.shared = bool(device.allow_multiple_allocations)
        self.consumes = tuple(
            ((use.counter_set, name), taken.value.nano)
            for use in device.consumes_counters
            for name, taken in use.counters.items()
        )
        needs: dict[CounterId, int] = {}
        for counter, amount in self.consumes:
            needs[counter] = needs.get(counter, 0) + amount
        self.needs = tuple(needs.items())

    @property
    def content(self) -> DeviceContent:
        """Return the content, shared with all devices that differ in their names only."""
        content = self._content
        if content is None:
            content = self._content = self._contents.of_device(self.id[0], self.device, self.consumes)
        return content

    def reuse_content(self, before: OfferedDevice) -> None:
        """Keep the content of the device in an earlier version of its slice, if it did not change."""
        if before._content is not None and before.id == self.id and before.device == self.device:
            self._content = before._content

    def matches(self, expression: str) -> bool:
        """Return the result of the expression; :class:`CelError` if it fails. O(1) after the first call."""
        return self.content.matches(expression)

    def is_for(self, node: Node) -> bool:
        """Return whether the device's own node selection, if it has one, admits *node*."""
        if not self.slice.spec.per_device_node_selection:
            return True
        device = self.device
        return node_matches(node, device.node_name, device.all_nodes, device.node_selector)


@frozen(eq=False)
class OfferedSlice:
    """A slice with its devices."""

    slice: ResourceSlice
    devices: tuple[OfferedDevice, ...]

    @classmethod
    def of(cls, slice: ResourceSlice, before: OfferedSlice | None, contents: ContentTable) -> OfferedSlice:
        """Return the slice; devices that did not change since *before* keep their contents."""
        spec = slice.spec
        earlier = {offered.device.name: offered for offered in before.devices} if before is not None else {}
        devices = []
        for device in spec.devices:
            offered = OfferedDevice((spec.driver, spec.pool.name, device.name), device, slice, contents)
            old = earlier.get(device.name)
            if old is not None:
                offered.reuse_content(old)
            devices.append(offered)
        return cls(slice, tuple(devices))

    @property
    def pool(self) -> PoolId:
        """Return the pool of the slice."""
        return self.slice.spec.driver, self.slice.spec.pool.name

    @property
    def generation(self) -> int:
        """Return the generation of the pool."""
        return self.slice.spec.pool.generation

    @property
    def node_name(self) -> str:
        """Return the only node that the slice is for; empty if :meth:`is_for` has to decide."""
        return "" if self.slice.spec.shared_counters else self.slice.spec.node_name or ""

    def is_for(self, node: Node) -> bool:
        """Return whether the slice is for *node*; a slice with shared counters is for all nodes."""
        spec = self.slice.spec
        if spec.shared_counters:
            return True
        if spec.node_name or spec.all_nodes or spec.node_selector is not None:
            return node_matches(node, spec.node_name, spec.all_nodes, spec.node_selector)
        return bool(spec.per_device_node_selection) and any(device.is_for(node) for device in self.devices)


def node_matches(node: Node, name: str | None, all_nodes: bool | None, selector: NodeSelector | None) -> bool:
    """Return whether a slice or device admits *node*; :class:`PluginError` for an invalid selector."""
    if name:
        return node.name == name
    if all_nodes:
        return True
    if selector is None:
        return False
    compiled = compile_node_selector(selector)
    if compiled.errors:
        raise PluginError(f"failed to parse node selector: {compiled.error}")
    return compiled.matches(node)
