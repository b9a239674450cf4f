"""Claims to devices and their allocations (resource.k8s.io)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from attrs import field

from .._base.value import default_of, value
from ._wire import EMPTY, wire
from .affinity import NodeSelector
from .devices import (
    CapacityRequirements,
    DeviceSelector,
    DeviceToleration,
    OpaqueDeviceConfiguration,
)
from .fieldcodecs import AMOUNTS, TIME
from .metadata import NO_META, Condition, NamespacedObject, ObjectMeta
from .quantity import Quantity

EXACT_COUNT: Final = "ExactCount"
ALL_DEVICES: Final = "All"


@value(weakref_slot=False)
class ExactDeviceRequest:
    """Devices of one class. An empty ``allocation_mode`` is ExactCount, a ``count`` of 0 then 1."""

    device_class_name: str = field(default="", metadata=wire(always=True))
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


@value(weakref_slot=False)
class DeviceSubRequest:
    """One alternative of a request."""

    name: str = field(default="", metadata=wire(always=True))
    device_class_name: str = field(default="", metadata=wire(always=True))
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


@value(weakref_slot=False)
class DeviceRequest:
    """A request: exactly this, or the first alternative that can be allocated."""

    name: str = field(default="", metadata=wire(always=True))
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


@value(weakref_slot=False)
class DeviceConstraint:
    """An attribute that the devices of some requests (of all, if none is named) must share, or must not."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


@value(weakref_slot=False)
class DeviceClaimConfiguration:
    """Configuration for the devices of some requests (of all, if none is named)."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


@value(weakref_slot=False)
class DeviceClaim:
    """Requests, and constraints on the allocated devices."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


@value(weakref_slot=False)
class ResourceClaimSpec:
    """The spec of a claim."""

    devices: DeviceClaim = default_of(DeviceClaim)


@value(weakref_slot=False)
class DeviceRequestAllocationResult:
    """A device that is allocated for a request (``request/alternative`` if it has alternatives)."""

    request: str = field(default="", metadata=wire(always=True))
    driver: str = field(default="", metadata=wire(always=True))
    pool: str = field(default="", metadata=wire(always=True))
    device: str = field(default="", metadata=wire(always=True))
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(default=None, metadata=wire("shareID", unique=True))
    consumed_capacity: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)


@value(weakref_slot=False)
class DeviceAllocationConfiguration:
    """Configuration of the allocation; ``source`` is FromClass or FromClaim."""

    source: str = field(default="", metadata=wire(always=True))
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


@value(weakref_slot=False)
class DeviceAllocationResult:
    """All devices of the claim."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


@value(weakref_slot=False)
class AllocationResult:
    """The allocated devices, and the nodes that can use them; ``None`` is all. Times are epoch seconds."""

    devices: DeviceAllocationResult = default_of(DeviceAllocationResult)
    node_selector: NodeSelector | None = None
    allocation_timestamp: float | None = field(default=None, metadata=TIME)


@value(weakref_slot=False)
class ResourceClaimConsumerReference:
    """A user of the claim, most often a pod (``resource`` is ``pods``)."""

    api_group: str = ""
    resource: str = field(default="", metadata=wire(always=True))
    name: str = field(default="", metadata=wire(always=True, unique=True))
    uid: str = field(default="", metadata=wire(always=True, unique=True))


@value(weakref_slot=False)
class AllocatedDeviceStatus:
    """The status of an allocated device, reported by its driver."""

    driver: str = field(default="", metadata=wire(always=True))
    pool: str = field(default="", metadata=wire(always=True))
    device: str = field(default="", metadata=wire(always=True))
    share_id: str | None = field(default=None, metadata=wire("shareID", unique=True))
    conditions: tuple[Condition, ...] = ()


@value(weakref_slot=False)
class ResourceClaimStatus:
    """The allocation of a claim and its users."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


@value(weakref_slot=False)
class ResourceClaim(NamespacedObject):
    """A claim to devices."""

    KIND: ClassVar[str] = "ResourceClaim"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ResourceClaimSpec = field(default=default_of(ResourceClaimSpec), metadata=wire(always=True))
    status: ResourceClaimStatus = default_of(ResourceClaimStatus)


@value(weakref_slot=False)
class ResourceClaimTemplateSpec:
    """The claim that is created for each pod."""

    metadata: ObjectMeta = NO_META
    spec: ResourceClaimSpec = field(default=default_of(ResourceClaimSpec), metadata=wire(always=True))


@value(weakref_slot=False)
class ResourceClaimTemplate(NamespacedObject):
    """A template of claims."""

    KIND: ClassVar[str] = "ResourceClaimTemplate"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ResourceClaimTemplateSpec = field(
        default=default_of(ResourceClaimTemplateSpec), metadata=wire(always=True)
    )
