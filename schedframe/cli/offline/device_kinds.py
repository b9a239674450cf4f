"""Selectors of devices replaced by the devices that they select.

An expression of CEL names drivers, attributes and values, and cannot be hidden part by part. Each device gets
one more attribute with a number, equal for devices of equal content, and each expression becomes a comparison
of that number. What failed for a device fails still: the expression reads an attribute that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve, field

from ..._base.value import record
from ...api import Device, DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from ...errors import PluginError

DOMAIN: Final = "anonymous.invalid"
KIND_ATTRIBUTE: Final = f"{DOMAIN}/kind"
"""Attribute with the number of the kind of a device."""
_KIND: Final = f'device.attributes["{DOMAIN}"].kind'
_FAILS: Final = f'device.attributes["{DOMAIN}"].failed'
_PART: Final = rf"(false|{re.escape(_KIND)} in \[[0-9, ]+\]|[()?:! ]|{re.escape(_FAILS)}"
EXPRESSION: Final = re.compile(rf"{_PART}|device\.allowMultipleAllocations)+")
"""Expressions that are made here."""

Matches = Callable[[str, str, Device], bool]
"""Function of an expression, a driver and a device; raises :class:`PluginError` where the former fails."""


@record(eq=False)
class DeviceKinds:
    """The kinds of all devices of a cluster; devices are of one kind if no expression tells them apart."""

    matches: Matches
    _numbers: dict[Hashable, int] = field(factory=dict, init=False)
    _examples: list[tuple[str, Device]] = field(factory=list, init=False)
    """Driver and device of each kind, beginning with number 1."""
    _expressions: dict[str, str] = field(factory=dict, init=False)

    def hidden(self, manifests: Sequence[dict[str, Any]], objects: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the *manifests* of *objects* with numbers of kinds, and comparisons with them."""
        for obj in objects:
            if isinstance(obj, ResourceSlice):
                for device in obj.spec.devices:
                    self._number(obj.spec.driver, device)
        return [self._manifest(each, obj) for each, obj in zip(manifests, objects, strict=True)]

    def _manifest(self, manifest: dict[str, Any], obj: Any) -> dict[str, Any]:
        if isinstance(obj, ResourceSlice) and obj.spec.devices:
            devices = [
                {**each, "attributes": {**each.get("attributes", {}), KIND_ATTRIBUTE: {"int": number}}}
                for each, number in zip(manifest["spec"]["devices"], self._kinds_of(obj), strict=True)
            ]
            return {**manifest, "spec": {**manifest["spec"], "devices": devices}}
        if isinstance(obj, ResourceClaim | ResourceClaimTemplate | DeviceClass):
            replaced: dict[str, Any] = self._replaced(manifest)
            return replaced
        return manifest

    def _kinds_of(self, obj: ResourceSlice) -> Iterable[int]:
        return (self._number(obj.spec.driver, device) for device in obj.spec.devices)

    def _number(self, driver: str, device: Device) -> int:
        shared = bool(device.allow_multiple_allocations)
        key = driver, shared, frozenset(device.attributes.items()), frozenset(device.capacity.items())
        number = self._numbers.get(key)
        if number is None:
            self._examples.append((driver, device))
            number = self._numbers[key] = len(self._examples)
        return number

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._replaced(each) for each in value]
        if not isinstance(value, Mapping):
            return value
        return {
            key: self._expression(each)
            if key == "expression" and isinstance(each, str)
            else self._replaced(each)
            for key, each in value.items()
        }

    def _expression(self, text: str) -> str:
        found = self._expressions.get(text)
        if found is None:
            found = self._expressions[text] = self._comparison(text)
        return found

    def _comparison(self, text: str) -> str:
        """Return the comparison for *text*; two for one that treats shared devices as others at times."""
        both = self._selected(text, self._examples)
        # scores count devices as if none were shared
        alone = [(driver, evolve(d, allow_multiple_allocations=None)) for driver, d in self._examples]
        single = self._selected(text, alone)
        if both == single:
            return both
        return f"device.allowMultipleAllocations ? ({both}) : ({single})"

    def _selected(self, text: str, devices: Iterable[tuple[str, Device]]) -> str:
        selected, failing = [], []
        for number, (driver, device) in enumerate(devices, 1):
            try:
                if self.matches(text, driver, device):
                    selected.append(number)
            except PluginError:
                failing.append(number)
        result = f"{_KIND} in {selected}" if selected else "false"
        return f"{_KIND} in {failing} ? {_FAILS} : {result}" if failing else result
