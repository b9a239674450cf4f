"""The kinds that the server serves, and where: those that schedframe reads, leases and events."""

from __future__ import annotations

from typing import Final

from ..._base.value import record


@record(frozen=True)
class ServedKind:
    """One kind, and its place in the API."""

    api_version: str
    """``v1`` or ``GROUP/VERSION``."""
    plural: str
    kind: str
    namespaced: bool = True
    has_status: bool = False
    """Whether the status has a path of its own, which other writes leave alone."""
    is_custom: bool = False
    """Whether it comes from a CustomResourceDefinition: strategic merge patches are refused."""

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def base(self) -> str:
        """``/api/v1`` or ``/apis/GROUP/VERSION``."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"

    @property
    def qualified(self) -> str:
        """``plural.group``, as in messages of the server."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def key(self, namespace: str, name: str) -> str:
        """Return ``namespace/name``, or the name of an object without a namespace."""
        return f"{namespace}/{name}" if self.namespaced else name


_CLUSTER_WIDE: Final = False

BUILT_IN: Final = (
    ServedKind("v1", "pods", "Pod", has_status=True),
    ServedKind("v1", "nodes", "Node", _CLUSTER_WIDE, has_status=True),
    ServedKind("v1", "namespaces", "Namespace", _CLUSTER_WIDE, has_status=True),
    ServedKind("v1", "services", "Service", has_status=True),
    ServedKind("v1", "replicationcontrollers", "ReplicationController", has_status=True),
    ServedKind("v1", "persistentvolumes", "PersistentVolume", _CLUSTER_WIDE, has_status=True),
    ServedKind("v1", "persistentvolumeclaims", "PersistentVolumeClaim", has_status=True),
    ServedKind("v1", "limitranges", "LimitRange"),
    ServedKind("v1", "resourcequotas", "ResourceQuota", has_status=True),
    ServedKind("apps/v1", "replicasets", "ReplicaSet", has_status=True),
    ServedKind("apps/v1", "statefulsets", "StatefulSet", has_status=True),
    ServedKind("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", _CLUSTER_WIDE),
    ServedKind("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", has_status=True),
    ServedKind("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", _CLUSTER_WIDE),
    ServedKind("storage.k8s.io/v1", "storageclasses", "StorageClass", _CLUSTER_WIDE),
    ServedKind("storage.k8s.io/v1", "csinodes", "CSINode", _CLUSTER_WIDE),
    ServedKind("storage.k8s.io/v1", "csidrivers", "CSIDriver", _CLUSTER_WIDE),
    ServedKind("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity"),
    ServedKind("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", _CLUSTER_WIDE, has_status=True),
    ServedKind("resource.k8s.io/v1", "resourceclaims", "ResourceClaim", has_status=True),
    ServedKind("resource.k8s.io/v1", "resourceclaimtemplates", "ResourceClaimTemplate"),
    ServedKind("resource.k8s.io/v1", "resourceslices", "ResourceSlice", _CLUSTER_WIDE),
    ServedKind("resource.k8s.io/v1", "deviceclasses", "DeviceClass", _CLUSTER_WIDE),
    ServedKind("coordination.k8s.io/v1", "leases", "Lease"),
    ServedKind("events.k8s.io/v1", "events", "Event"),
)
"""The kinds that every server serves."""
