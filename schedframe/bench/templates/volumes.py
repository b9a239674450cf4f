"""Workloads of pods with volumes, with objects like those in the folder ``volumes`` of scheduler_perf.

Every pod has a volume of its own, which is bound to its claim before the pod is created.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..._base.value import record
from ...api import BIND_COMPLETED, from_manifest
from ..objects import home_of, make_node, make_pod, node_name
from ..operations import Create, Operation, SchedulePods
from ..options import Size

Manifest = Mapping[str, Any]

DRIVER: Final = "ebs.csi.aws.com"
IN_TREE: Final = "kubernetes.io/aws-ebs"
VOLUMES_PER_NODE: Final = 39
_MIGRATED: Final = "storage.alpha.kubernetes.io/migrated-plugins"
_OBJECTS_PER_POD: Final = 2
_STORAGE: Final = {"storage": "1Gi"}


def secrets(size: Size) -> Sequence[Operation]:
    """Pods with a secret: a volume that no plugin looks at."""
    volumes = [{"name": "secret", "secret": {"secretName": "secret"}}]

    def running(i: int) -> Any:
        return make_pod(f"running-{i:06d}", node=home_of(i, size.nodes), volumes=volumes)

    return (
        Create("nodes", size.nodes, make_node),
        Create("running pods", size.init, running),
        SchedulePods(size.pods, lambda i: make_pod(f"pod-{i:06d}", volumes=volumes)),
    )


def csi(size: Size) -> Sequence[Operation]:
    """Pods with volumes of a CSI driver that limits the number of volumes per node."""
    return _with_claims(size, _csi_source, "")


def migrated(size: Size) -> Sequence[Operation]:
    """Pods with volumes of the in-tree plugin that the CSI driver has replaced."""
    return _with_claims(size, _in_tree_source, IN_TREE)


def _csi_source(name: str) -> Manifest:
    return {"csi": {"driver": DRIVER, "volumeHandle": name}}


def _in_tree_source(name: str) -> Manifest:
    return {"awsElasticBlockStore": {"volumeID": name}}


def _with_claims(size: Size, source: Callable[[str], Manifest], migrated_plugins: str) -> Sequence[Operation]:
    first, second = _Storage("running", source), _Storage("pod", source)
    return (
        Create("nodes", size.nodes, make_node),
        Create("CSINodes", size.nodes, lambda i: _csi_node(node_name(i), migrated_plugins)),
        Create("volumes and claims", _OBJECTS_PER_POD * size.init, first.make),
        Create("running pods", size.init, lambda i: first.pod(i, home_of(i, size.nodes))),
        Create("volumes and claims", _OBJECTS_PER_POD * size.pods, second.make),
        SchedulePods(size.pods, lambda i: second.pod(i, "")),
    )


def _csi_node(name: str, migrated_plugins: str) -> Any:
    driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": VOLUMES_PER_NODE}}
    return from_manifest(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {
                "name": name,
                "annotations": {_MIGRATED: migrated_plugins} if migrated_plugins else {},
            },
            "spec": {"drivers": [driver]},
        }
    )


@record(frozen=True)
class _Storage:
    """Volumes, claims that are bound to them, and pods that use these; equal numbers belong together."""

    prefix: str
    source: Callable[[str], Manifest]

    def make(self, i: int) -> Any:
        """Return the i-th object: each volume is followed by its claim."""
        number, is_claim = divmod(i, _OBJECTS_PER_POD)
        return from_manifest(self._claim(number) if is_claim else self._volume(number))

    def pod(self, i: int, node: str) -> Any:
        """Return the i-th pod."""
        source = {"name": "vol", "persistentVolumeClaim": {"claimName": self._claim_name(i)}}
        return make_pod(f"{self.prefix}-{i:06d}", node=node, volumes=[source])

    def _claim_name(self, i: int) -> str:
        return f"claim-{self.prefix}-{i:06d}"

    def _volume_name(self, i: int) -> str:
        return f"volume-{self.prefix}-{i:06d}"

    def _volume(self, i: int) -> Manifest:
        name = self._volume_name(i)
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadOnlyMany"],
                "capacity": _STORAGE,
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": "default",
                    "name": self._claim_name(i),
                },
                **self.source(name),
            },
            "status": {"phase": "Bound"},
        }

    def _claim(self, i: int) -> Manifest:
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": self._claim_name(i),
                "namespace": "default",
                "annotations": {BIND_COMPLETED: "true"},
            },
            "spec": {
                "accessModes": ["ReadOnlyMany"],
                "resources": {"requests": _STORAGE},
                "volumeName": self._volume_name(i),
            },
            "status": {"phase": "Bound"},
        }
