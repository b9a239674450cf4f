"""New volumes, and what they take from the storage that drivers report."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import NAMESPACE_OID, uuid5

from attrs import evolve

from ...api import (
    STORAGE,
    CSIDriver,
    CSIPersistentVolume,
    CSIStorageCapacity,
    Node,
    ObjectMeta,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    Quantity,
    StorageClass,
    compile_label_selector,
)
from ...errors import InputError
from ..lookup import PROVISIONED_BY, Lookup
from .drivers import driver_of
from .matching import requested
from .topology import Place


def name_of_new_volume(claim: PersistentVolumeClaim, cluster: Lookup) -> str:
    """Return the name of the volume that is made for *claim*: the same for equal manifests in any order."""
    name = f"pvc-{uuid5(NAMESPACE_OID, claim.key)}"
    # that of a former claim of this name may have been kept
    return name if cluster.get(PersistentVolume.KIND, name) is None else f"pvc-{claim.uid}"


def new_volume(
    name: str, claim: PersistentVolumeClaim, made_by: StorageClass, place: Place
) -> PersistentVolume:
    """Return the volume that the provisioner of the class makes for *claim* in *place*."""
    amount = claim.spec.resources.requests.get(STORAGE)
    reference = ObjectReference(claim.KIND, claim.namespace, claim.name, claim.uid, claim.API_VERSION)
    spec = PersistentVolumeSpec(
        capacity={} if amount is None else {STORAGE: amount},
        access_modes=claim.spec.access_modes,
        claim_ref=reference,
        storage_class_name=made_by.name,
        volume_mode=claim.spec.volume_mode,
        node_affinity=place.affinity(),
        volume_attributes_class_name=claim.spec.volume_attributes_class_name,
        persistent_volume_reclaim_policy=made_by.reclaim_policy or "Delete",
        csi=CSIPersistentVolume(driver_of(made_by.provisioner), name),
    )
    metadata = ObjectMeta(name=name, annotations={PROVISIONED_BY: made_by.provisioner})
    return PersistentVolume(metadata, spec, PersistentVolumeStatus("Bound"))


def shrunk_capacities(
    claim: PersistentVolumeClaim, made_by: StorageClass, node: Node, cluster: Lookup
) -> Iterator[CSIStorageCapacity]:
    """Return the storage of the class that *node* has access to, less the volume of *claim*.

    A driver reports what is left after each volume; the scheduler asks it for the next one.
    """
    driver: CSIDriver | None = cluster.get(CSIDriver.KIND, driver_of(made_by.provisioner))
    if driver is None or not driver.spec.storage_capacity:
        return
    for each in cluster.list(CSIStorageCapacity.KIND):
        if each.storage_class_name != made_by.name or each.capacity is None or not _serves(each, node):
            continue
        left = Quantity(max(0, each.capacity.nano - requested(claim)), each.capacity.format)
        yield evolve(each, capacity=left)


def _serves(capacity: CSIStorageCapacity, node: Node) -> bool:
    if capacity.node_topology is None:
        return False
    try:
        return compile_label_selector(capacity.node_topology).matches(node.labels)
    except InputError:
        return False  # a selector that cannot be read gives no node access
