"""Persistent volumes, claims, storage classes and drivers, as far as scheduling reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from attrs import field

from .._base.value import default_of, value
from ._wire import EMPTY, wire
from .affinity import LabelSelector, NodeSelector, within
from .fieldcodecs import AMOUNTS
from .metadata import NO_META, ClusterObject, Condition, NamespacedObject, ObjectMeta
from .quantity import Quantity
from .volumes import (
    NO_CLAIM_SPEC,
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    CinderVolume,
    GCEPersistentDisk,
    HostPathVolume,
    ISCSIVolume,
    NFSVolume,
    PersistentVolumeClaimSpec,
    PortworxVolume,
    RBDVolume,
    VsphereVolume,
)

WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
"""``volume_binding_mode`` of classes whose claims are bound when their pod is scheduled."""
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
"""Provisioner of classes whose volumes people make."""
STORAGE: Final = "storage"
"""Name of the only resource of claims and volumes."""
STORAGE_CLASS_BETA: Final = "volume.beta.kubernetes.io/storage-class"
"""Annotation of a claim or volume with its storage class, older than the field."""
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
"""Annotation of a claim: the volume controller has confirmed its volume."""
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
"""Annotation of a claim or volume: the other one was not named by people."""
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""Annotation of a claim: the scheduler wants its volume for that node."""


@value(weakref_slot=False)
class CSIPersistentVolume:
    """A volume of a CSI driver, identified by driver and handle."""

    driver: str = field(default="", metadata=wire(always=True))
    volume_handle: str = field(default="", metadata=wire(always=True, unique=True))
    read_only: bool = False
    volume_attributes: Mapping[str, str] = EMPTY


@value(weakref_slot=False)
class LocalVolume:
    """A disk or folder of one node."""

    path: str = field(default="", metadata=wire(always=True))


@value(weakref_slot=False)
class ObjectReference:
    """A reference to an object by name and, if set, by uid."""

    kind: str = ""
    namespace: str = ""
    name: str = field(default="", metadata=wire(unique=True))
    uid: str = field(default="", metadata=wire(unique=True))
    api_version: str = ""


@value(weakref_slot=False)
class VolumeNodeAffinity:
    """The nodes from which the volume can be used."""

    required: NodeSelector | None = None

    def _check_manifest(self) -> None:
        if self.required is not None:
            with within("required"):
                self.required.check()


@value(weakref_slot=False)
class PersistentVolumeSpec:
    """The spec of a volume. ``capacity["storage"]`` is in bytes, ``claim_ref`` its claim."""

    capacity: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    persistent_volume_reclaim_policy: str = ""
    csi: CSIPersistentVolume | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: CinderVolume | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: VsphereVolume | None = None
    iscsi: ISCSIVolume | None = None
    rbd: RBDVolume | None = None
    nfs: NFSVolume | None = None
    host_path: HostPathVolume | None = None
    local: LocalVolume | None = None


@value(weakref_slot=False)
class PersistentVolumeStatus:
    """The status of a volume; ``phase`` is Pending, Available, Bound, Released or Failed."""

    phase: str = ""


@value(weakref_slot=False)
class PersistentVolume(ClusterObject):
    """A volume of the cluster."""

    KIND: ClassVar[str] = "PersistentVolume"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: PersistentVolumeSpec = default_of(PersistentVolumeSpec)
    status: PersistentVolumeStatus = default_of(PersistentVolumeStatus)

    @property
    def storage_class(self) -> str:
        """The storage class, from the annotation or the field; empty for none."""
        annotated = self.metadata.annotations.get(STORAGE_CLASS_BETA)
        return self.spec.storage_class_name if annotated is None else annotated

    def is_reserved_for(self, claim: PersistentVolumeClaim) -> bool:
        """Return whether the claim reference is *claim*, by name and, if given, by uid."""
        reference = self.spec.claim_ref
        return (
            reference is not None
            and reference.name == claim.name
            and reference.namespace == claim.namespace
            and reference.uid in ("", claim.uid)
        )


