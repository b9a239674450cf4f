"""Claims to devices, and how they were allocated (resource.k8s.io)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from attrs import field, frozen

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


@frozen(weakref_slot=False)
class ExactDeviceRequest:
    """Devices of one class. An empty ``allocation_mode`` is ExactCount, a ``count`` of 0 then 1."""

    device_class_name: str = field(default="", metadata=wire(always=True))
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


@frozen(weakref_slot=False)
class DeviceSubRequest:
    """One alternative of a request."""

    name: str = field(default="", metadata=wire(always=True))
    device_class_name: str = field(default="", metadata=wire(always=True))
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


@frozen(weakref_slot=False)
class DeviceRequest:
    """What is wanted: exactly this, or the first alternative that can be had."""

    name: str = field(default="", metadata=wire(always=True))
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


@frozen(weakref_slot=False)
class DeviceConstraint:
    """What the devices of some requests (of all, if none is named) must have in common, or must not."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


@frozen(weakref_slot=False)
class DeviceClaimConfiguration:
    """Configuration for the devices of some requests (of all, if none is named)."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


@frozen(weakref_slot=False)
class DeviceClaim:
    """Requests, and the constraints over what they get."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


@frozen(weakref_slot=False)
class ResourceClaimSpec:
    """What is claimed."""

    devices: DeviceClaim = DeviceClaim()


@frozen(weakref_slot=False)
class DeviceRequestAllocationResult:
    """A device that was picked for a request (``request/alternative`` where there were several)."""

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


@frozen(weakref_slot=False)
class DeviceAllocationConfiguration:
    """Configuration that goes with the allocation; ``source`` is FromClass or FromClaim."""

    source: str = field(default="", metadata=wire(always=True))
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


@frozen(weakref_slot=False)
class DeviceAllocationResult:
    """All devices of the claim."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


@frozen(weakref_slot=False)
class AllocationResult:
    """What the claim got, and from which nodes it can be used; None is all. Times are epoch seconds."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: float | None = field(default=None, metadata=TIME)


@frozen(weakref_slot=False)
class ResourceClaimConsumerReference:
    """Who may use the claim, most often a pod (``resource`` is ``pods``)."""

    api_group: str = ""
    resource: str = field(default="", metadata=wire(always=True))
    name: str = field(default="", metadata=wire(always=True, unique=True))
    uid: str = field(default="", metadata=wire(always=True, unique=True))


@frozen(weakref_slot=False)
class AllocatedDeviceStatus:
    """What the driver says of an allocated device."""

    driver: str = field(default="", metadata=wire(always=True))
    pool: str = field(default="", metadata=wire(always=True))
    device: str = field(default="", metadata=wire(always=True))
    share_id: str | None = field(default=None, metadata=wire("shareID", unique=True))
    conditions: tuple[Condition, ...] = ()


@frozen(weakref_slot=False)
class ResourceClaimStatus:
    """Whether the claim is allocated, and who uses it."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


@frozen(weakref_slot=False)
class ResourceClaim(NamespacedObject):
    """A claim to devices."""

    KIND: ClassVar[str] = "ResourceClaim"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ResourceClaimSpec = field(default=ResourceClaimSpec(), metadata=wire(always=True))
    status: ResourceClaimStatus = ResourceClaimStatus()


@frozen(weakref_slot=False)
class ResourceClaimTemplateSpec:
    """The claim that is made for each pod."""

    metadata: ObjectMeta = NO_META
    spec: ResourceClaimSpec = field(default=ResourceClaimSpec(), metadata=wire(always=True))


@frozen(weakref_slot=False)
class ResourceClaimTemplate(NamespacedObject):
    """A template of claims."""

    KIND: ClassVar[str] = "ResourceClaimTemplate"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ResourceClaimTemplateSpec = field(default=ResourceClaimTemplateSpec(), metadata=wire(always=True))
