"""Devices and classes of devices (resource.k8s.io)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import field

from .._base.value import default_of, value
from ._wire import EMPTY, wire
from .affinity import NodeSelector
from .fieldcodecs import AMOUNTS, TIME
from .metadata import NO_META, ClusterObject, ObjectMeta
from .quantity import ZERO, Quantity


@value(weakref_slot=False)
class CELDeviceSelector:
    """A CEL expression over ``device``."""

    expression: str = field(default="", metadata=wire(always=True))


@value(weakref_slot=False)
class DeviceSelector:
    """One condition on a device."""

    cel: CELDeviceSelector | None = None


@value(weakref_slot=False)
class OpaqueDeviceConfiguration:
    """Parameters that only the driver understands."""

    driver: str = field(default="", metadata=wire(always=True))
    parameters: Any = None


@value(weakref_slot=False)
class DeviceClassConfiguration:
    """Configuration that comes with each device of the class."""

    opaque: OpaqueDeviceConfiguration | None = None


@value(weakref_slot=False)
class DeviceClassSpec:
    """The selectors of a class of devices, and the extended resource that it backs."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


@value(weakref_slot=False)
class DeviceClass(ClusterObject):
    """A named kind of devices."""

    KIND: ClassVar[str] = "DeviceClass"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: DeviceClassSpec = field(default=default_of(DeviceClassSpec), metadata=wire(always=True))


@value(weakref_slot=False)
class DeviceAttribute:
    """A property of a device: exactly one of the values is set."""

    int_value: int | None = field(default=None, metadata=wire("int"))
    bool_value: bool | None = field(default=None, metadata=wire("bool"))
    string_value: str | None = field(default=None, metadata=wire("string"))
    version_value: str | None = field(default=None, metadata=wire("version"))

    @property
    def value(self) -> int | bool | str | None:
        """The value that is set."""
        for each in (self.int_value, self.bool_value, self.string_value):
            if each is not None:
                return each
        return self.version_value


@value(weakref_slot=False)
class CapacityRequestPolicyRange:
    """Amounts from ``min`` to ``max`` in steps."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


@value(weakref_slot=False)
class CapacityRequestPolicy:
    """The amounts of a shared device's capacity that can be requested, and the default amount."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


@value(weakref_slot=False)
class DeviceCapacity:
    """A capacity of a device."""

    value: Quantity = field(default=ZERO, metadata=wire(always=True))
    request_policy: CapacityRequestPolicy | None = None


@value(weakref_slot=False)
class Counter:
    """An amount that several devices share."""

    value: Quantity = field(default=ZERO, metadata=wire(always=True))


@value(weakref_slot=False)
class CounterSet:
    """Counters by name."""

    name: str = field(default="", metadata=wire(always=True))
    counters: Mapping[str, Counter] = field(default=EMPTY, metadata=wire(always=True))


@value(weakref_slot=False)
class DeviceCounterConsumption:
    """The amounts that a device consumes of a counter set."""

    counter_set: str = field(default="", metadata=wire(always=True))
    counters: Mapping[str, Counter] = field(default=EMPTY, metadata=wire(always=True))


@value(weakref_slot=False)
class DeviceTaint:
    """A taint rejects claims that do not tolerate it. ``time_added`` is seconds since the epoch."""

    key: str = field(default="", metadata=wire(always=True))
    value: str = ""
    effect: str = field(default="", metadata=wire(always=True))
    time_added: float | None = field(default=None, metadata=TIME)


@value(weakref_slot=False)
class DeviceToleration:
    """A toleration of device taints. An empty operator is Equal, an empty key means all keys."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, taint: DeviceTaint) -> bool:
        """Return whether *taint* is tolerated."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and self.value == taint.value


@value(weakref_slot=False)
class Device:
    """One device of a slice. Attributes and capacities without a domain are in the driver's domain."""

    name: str = field(default="", metadata=wire(always=True))
    attributes: Mapping[str, DeviceAttribute] = EMPTY
    capacity: Mapping[str, DeviceCapacity] = EMPTY
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None


@value(weakref_slot=False)
class ResourcePool:
    """The pool that a slice is part of; only slices of the highest generation count."""

    name: str = field(default="", metadata=wire(always=True))
    generation: int = field(default=0, metadata=wire(always=True))
    resource_slice_count: int = field(default=0, metadata=wire(always=True))


@value(weakref_slot=False)
class ResourceSliceSpec:
    """Devices and the nodes that can use them: one node, those of a selector, all, or as each device says."""

    driver: str = field(default="", metadata=wire(always=True))
    pool: ResourcePool = field(default=default_of(ResourcePool), metadata=wire(always=True))
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()


@value(weakref_slot=False)
class ResourceSlice(ClusterObject):
    """A slice of the devices that a driver offers."""

    KIND: ClassVar[str] = "ResourceSlice"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ResourceSliceSpec = field(default=default_of(ResourceSliceSpec), metadata=wire(always=True))


@value(weakref_slot=False)
class CapacityRequirements:
    """The amounts of a device's capacity that a request needs, by name."""

    requests: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
