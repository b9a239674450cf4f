"""Workloads of pods with claims to devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from ..api import ResourceSlice, from_manifest
from ..simulate import ClaimController
from .objects import make_node, make_pod, node_name
from .sizes import Size
from .workload import Arena, Create, Operation, SchedulePods

DRIVER: Final = "test-driver.cdi.k8s.io"
_API: Final = "resource.k8s.io/v1"
_CLASS: Final = "test-class"
_TEMPLATE: Final = "test-claim-template"
_REQUEST: Final = "req-0"
_DEVICES: Final = {"requests": [{"name": _REQUEST, "exactly": {"deviceClassName": _CLASS}}]}


def node_slice(driver: str, node: str, count: int) -> ResourceSlice:
    """The devices of one node, as scheduler_perf makes them up."""
    devices = [
        {
            "name": device_name(i),
            "attributes": {
                "model": {"string": "A100"},
                "family": {"string": "GPU"},
                "driverVersion": {"version": "1.2.3"},
                "dra.example.com/numa": {"int": i},
            },
            "capacity": {"memory": {"value": "1Gi"}},
        }
        for i in range(count)
    ]
    pool = {"name": node, "resourceSliceCount": 1, "generation": 1}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": devices}
    made = from_manifest(_manifest("ResourceSlice", node, spec))
    assert isinstance(made, ResourceSlice)
    return made


def device_name(i: int) -> str:
    """Of the i-th device of a node."""
    return f"instance-{i}"


@frozen
class MakeClaims:
    """From now on pods get the claims that they want by template."""

    def run(self, arena: Arena) -> None:
        """Begin."""
        ClaimController(arena.cluster)


def claims(size: Size) -> Sequence[Operation]:
    """Each pod has a claim from a template to one device; in the end all devices are in use."""
    each = -(-(size.init + size.pods) // max(size.nodes, 1))
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    classes = _manifest("DeviceClass", _CLASS, {"selectors": [selector]})
    template = _manifest("ResourceClaimTemplate", _TEMPLATE, {"spec": {"devices": _DEVICES}}, "default")
    by_template = [{"name": "device", "resourceClaimTemplateName": _TEMPLATE}]

    def running(i: int) -> Any:
        own = [{"name": "device", "resourceClaimName": _running(i)}]
        return make_pod(_running(i), node=node_name(i % size.nodes), resourceClaims=own)

    return (
        Create("nodes", size.nodes, make_node),
        Create("slices", size.nodes, lambda i: node_slice(DRIVER, node_name(i), each)),
        Create("class and template", 2, (classes, template).__getitem__),
        Create("allocated claims", size.init, lambda i: _allocated(i, size)),
        Create("running pods", size.init, running),
        MakeClaims(),
        SchedulePods(size.pods, lambda i: make_pod(f"pod-{i:06d}", resourceClaims=by_template)),
    )


def _running(i: int) -> str:
    return f"running-{i:06d}"


def _allocated(i: int, size: Size) -> Any:
    """The claim of the i-th running pod, with the next device of its node."""
    node = node_name(i % size.nodes)
    result = {"request": _REQUEST, "driver": DRIVER, "pool": node, "device": device_name(i // size.nodes)}
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
    return {"apiVersion": _API, "kind": kind, "metadata": metadata, "spec": spec}
