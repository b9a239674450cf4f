"""Volumes of a pod and their claims, as far as scheduling reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import field

from .._base.value import default_of, value
from ._wire import EMPTY, wire
from .affinity import LabelSelector
from .fieldcodecs import AMOUNTS
from .metadata import NO_META, ObjectMeta
from .quantity import Quantity


@value(weakref_slot=False)
class VolumeResources:
    """The amount of storage that a claim requests; ``requests["storage"]`` in bytes."""

    requests: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    limits: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)


@value(weakref_slot=False)
class PersistentVolumeClaimSpec:
    """The spec of a claim. ``storage_class_name`` ``None`` means the default class, an empty one no class."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResources = default_of(VolumeResources)
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


NO_CLAIM_SPEC: Final = PersistentVolumeClaimSpec()


@value(weakref_slot=False)
class PersistentVolumeClaimTemplate:
    """The claim that is created for an ephemeral volume and lives as long as its pod."""

    metadata: ObjectMeta = NO_META
    spec: PersistentVolumeClaimSpec = field(default=NO_CLAIM_SPEC, metadata=wire(always=True))


@value(weakref_slot=False)
class ClaimVolumeSource:
    """A volume of the claim ``claim_name`` in the pod's namespace."""

    claim_name: str = field(default="", metadata=wire(always=True, unique=True))
    read_only: bool = False


@value(weakref_slot=False)
class EphemeralVolumeSource:
    """A volume of a claim that is created for this pod and named ``<pod>-<volume>``."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


@value(weakref_slot=False)
class CSIVolumeSource:
    """A volume that a CSI driver creates for this pod, without a claim."""

    driver: str = field(default="", metadata=wire(always=True))
    read_only: bool | None = None
    volume_attributes: Mapping[str, str] = EMPTY


@value(weakref_slot=False)
class GCEPersistentDisk:
    """A disk of Google Compute Engine."""

    pd_name: str = field(default="", metadata=wire(always=True))
    fs_type: str = ""
    partition: int = field(default=0, metadata=wire(bits=32))
    read_only: bool = False


@value(weakref_slot=False)
class AWSElasticBlockStore:
    """A disk of AWS."""

    volume_id: str = field(default="", metadata=wire("volumeID", always=True))
    fs_type: str = ""
    partition: int = field(default=0, metadata=wire(bits=32))
    read_only: bool = False


@value(weakref_slot=False)
class ISCSIVolume:
    """An iSCSI disk."""

    target_portal: str = field(default="", metadata=wire(always=True))
    iqn: str = field(default="", metadata=wire(always=True))
    lun: int = field(default=0, metadata=wire(bits=32, always=True))
    fs_type: str = ""
    read_only: bool = False


@value(weakref_slot=False)
class RBDVolume:
    """A block device of Ceph."""

    monitors: tuple[str, ...] = field(default=(), metadata=wire(always=True))
    image: str = field(default="", metadata=wire(always=True))
    pool: str = ""
    user: str = ""
    keyring: str = ""
    fs_type: str = ""
    read_only: bool = False


@value(weakref_slot=False)
class AzureDisk:
    """A disk of Azure."""

    disk_name: str = field(default="", metadata=wire(always=True))
    disk_uri: str = field(default="", metadata=wire("diskURI", always=True))
    kind: str | None = None
    read_only: bool | None = None


@value(weakref_slot=False)
class CinderVolume:
    """A disk of OpenStack."""

    volume_id: str = field(default="", metadata=wire("volumeID", always=True))
    fs_type: str = ""
    read_only: bool = False


@value(weakref_slot=False)
class VsphereVolume:
    """A disk of vSphere."""

    volume_path: str = field(default="", metadata=wire(always=True))
    fs_type: str = ""


@value(weakref_slot=False)
class PortworxVolume:
    """A volume of Portworx."""

    volume_id: str = field(default="", metadata=wire("volumeID", always=True))
    fs_type: str = ""
    read_only: bool = False


@value(weakref_slot=False)
class AzureFile:
    """A file share of Azure."""

    share_name: str = field(default="", metadata=wire(always=True))
    secret_name: str = field(default="", metadata=wire(always=True))
    read_only: bool = False


@value(weakref_slot=False)
class ImageVolumeSource:
    """An image mounted as a volume; its reference counts for image locality."""

    reference: str = ""
    pull_policy: str = ""


@value(weakref_slot=False)
class HostPathVolume:
    """A path of the node."""

    path: str = field(default="", metadata=wire(always=True))
    type: str | None = None


@value(weakref_slot=False)
class NFSVolume:
    """An NFS share."""

    server: str = field(default="", metadata=wire(always=True))
    path: str = field(default="", metadata=wire(always=True))
    read_only: bool = False


@value(weakref_slot=False)
class ConfigMapVolume:
    """A config map mounted as files."""

    name: str = ""


@value(weakref_slot=False)
class EmptyDirVolume:
    """A folder of the node that goes with the pod; ``medium``: Memory keeps it there."""

    medium: str = ""


@value(weakref_slot=False)
class Volume:
    """A volume of a pod: at most one source is set. Sources that say nothing about places are dropped."""

    name: str = field(default="", metadata=wire(always=True, unique=True))
    persistent_volume_claim: ClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    iscsi: ISCSIVolume | None = None
    rbd: RBDVolume | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: CinderVolume | None = None
    vsphere_volume: VsphereVolume | None = None
    portworx_volume: PortworxVolume | None = None
    image: ImageVolumeSource | None = None
    host_path: HostPathVolume | None = None
    nfs: NFSVolume | None = None
    config_map: ConfigMapVolume | None = None
    empty_dir: EmptyDirVolume | None = None
