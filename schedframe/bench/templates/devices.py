"""Workload of pods with claims to devices, like SchedulingWithResourceClaimTemplate of scheduler_perf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..objects import RESOURCE_API, device_name, home_of, make_node, make_pod, node_name, node_slice
from ..operations import Create, Operation, SchedulePods, StartClaimController
from ..options import Size

DRIVER: Final = "test-driver.cdi.k8s.io"
_CLASS: Final = "test-class"
_TEMPLATE: Final = "test-claim-template"
_REQUEST: Final = "req-0"
_DEVICES: Final = {"requests": [{"name": _REQUEST, "exactly": {"deviceClassName": _CLASS}}]}


def claims(size: Size) -> Sequence[Operation]:
    """Pods with a claim from a template to one device each; at the end all devices are in use."""
    each = -(-(size.init + size.pods) // max(size.nodes, 1))
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    classes = _manifest("DeviceClass", _CLASS, {"selectors": [selector]})
    template = _manifest("ResourceClaimTemplate", _TEMPLATE, {"spec": {"devices": _DEVICES}}, "default")
    by_template = [{"name": "device", "resourceClaimTemplateName": _TEMPLATE}]

    def running(i: int) -> Any:
        own = [{"name": "device", "resourceClaimName": _running(i)}]
        return make_pod(_running(i), node=home_of(i, size.nodes), resourceClaims=own)

    return (
        Create("nodes", size.nodes, make_node),
        Create("slices", size.nodes, lambda i: node_slice(DRIVER, node_name(i), each)),
        Create("class and template", 2, (classes, template).__getitem__),
        Create("allocated claims", size.init, lambda i: _allocated(i, size)),
        Create("running pods", size.init, running),
        StartClaimController(),
        SchedulePods(size.pods, lambda i: make_pod(f"pod-{i:06d}", resourceClaims=by_template)),
    )


def _running(i: int) -> str:
    return f"running-{i:06d}"


def _allocated(i: int, size: Size) -> Any:
    """Return the claim of the i-th running pod, allocated to the next device of its node."""
    node = home_of(i, size.nodes)
    result = {
        "request": _REQUEST,
        "driver": DRIVER,
        "pool": node,
        "device": device_name(i // max(size.nodes, 1)),
    }
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    allocation = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }
    status = {
        "allocation": allocation,
        "reservedFor": [{"resource": "pods", "name": _running(i), "uid": "-"}],
    }
    return {**_manifest("ResourceClaim", _running(i), {"devices": _DEVICES}, "default"), "status": status}


def _manifest(kind: str, name: str, spec: Mapping[str, Any], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": RESOURCE_API, "kind": kind, "metadata": metadata, "spec": spec}
