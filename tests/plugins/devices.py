"""Builders of slices, classes and claims for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define

from schedframe.api import (
    AllocationResult,
    CapacityRequirements,
    CELDeviceSelector,
    Counter,
    CounterSet,
    Device,
    DeviceAllocationResult,
    DeviceAttribute,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
    from_manifest,
    parse_quantity,
)

from .agreement import StandInHandle

DRIVER = "gpu.example.com"


@define(eq=False)
class DeviceHandle(StandInHandle):
    """The part of a handle that DynamicResources reads until a node is chosen. Its clock does not advance."""

    def clock(self) -> float:
        return 0.0

    def deadline(self, seconds: float) -> Callable[[], bool]:
        return lambda: seconds < 0


def node(name: str, **resources: str) -> Node:
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "110"} | resources
    return Node(
        ObjectMeta(name=name),
        status=NodeStatus(allocatable={key: parse_quantity(value) for key, value in amounts.items()}),
    )


def pod(name: str, *claims: str, requests: Mapping[str, str] | None = None) -> Pod:
    return from_manifest(
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-of-{name}"},
            "spec": {
                "containers": [{"name": "c", "resources": {"requests": dict(requests or {})}}],
                "resourceClaims": [{"name": f"c{i}", "resourceClaimName": c} for i, c in enumerate(claims)],
            },
        }
    )


def device_class(name: str = "gpu", *expressions: str, resource: str | None = None) -> DeviceClass:
    spec = DeviceClassSpec(selectors(*expressions), extended_resource_name=resource)
    return DeviceClass(ObjectMeta(name=name), spec)


def selectors(*expressions: str) -> tuple[DeviceSelector, ...]:
    return tuple(DeviceSelector(CELDeviceSelector(expression)) for expression in expressions)


def device(name: str, *, counters: Mapping[str, int] | None = None, **fields: Any) -> Device:
    """*counters*: what it consumes from the counter set ``set``."""
    if counters:
        taken = {key: Counter(parse_quantity(value)) for key, value in counters.items()}
        fields["consumes_counters"] = (DeviceCounterConsumption("set", taken),)
    return Device(name, **fields)


def attributes(**values: Any) -> dict[str, DeviceAttribute]:
    kinds = {bool: "bool_value", int: "int_value", str: "string_value"}
    return {key: DeviceAttribute(**{kinds[type(value)]: value}) for key, value in values.items()}


def slice_of(
    node_name: str,
    devices: Iterable[Device],
    *,
    pool: str = "",
    name: str = "",
    slices: int = 1,
    generation: int = 1,
    counters: Mapping[str, int] | None = None,
) -> ResourceSlice:
    sets = ()
    if counters:
        there = {key: Counter(parse_quantity(value)) for key, value in counters.items()}
        sets = (CounterSet("set", there),)
    where = {"node_name": node_name} if node_name else {"all_nodes": True}
    spec = ResourceSliceSpec(
        DRIVER,
        ResourcePool(pool or node_name or "net", generation, slices),
        devices=tuple(devices),
        shared_counters=sets,
        **where,
    )
    return ResourceSlice(ObjectMeta(name=name or f"slice-{pool or node_name or 'net'}"), spec)


def claim(
    name: str,
    *requests: DeviceRequest,
    constraints: Iterable[DeviceConstraint] = (),
    allocated: Iterable[str] = (),
    version: str = "",
) -> ResourceClaim:
    """*allocated*: its devices, ``pool/device``."""
    results = tuple(DeviceRequestAllocationResult("r", DRIVER, *place.split("/")) for place in allocated)
    status = ResourceClaimStatus(AllocationResult(DeviceAllocationResult(results)) if results else None)
    return ResourceClaim(
        ObjectMeta(name=name, namespace="default", uid=f"uid-of-{name}", resource_version=version),
        ResourceClaimSpec(DeviceClaim(requests, tuple(constraints))),
        status,
    )


def capacity(**amounts: str | int) -> CapacityRequirements:
    return CapacityRequirements({key: parse_quantity(value) for key, value in amounts.items()})


def devices_of(claim: ResourceClaim | None) -> list[str]:
    """Return the devices of the claim, ``pool/device``."""
    if claim is None or claim.status.allocation is None:
        return []
    return [f"{result.pool}/{result.device}" for result in claim.status.allocation.devices.results]
