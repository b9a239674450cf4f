"""Short constructors of storage objects, and a volume controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field

from schedframe import CycleState, InMemoryCluster, Status
from schedframe.api import (
    WAIT_FOR_FIRST_CONSUMER,
    AWSElasticBlockStore,
    ClaimVolumeSource,
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIPersistentVolume,
    CSIStorageCapacity,
    EphemeralVolumeSource,
    LabelSelector,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeStatus,
    ObjectMeta,
    ObjectReference,
    OwnerReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    Pod,
    PodSpec,
    Quantity,
    StorageClass,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
    Volume,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
    VolumeNodeAffinity,
    VolumeNodeResources,
    VolumeResources,
    parse_quantity,
)
from schedframe.cluster import WatchEvent
from tests.plugins.agreement import OPEN, StandInHandle, call, columnar_statuses, per_node_statuses

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
DRIVER = "disks.example.com"


def make_node(name: str = "n", zone: str = "", **labels: str) -> Node:
    """Return a node with host name and zone as labels."""
    zones = {ZONE: zone} if zone else {}
    metadata = ObjectMeta(name=name, uid=name, labels={HOSTNAME: name, **zones, **labels})
    return Node(metadata, status=NodeStatus(allocatable={"pods": Quantity.of(110), "cpu": Quantity.of(64)}))


def make_pod(
    *claims: str,
    name: str = "p",
    node: str = "",
    namespace: str = "default",
    volumes: Sequence[Volume] = (),
    ephemeral: Sequence[str] = (),
    nominated: str = "",
) -> Pod:
    """Return a pod with claims, disks (*volumes*) and ephemeral volumes of those names."""
    named = (Volume(f"v{i}", persistent_volume_claim=ClaimVolumeSource(c)) for i, c in enumerate(claims))
    made = (Volume(each, ephemeral=EphemeralVolumeSource()) for each in ephemeral)
    pod = Pod(
        ObjectMeta(name=name, namespace=namespace, uid=f"{namespace}-{name}"),
        PodSpec(node_name=node, volumes=(*named, *volumes, *made)),
    )
    return pod.with_status(nominated_node_name=nominated) if nominated else pod


def make_class(
    name: str = "wait",
    provisioner: str = DRIVER,
    mode: str = WAIT_FOR_FIRST_CONSUMER,
    topologies: Sequence[Mapping[str, Sequence[str]]] = (),
) -> StorageClass:
    """Return a storage class; each of *topologies* is a term: label key → values."""
    terms = tuple(
        TopologySelectorTerm(
            tuple(TopologySelectorLabelRequirement(key, tuple(values)) for key, values in term.items())
        )
        for term in topologies
    )
    return StorageClass(
        ObjectMeta(name=name, uid=name),
        provisioner=provisioner,
        volume_binding_mode=mode,
        allowed_topologies=terms,
    )


def make_claim(
    name: str = "c",
    storage_class: str | None = "wait",
    size: str = "10Gi",
    *,
    volume: str = "",
    bound: bool = True,
    namespace: str = "default",
    modes: Sequence[str] = ("ReadWriteOnce",),
    phase: str = "",
    selected: str = "",
    owner: str = "",
    annotations: Mapping[str, str] | None = None,
    deleted: bool = False,
    uid: str = "",
    version: str = "1",
    selector: LabelSelector | None = None,
    **spec: Any,
) -> PersistentVolumeClaim:
    """Return a claim with *volume*, confirmed unless *bound* is false."""
    notes = dict(annotations or {})
    if volume and bound:
        notes[BIND_COMPLETED] = "yes"
    if selected:
        notes[SELECTED_NODE] = selected
    return PersistentVolumeClaim(
        ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"{namespace}-{name}",
            annotations=notes,
            resource_version=version,
            deletion_timestamp=1.0 if deleted else None,
            owner_references=(OwnerReference("v1", "Pod", "p", owner, True),) if owner else (),
        ),
        PersistentVolumeClaimSpec(
            access_modes=tuple(modes),
            resources=VolumeResources({"storage": parse_quantity(size)} if size else {}),
            volume_name=volume,
            storage_class_name=storage_class,
            selector=selector,
            **spec,
        ),
        PersistentVolumeClaimStatus(phase=phase or ("Bound" if volume else "Pending")),
    )


def affinity(*terms: Mapping[str, Sequence[str]]) -> VolumeNodeAffinity:
    """Return the affinity for nodes that satisfy a term: label key → values."""
    return VolumeNodeAffinity(
        NodeSelector(
            tuple(
                NodeSelectorTerm(
                    tuple(NodeSelectorRequirement(key, "In", tuple(values)) for key, values in term.items())
                )
                for term in terms
            )
        )
    )


def make_volume(
    name: str = "v",
    storage_class: str = "wait",
    size: str = "10Gi",
    *,
    only: Mapping[str, Sequence[str]] | None = None,
    claim: PersistentVolumeClaim | None = None,
    claim_uid: bool = True,
    phase: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
    deleted: bool = False,
    version: str = "1",
    handle: str = "",
    **spec: Any,
) -> PersistentVolume:
    """Return a volume for nodes with the labels *only*, pre-bound to *claim* with or without uid."""
    reference = None
    if claim is not None:
        uid = claim.uid if claim_uid else ""
        reference = ObjectReference("PersistentVolumeClaim", claim.namespace, claim.name, uid, "v1")
    fields: dict[str, Any] = {"csi": CSIPersistentVolume(DRIVER, handle or name)} | spec
    if only is not None:
        fields["node_affinity"] = affinity(only)
    return PersistentVolume(
        ObjectMeta(
            name=name,
            uid=name,
            labels=dict(labels or {}),
            annotations=dict(annotations or {}),
            resource_version=version,
            deletion_timestamp=1.0 if deleted else None,
        ),
        PersistentVolumeSpec(
            capacity={"storage": parse_quantity(size)},
            access_modes=tuple(modes),
            claim_ref=reference,
            storage_class_name=storage_class,
            **fields,
        ),
        PersistentVolumeStatus(phase or ("Bound" if claim is not None else "Available")),
    )


def make_csi_node(name: str = "n", migrated: str = "", **limits: int | None) -> CSINode:
    """Return the CSINode of a node; *limits* by driver, with underscores for dots."""
    drivers = tuple(
        CSINodeDriver(driver.replace("_", "."), name, allocatable=VolumeNodeResources(count))
        for driver, count in limits.items()
    )
    return CSINode(
        ObjectMeta(name=name, uid=name, annotations={MIGRATED: migrated} if migrated else {}),
        CSINodeSpec(drivers),
    )


def make_driver(name: str = DRIVER, capacity: bool | None = True) -> CSIDriver:
    """Return a driver that publishes storage capacity, or does not."""
    return CSIDriver(ObjectMeta(name=name, uid=name), CSIDriverSpec(storage_capacity=capacity))


def make_capacity(
    name: str,
    amount: str | None,
    storage_class: str = "wait",
    *,
    largest: str | None = None,
    topology: LabelSelector | None = None,
    **labels: str,
) -> CSIStorageCapacity:
    """Return the capacity of a class on nodes with these labels (``zone="a"``)."""
    keys = {"zone": ZONE, "host": HOSTNAME}
    wanted = LabelSelector({keys.get(key, key): value for key, value in labels.items()})
    return CSIStorageCapacity(
        ObjectMeta(name=name, namespace="default", uid=name),
        node_topology=topology if topology is not None else wanted,
        storage_class_name=storage_class,
        capacity=None if amount is None else parse_quantity(amount),
        maximum_volume_size=None if largest is None else parse_quantity(largest),
    )


def make_attachment(name: str, node: str, volume: str | None, attacher: str = DRIVER) -> VolumeAttachment:
    """Return the attachment of a volume object to a node."""
    return VolumeAttachment(
        ObjectMeta(name=name, uid=name),
        VolumeAttachmentSpec(attacher, VolumeAttachmentSource(volume), node),
    )


@define(eq=False)
class VolumeController:
    """Bind volumes and claims that refer to each other, and provision volumes for selected nodes.

    As the controllers of a real cluster do, in the thread that changed something; ``delay`` holds the work
    back until ``work`` is called.
    """

    cluster: InMemoryCluster
    delay: bool = False
    refuse: Callable[[PersistentVolumeClaim], bool] = lambda claim: False
    """Claims whose provisioning fails: they lose their annotation."""
    made: int = 0
    _todo: list[Any] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.cluster.watch(self._on_event, ("PersistentVolume", "PersistentVolumeClaim"))

    def work(self) -> None:
        """Process the delayed objects."""
        while self._todo:
            self._handle(self._todo.pop(0))

    def _on_event(self, event: WatchEvent) -> None:
        if event.new is not None:
            self._todo.append(event.new)
            if not self.delay:
                self.work()

    def _handle(self, changed: Any) -> None:
        obj = self.cluster.get(changed.KIND, changed.key)
        if isinstance(obj, PersistentVolume) and obj.spec.claim_ref is not None:
            reference = obj.spec.claim_ref
            claim = self.cluster.get("PersistentVolumeClaim", f"{reference.namespace}/{reference.name}")
            if claim is not None and claim.uid == reference.uid and not claim.spec.volume_name:
                self._bind(claim, obj)
        elif isinstance(obj, PersistentVolumeClaim) and not obj.spec.volume_name:
            node_name = obj.metadata.annotations.get(SELECTED_NODE)
            if node_name is not None:
                self._provision(obj, node_name)

    def _provision(self, claim: PersistentVolumeClaim, node_name: str) -> None:
        if self.refuse(claim):
            notes = {k: v for k, v in claim.metadata.annotations.items() if k != SELECTED_NODE}
            self.cluster.update(evolve(claim, metadata=evolve(claim.metadata, annotations=notes)))
            return
        self.made += 1
        volume = make_volume(
            f"made-{self.made}",
            claim.spec.storage_class_name or "",
            only={HOSTNAME: [node_name]},
            claim=claim,
            version="",
        )
        self._bind(claim, self.cluster.create(volume))

    def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
        notes = {**claim.metadata.annotations, BIND_COMPLETED: "yes"}
        if volume.status.phase != "Bound":
            self.cluster.update(evolve(volume, status=PersistentVolumeStatus("Bound")))
        self.cluster.update(
            evolve(
                claim,
                metadata=evolve(claim.metadata, annotations=notes),
                spec=evolve(claim.spec, volume_name=volume.name),
                status=evolve(claim.status, phase="Bound"),
            )
        )


# ---- calling a plugin ------------------------------------------------------------------------------------


def make_handle(*objects: Any, pods: Sequence[Pod] = ()) -> StandInHandle:
    """Return a handle with nodes, storage objects and running *pods*."""
    handle = StandInHandle()
    for obj in objects:
        if isinstance(obj, Node):
            handle.table.set_node(obj)
        else:
            handle.objects.set(obj)
    for pod in pods:
        handle.table.add_pod(pod.node_name, pod)
    return handle


def verdicts(plugin: Any, handle: StandInHandle, pod: Pod) -> Status | dict[str, Status]:
    """Return the status of pre_filter if it stops, else the status of every node, equal by both forms."""
    state = CycleState()
    rows = handle.table.rows()
    before = call(plugin, "pre_filter", state=state, pod=pod, nodes=rows)
    if before is not None:
        assert isinstance(before, Status)
        return before
    found = per_node_statuses(plugin, state, pod, rows)
    assert columnar_statuses(plugin, state, pod, rows) == found
    return dict(zip(rows.names(), found, strict=True))


def open_nodes(plugin: Any, handle: StandInHandle, pod: Pod) -> set[str]:
    """Return the feasible nodes."""
    found = verdicts(plugin, handle, pod)
    assert isinstance(found, dict), found
    return {name for name, status in found.items() if status == OPEN}


def limits(node: str, count: int | None) -> CSINode:
    """Return the CSINode of *node* with a limit for :data:`DRIVER`."""
    return make_csi_node(node, disks_example_com=count)


def claims(*names: str) -> list[Any]:
    """Return claims with a volume each, whose handle is the name."""
    bound = [make_claim(name, volume=f"v-{name}") for name in names]
    return [*bound, *(make_volume(f"v-{claim.name}", claim=claim, handle=claim.name) for claim in bound)]


def ebs(name: str) -> Volume:
    """Return an inline disk of AWS."""
    return Volume(name, aws_elastic_block_store=AWSElasticBlockStore(name))
