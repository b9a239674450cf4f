"""Extended resources that a device class stands for: DynamicResources answers for them, not sums."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import define

from schedframe import ObjectStore
from schedframe.api import DeviceClass

DEVICE_CLASS: Final = DeviceClass.KIND
IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""Followed by the name of a class: the extended resource that every class stands for unasked."""


@define(eq=False)
class DeviceClassNames:
    """Resources that some device class stands for; O(classes) after a class changed, else O(1)."""

    _objects: ObjectStore
    _version: int = -1
    _names: frozenset[str] = frozenset()

    def backed(self, resources: Iterable[str]) -> frozenset[str]:
        """Return those of *resources* that a class stands for, by its chosen name or by the implicit one."""
        version = self._objects.version(DEVICE_CLASS)
        if version != self._version:
            self._names = resource_names(self._objects.list(DEVICE_CLASS))
            self._version = version
        return self._names.intersection(resources) if self._names else self._names


def resource_names(classes: Iterable[DeviceClass]) -> frozenset[str]:
    """Return all resources that *classes* stand for."""
    names = set()
    for device_class in classes:
        names.add(IMPLICIT_PREFIX + device_class.name)
        if device_class.spec.extended_resource_name:
            names.add(device_class.spec.extended_resource_name)
    return frozenset(names)
