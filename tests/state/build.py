"""Small pods and nodes, made in one line."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from schedframe.api import (
    Container,
    ContainerImage,
    ContainerPort,
    HostPort,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    parse_quantity,
)

GPU = "example.com/gpu"
FPGA = "example.com/fpga"


def amounts(given: Mapping[str, int]) -> dict[str, Any]:
    """CPU in milli-CPU, everything else in whole units."""
    return {name: parse_quantity(f"{amount}m" if name == "cpu" else amount) for name, amount in given.items()}


def make_pod(
    name: str,
    node_name: str = "",
    requests: Mapping[str, int] | None = None,
    *,
    uid: str | None = None,
    ports: Iterable[HostPort] = (),
    labels: Mapping[str, str] | None = None,
    status: PodStatus | None = None,
    deletion_timestamp: float | None = None,
    **spec: Any,
) -> Pod:
    container = Container(
        name="main",
        resources=ResourceRequirements(requests=amounts(requests or {})),
        ports=tuple(
            ContainerPort(container_port=p.port, host_port=p.port, protocol=p.protocol, host_ip=p.host_ip)
            for p in ports
        ),
    )
    metadata = ObjectMeta(
        name=name,
        namespace="default",
        uid=f"uid-{name}" if uid is None else uid,
        labels=dict(labels or {}),
        deletion_timestamp=deletion_timestamp,
    )
    return Pod(metadata, PodSpec((container,), node_name, **spec), status or PodStatus())


def make_node(
    name: str,
    allocatable: Mapping[str, int] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    images: Mapping[str, int] | None = None,
    unschedulable: bool = False,
    **spec: Any,
) -> Node:
    return Node(
        ObjectMeta(name=name, uid=f"uid-{name}", labels=dict(labels or {})),
        NodeSpec(unschedulable=unschedulable, **spec),
        NodeStatus(
            allocatable=amounts(
                {"cpu": 4000, "memory": 2**33, "pods": 110} if allocatable is None else allocatable
            ),
            images=tuple(ContainerImage((image,), size) for image, size in (images or {}).items()),
        ),
    )


def overwrite(column: Any, row: int, value: Any) -> None:
    """Write to a read-only array, to see whether a self-check notices."""
    new = np.array([value], column.dtype)
    ctypes.memmove(column.ctypes.data + row * column.strides[0], new.ctypes.data, new.nbytes)