@value(weakref_slot=False)
class PersistentVolumeClaimStatus:
    """The status of a claim; ``phase`` is Pending, Bound or Lost."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    conditions: tuple[Condition, ...] = ()
    current_volume_attributes_class_name: str | None = None


@value(weakref_slot=False)
class PersistentVolumeClaim(NamespacedObject):
    """A request for storage."""

    KIND: ClassVar[str] = "PersistentVolumeClaim"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: PersistentVolumeClaimSpec = NO_CLAIM_SPEC
    status: PersistentVolumeClaimStatus = default_of(PersistentVolumeClaimStatus)

    @property
    def storage_class(self) -> str:
        """The storage class, from the annotation or the field; empty for none."""
        annotated = self.metadata.annotations.get(STORAGE_CLASS_BETA)
        return (self.spec.storage_class_name or "") if annotated is None else annotated

    @property
    def is_fully_bound(self) -> bool:
        """Return whether the claim has its volume and the volume controller has confirmed it."""
        return bool(self.spec.volume_name) and BIND_COMPLETED in self.metadata.annotations


@value(weakref_slot=False)
class TopologySelectorLabelRequirement:
    """A label of the node and its accepted values."""

    key: str = field(default="", metadata=wire(always=True))
    values: tuple[str, ...] = field(default=(), metadata=wire(always=True))


@value(weakref_slot=False)
class TopologySelectorTerm:
    """All expressions must hold."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


@value(weakref_slot=False)
class StorageClass(ClusterObject):
    """A class of volumes. An empty ``volume_binding_mode`` means Immediate."""

    KIND: ClassVar[str] = "StorageClass"
    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META
    provisioner: str = field(default="", metadata=wire(always=True))
    parameters: Mapping[str, str] = EMPTY
    reclaim_policy: str = ""
    allow_volume_expansion: bool | None = None
    volume_binding_mode: str = ""
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


@value(weakref_slot=False)
class VolumeNodeResources:
    """The maximum of volumes of the driver on the node; ``None`` is no limit."""

    count: int | None = field(default=None, metadata=wire(bits=32))


@value(weakref_slot=False)
class CSINodeDriver:
    """A driver that runs on the node."""

    name: str = field(default="", metadata=wire(always=True))
    node_id: str = field(default="", metadata=wire("nodeID", always=True, unique=True))
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


@value(weakref_slot=False)
class CSINodeSpec:
    """The drivers of the node."""

    drivers: tuple[CSINodeDriver, ...] = field(default=(), metadata=wire(always=True))


@value(weakref_slot=False)
class CSINode(ClusterObject):
    """The CSI drivers of a node; it has the name of the node."""

    KIND: ClassVar[str] = "CSINode"
    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: CSINodeSpec = field(default=default_of(CSINodeSpec), metadata=wire(always=True))


@value(weakref_slot=False)
class CSIDriverSpec:
    """The spec of a driver; with ``storage_capacity`` it reports its capacity."""

    attach_required: bool | None = None
    pod_info_on_mount: bool | None = None
    storage_capacity: bool | None = None


@value(weakref_slot=False)
class CSIDriver(ClusterObject):
    """A CSI driver of the cluster."""

    KIND: ClassVar[str] = "CSIDriver"
    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: CSIDriverSpec = field(default=default_of(CSIDriverSpec), metadata=wire(always=True))


@value(weakref_slot=False)
class CSIStorageCapacity(NamespacedObject):
    """The capacity of a storage class on the nodes of a topology."""

    KIND: ClassVar[str] = "CSIStorageCapacity"
    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    node_topology: LabelSelector | None = None
    storage_class_name: str = field(default="", metadata=wire(always=True))
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


@value(weakref_slot=False)
class VolumeAttachmentSource:
    """The volume, by name or in full."""

    persistent_volume_name: str | None = field(default=None, metadata=wire(unique=True))
    inline_volume_spec: PersistentVolumeSpec | None = None


@value(weakref_slot=False)
class VolumeAttachmentSpec:
    """The volume to attach, the node and the driver."""

    attacher: str = field(default="", metadata=wire(always=True))
    source: VolumeAttachmentSource = field(
        default=default_of(VolumeAttachmentSource), metadata=wire(always=True)
    )
    node_name: str = field(default="", metadata=wire(always=True))


@value(weakref_slot=False)
class VolumeAttachmentStatus:
    """State of an attachment."""

    attached: bool = field(default=False, metadata=wire(always=True))


@value(weakref_slot=False)
class VolumeAttachment(ClusterObject):
    """A volume that is attached, or to be attached, to a node."""

    KIND: ClassVar[str] = "VolumeAttachment"
    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: VolumeAttachmentSpec = field(default=default_of(VolumeAttachmentSpec), metadata=wire(always=True))
    status: VolumeAttachmentStatus = default_of(VolumeAttachmentStatus)
