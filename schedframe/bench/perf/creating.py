"""Nodes and pods as scheduler_perf makes them from templates, with their CSINodes, volumes and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ...api import Pod, from_manifest
from .definitions import Fields
from .files import Manifest, ObjectTemplate
from .step import Step

MIGRATED: Final = "storage.alpha.kubernetes.io/migrated-plugins"
HOSTNAME: Final = "kubernetes.io/hostname"
DEFAULT_NODE: Final[Manifest] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"generateName": "scheduler-perf-"},
    "status": {"capacity": {"pods": "110", "cpu": "4", "memory": "32Gi"}},
}
DEFAULT_POD: Final[Manifest] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "pod-"},
    "spec": {
        "containers": [
            {
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10.2",
                "ports": [{"containerPort": 80}],
                "resources": {
                    "limits": {"cpu": "100m", "memory": "500Mi"},
                    "requests": {"cpu": "100m", "memory": "500Mi"},
                },
            }
        ]
    },
}


def make_nodes(fields: Fields, template: ObjectTemplate, next_number: Callable[[], int]) -> Iterator[Any]:
    """Yield the nodes of a createNodes operation, each followed by its CSINode if it has one."""
    count = fields.number("count")
    prepare = _preparation(fields)
    strategy = fields.nested("nodeAllocatableStrategy")
    drivers, migrated = strategy.mapping("csiNodeAllocatable"), strategy.texts("migratedPlugins")
    for i in range(count):
        names: list[str] = []

        def change(manifest: Manifest, i: int = i, names: list[str] = names) -> None:
            metadata = manifest["metadata"]
            name = metadata.get("name") or f"{metadata.get('generateName', 'node-')}{next_number():05d}"
            metadata["name"] = name
            metadata["labels"] = {**(metadata.get("labels") or {}), HOSTNAME: name}
            prepare(manifest, i)
            names.append(name)

        yield template.make(i, count, change)
        if drivers:
            yield _csi_node(names[0], drivers, migrated)


def _preparation(fields: Fields) -> Callable[[Manifest, int], None]:
    """Return the function by which the strategy of a createNodes operation changes the i-th node."""
    label, unique = fields.nested("labelNodePrepareStrategy"), fields.nested("uniqueNodeLabelStrategy")
    allocatable = fields.nested("nodeAllocatableStrategy").mapping("nodeAllocatable")
    values = label.texts("labelValues")

    def prepare(manifest: Manifest, i: int) -> None:
        labels = manifest["metadata"]["labels"]
        if values:
            labels[label.required("labelKey")] = values[i % len(values)]
        if unique.data:
            labels[unique.required("labelKey")] = f"unique-{i}"
        if allocatable:
            status = manifest["status"]
            status["allocatable"] = {**status["capacity"], **status.get("allocatable", {}), **allocatable}

    return prepare


def _csi_node(name: str, drivers: Mapping[str, Any], migrated: Iterable[str]) -> Any:
    listed = [
        {"name": driver, "nodeID": name, "allocatable": dict(limits or {})}
        for driver, limits in drivers.items()
    ]
    return from_manifest(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": name, "annotations": {MIGRATED: ",".join(migrated)}},
            "spec": {"drivers": listed},
        }
    )


def make_pods(step: Step, template: ObjectTemplate, namespace: str) -> Iterator[Any]:
    """Yield the pods of a createPods operation, each after its volume and claim if it has any."""
    count = step.fields.number("count")
    volume = step.optional_template("persistentVolumeTemplatePath")
    claim = step.optional_template("persistentVolumeClaimTemplatePath")
    for i in range(count):
        claim_name, volume_name = f"pvc-{i}", f"pv-{namespace}-{i}"
        if volume is not None and claim is not None:
            yield volume.make(i, count, _bound_volume(volume_name, claim_name, namespace))
            yield claim.make(i, count, _bound_claim(volume_name, claim_name, namespace))

        def change(manifest: Manifest, claim_name: str = claim_name) -> None:
            manifest["metadata"]["namespace"] = namespace
            if claim is not None:
                source = {"name": "vol", "persistentVolumeClaim": {"claimName": claim_name}}
                manifest["spec"]["volumes"] = [source]

        yield template.make(i, count, change)


def _bound_volume(name: str, claim: str, namespace: str) -> Callable[[Manifest], None]:
    def change(manifest: Manifest) -> None:
        manifest["metadata"]["name"] = name
        spec = manifest["spec"]
        spec["claimRef"] = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": namespace,
            "name": claim,
        }
        for source, identity in (("csi", "volumeHandle"), ("awsElasticBlockStore", "volumeID")):
            if source in spec:
                spec[source] = {**spec[source], identity: name}
        manifest["status"]["phase"] = "Bound"

    return change


def _bound_claim(volume: str, name: str, namespace: str) -> Callable[[Manifest], None]:
    def change(manifest: Manifest) -> None:
        manifest["metadata"] |= {"name": name, "namespace": namespace}
        manifest["spec"]["volumeName"] = volume
        manifest["status"]["phase"] = "Bound"

    return change


def needed_plugin(pod: Pod) -> str | None:
    """Return the plugin without which *pod* cannot be scheduled properly; ``None`` if it needs none."""
    if pod.spec.resource_claims:
        return "DynamicResources"
    if any(volume.persistent_volume_claim is not None for volume in pod.spec.volumes):
        return "VolumeBinding"
    return None
