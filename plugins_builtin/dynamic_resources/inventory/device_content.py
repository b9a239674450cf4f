"""Contents of devices and pools: everything that a search reads except names, with equal contents shared.

Nodes of one model offer devices that differ in their names only. A selector has the same result for all of
them, and a search has the same result on pools of equal content.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from attrs import define, field

from schedframe.api import Device, DeviceAttribute

from ..cel.selector import CelDevice, CelError, compile_selector

CounterId: TypeAlias = tuple[str, str]
"""Counter set, counter."""
TypedValue: TypeAlias = tuple[str, object]
"""Type and value of an attribute, so that a string never equals a version, nor 1 true."""
Consumption: TypeAlias = tuple[tuple[CounterId, int], ...]
"""Counters and the amounts, in billionths, that a device consumes."""

_EXPRESSIONS: Final = 1024
"""Expressions whose result is kept for a content: each claim may bring one of its own, and goes again."""


@define(eq=False)
class DeviceContent:
    """Everything about a device that selectors, constraints and counters read. Immutable but for caches."""

    number: int
    """Unique, never reused."""
    driver: str
    device: Device
    """One of the devices with this content."""
    _matches: dict[str, bool | CelError] = field(factory=dict, init=False)
    _cel: CelDevice | None = field(default=None, init=False)
    _typed: dict[str, TypedValue | None] = field(factory=dict, init=False)

    def typed(self, name: str) -> TypedValue | None:
        """Return the attribute with that fully qualified name, if any. O(1) after the first call.

        An attribute without a domain in the slice is in the domain of the driver.
        """
        if name not in self._typed:
            attributes = self.device.attributes
            content = attributes.get(name)
            domain, slash, rest = name.partition("/")
            if content is None and slash and domain == self.driver:
                content = attributes.get(rest)
            self._typed[name] = _typed(content)
        return self._typed[name]

    def matches(self, expression: str) -> bool:
        """Return the result of the expression; :class:`CelError` if it fails. O(1) after the first call."""
        result = self._matches.get(expression)
        if result is None:
            if len(self._matches) >= _EXPRESSIONS:
                self._matches.clear()
            result = self._matches[expression] = self._evaluate(expression)
        if isinstance(result, CelError):
            # A new exception each time: a traceback grows with every raise of the same one.
            raise CelError(str(result))
        return result

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
    """Identity of all pools with equal devices, in their order, and equal counters."""

    number: int


@define(eq=False)
class ContentTable:
    """Interns contents; each is kept as long as it is referenced elsewhere."""

    _devices: WeakValueDictionary[Hashable, DeviceContent] = field(factory=WeakValueDictionary)
    _pools: WeakValueDictionary[Hashable, PoolContent] = field(factory=WeakValueDictionary)
    _numbers: count[int] = field(factory=count)

    def of_device(self, driver: str, device: Device, consumes: Consumption) -> DeviceContent:
        """Return the content of a device; O(attributes + capacities)."""
        key = (
            driver,
            bool(device.allow_multiple_allocations),
            frozenset(device.attributes.items()),
            frozenset(device.capacity.items()),
            consumes,
            device.taints,
            bool(device.binding_conditions),
        )
        content = self._devices.get(key)
        if content is None:
            content = self._devices[key] = DeviceContent(next(self._numbers), driver, device)
        return content

    def of_pool(self, key: Hashable) -> PoolContent:
        """Return the content of a pool that *key* describes completely."""
        content = self._pools.get(key)
        if content is None:
            content = self._pools[key] = PoolContent(next(self._numbers))
        return content
