"""What the search sees of devices and pools but for their names: what is alike is kept once.

Nodes of one make offer devices that differ in their names only. What a selector says of one of them it says
of all, and whether a claim can be had from one pool tells whether it can be had from another.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import TypeAlias
from weakref import WeakValueDictionary

from attrs import define, field

from schedframe.api import Device, DeviceAttribute

from ..cel.selector import CelDevice, CelError, compile_selector

CounterId: TypeAlias = tuple[str, str]
"""Counter set, counter."""
TypedValue: TypeAlias = tuple[str, object]
"""The type of an attribute and its value: a string never equals a version, nor 1 true."""
Consumption: TypeAlias = tuple[tuple[CounterId, int], ...]
"""Counters and the amounts, in billionths, that a device takes from them."""


@define(eq=False)
class DeviceContent:
    """Everything about a device that selectors, constraints and counters read. None of it ever changes."""

    number: int
    """No other content ever has it."""
    driver: str
    device: Device
    """One of those that are alike."""
    _matches: dict[str, bool | CelError] = field(factory=dict, init=False)
    _cel: CelDevice | None = field(default=None, init=False)
    _typed: dict[str, TypedValue | None] = field(factory=dict, init=False)

    def typed(self, name: str) -> TypedValue | None:
        """The attribute of that fully qualified name, ``None`` if there is none. O(1) but for the first time.

        Without a domain in the slice it is the driver's.
        """
        if name not in self._typed:
            attributes = self.device.attributes
            found = attributes.get(name)
            domain, slash, rest = name.partition("/")
            if found is None and slash and domain == self.driver:
                found = attributes.get(rest)
            self._typed[name] = _typed(found)
        return self._typed[name]

    def matches(self, expression: str) -> bool:
        """What the expression says; :class:`CelError` if it fails. O(1) but for the first time."""
        known = self._matches.get(expression)
        if known is None:
            known = self._matches[expression] = self._evaluate(expression)
        if isinstance(known, CelError):
            # A fresh one: an error that is raised again and again keeps all the frames that it went through.
            raise CelError(str(known))
        return known

    def _evaluate(self, expression: str) -> bool | CelError:
        try:
            selector = compile_selector(expression)
            if self._cel is None:
                device = self.device
                shared = bool(device.allow_multiple_allocations)
                self._cel = CelDevice.of(self.driver, shared, device.attributes, device.capacity)
            return selector.matches(self._cel)
        except CelError as error:
            return error


def _typed(attribute: DeviceAttribute | None) -> TypedValue | None:
    if attribute is None or attribute.value is None:
        return None
    kind = "version" if attribute.version_value is not None else type(attribute.value).__name__
    return kind, attribute.value


@define(eq=False)
class PoolContent:
    """Stands for the devices of a pool, in their order, and its counters."""

    number: int


@define(eq=False)
class Contents:
    """Finds contents that are alike; they are kept as long as somebody uses them."""

    _devices: WeakValueDictionary[Hashable, DeviceContent] = field(factory=WeakValueDictionary)
    _pools: WeakValueDictionary[Hashable, PoolContent] = field(factory=WeakValueDictionary)
    _numbers: count[int] = field(factory=count)

    def of_device(self, driver: str, device: Device, consumes: Consumption) -> DeviceContent:
        """The content of a device; O(attributes + capacities)."""
        key = (
            driver,
            bool(device.allow_multiple_allocations),
            frozenset(device.attributes.items()),
            frozenset(device.capacity.items()),
            consumes,
            device.taints,
            bool(device.binding_conditions),
        )
        found = self._devices.get(key)
        if found is None:
            found = self._devices[key] = DeviceContent(next(self._numbers), driver, device)
        return found

    def of_pool(self, key: Hashable) -> PoolContent:
        """The content of a pool, *key* saying all there is to say of it."""
        found = self._pools.get(key)
        if found is None:
            found = self._pools[key] = PoolContent(next(self._numbers))
        return found
