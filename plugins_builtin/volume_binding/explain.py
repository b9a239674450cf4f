"""Explanations: the volume that a node cannot use, why no volume fits a claim, what an unbound claim lacks.

The volumes of a class are compared with a claim once for a pod, and not for each node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import define, field

from schedframe import NodeTable, Pod, StateKey
from schedframe.api import (
    BINARY_SI,
    STORAGE,
    WAIT_FOR_FIRST_CONSUMER,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Quantity,
    StorageClass,
    compile_label_selector,
)

from .._explaining import absent_values_text, did_you_mean, node_labels_text, node_selector_text
from .._volumes import claim_name, volumes_of
from .claims import BoundVolume, PodClaims, Storage
from .filtering import assign_claims, rejection_of_bound
from .provisioning import NO_PROVISIONERS, Outcome, ProvisioningRequest, topology_selector
from .static_matching import assign_volumes
from .volumes import AVAILABLE, capacity_of, mode_or_default, reaches, selector_of

_SHOWN: Final = 3
"""Volumes of which an explanation says why they do not fit."""


@define(eq=False)
class ComparedVolumes:
    """Cache for one pod: the volumes of the class of each of its claims, as they fit whatever the node is."""

    by_claim: dict[str, tuple[list[PersistentVolume], list[str]]] = field(factory=dict)
    """Key of the claim → volumes that fit, and why others do not, the nearest first."""


COMPARED_VOLUMES: StateKey[ComparedVolumes] = StateKey("VolumeBinding/explain")


# ---- a node ----------------------------------------------------------------------------------------------


def explain_node(
    storage: Storage,
    compared: ComparedVolumes,
    claims: PodClaims,
    pod: Pod,
    node: Node,
    migrated: frozenset[str],
) -> str | None:
    """Return why the volumes of *pod* cannot be used or made on *node*; ``None`` if they can."""
    for claim in _claims_of(storage, pod):
        if claim.is_fully_bound:
            bound = storage.bound_volume(claim)
            if rejection_of_bound((bound,), node.labels, migrated):
                return _bound_text(claim, bound, node, migrated)
    for name, request in claims.selected:
        if name != node.name:
            return f"the volume of claim {request.claim.name} is being made for node {name}"
    _, requests = assign_claims(claims, node.labels)
    for request in requests:
        outcome = request.outcome(node.labels)
        if outcome is Outcome.NO_SPACE:
            return _capacity_text(request, node)
        if outcome is Outcome.IMPOSSIBLE:
            return _impossible_text(storage, compared, claims, request, node)
    return None


def _bound_text(
    claim: PersistentVolumeClaim, bound: BoundVolume, node: Node, migrated: frozenset[str]
) -> str | None:
    if not bound.exists:
        return _missing_text(claim)
    by_csi = bound.plugin is not None and bound.plugin.name in migrated
    selector = bound.migrated_selector if by_csi else bound.selector
    if selector is None:
        return None
    wanted, has = node_selector_text(selector), node_labels_text(selector, node.labels)
    return f"volume {claim.spec.volume_name} of claim {claim.name} needs {wanted}, the node has {has}"


def _missing_text(claim: PersistentVolumeClaim) -> str:
    return f"claim {claim.name} is bound to volume {claim.spec.volume_name}, which does not exist"


def _capacity_text(request: ProvisioningRequest, node: Node) -> str:
    capacities = request.capacities
    largest = None if capacities is None else capacities.largest_volume(node.labels)
    if largest is None:
        return f"{_claim_text(request.claim)}: its driver publishes no capacity for the node"
    available = Quantity.of(largest, BINARY_SI)
    return f"{_claim_text(request.claim)}: the largest volume that can be made for the node has {available}"


def _provisioning_text(request: ProvisioningRequest, node: Node) -> str:
    """Return where the class makes volumes, and what the node has; empty if it makes none."""
    if request.topologies is None:
        return ""
    wanted, has = node_selector_text(request.topologies), node_labels_text(request.topologies, node.labels)
    return f"the class makes volumes where {wanted}, the node has {has}"


def _impossible_text(
    storage: Storage, compared: ComparedVolumes, claims: PodClaims, request: ProvisioningRequest, node: Node
) -> str:
    volumes = _volumes_text(storage, compared, claims, request.claim, node)
    provisioning = _provisioning_text(request, node)
    why = "; ".join(filter(None, (volumes, provisioning))) or "no volume has this class"
    return f"{_claim_text(request.claim)}: {why}"


def _volumes_text(
    storage: Storage, compared: ComparedVolumes, claims: PodClaims, claim: PersistentVolumeClaim, node: Node
) -> str:
    """Return why no volume of the class fits *claim* on *node*; empty if there is no volume."""
    if claim.key not in compared.by_claim:
        compared.by_claim[claim.key] = _compared(storage, claim)
    fitting, misfits = compared.by_claim[claim.key]
    assigned = assign_volumes(claims.matches, node.labels)
    taken = {name: match.claim.name for match, name in zip(claims.matches, assigned, strict=True) if name}
    lines = [_elsewhere_text(volume, taken, node) for volume in fitting[:_SHOWN]]
    lines += misfits[: _SHOWN - len(lines)]
    more = len(fitting) + len(misfits) - len(lines)
    return ", ".join([*lines, *([f"{more} more"] if more else [])])


def _elsewhere_text(volume: PersistentVolume, taken: dict[str, str], node: Node) -> str:
    if volume.name in taken:
        return f"volume {volume.name} goes to claim {taken[volume.name]}"
    selector = selector_of(volume)
    if selector is None or reaches(selector, node.labels):
        return f"volume {volume.name} goes to another claim"
    return f"volume {volume.name} needs {node_selector_text(selector)}"


def _compared(storage: Storage, claim: PersistentVolumeClaim) -> tuple[list[PersistentVolume], list[str]]:
    """Return the volumes that fit *claim*, and why the others of its class do not; O(volumes)."""
    name, fitting, misfits = claim.storage_class, [], []
    for stored in storage.objects.list("PersistentVolume"):
        volume = storage.volumes.assumed.get(stored.name) or stored
        if volume.storage_class == name:
            problems = list(_misfits(volume, claim))
            if problems:
                misfits.append((len(problems), f"volume {volume.name} {' and '.join(problems)}"))
            else:
                fitting.append(volume)
    return sorted(fitting, key=lambda each: each.name), [text for _, text in sorted(misfits)]


def _misfits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Iterator[str]:
    """Yield why *claim* cannot have *volume* on any node."""
    spec, reference = claim.spec, volume.spec.claim_ref
    if volume.metadata.deletion_timestamp is not None:
        yield "is being deleted"
    if reference is not None and not volume.is_reserved_for(claim):
        yield f"belongs to claim {reference.namespace}/{reference.name}"
    elif reference is None and volume.status.phase != AVAILABLE:
        yield f"is {volume.status.phase or 'without a phase'}, not {AVAILABLE}"
    amount = spec.resources.requests.get(STORAGE)
    if amount is not None and capacity_of(volume) < amount.nano:
        yield f"has {volume.spec.capacity.get(STORAGE, 0)}"
    missing = sorted(set(spec.access_modes) - set(volume.spec.access_modes))
    if missing and reference is None:
        yield f"has no access mode {', '.join(missing)}"
    mode = mode_or_default(volume.spec.volume_mode)
    if mode != mode_or_default(spec.volume_mode):
        yield f"has volume mode {mode}"
    if (volume.spec.volume_attributes_class_name or "") != (spec.volume_attributes_class_name or ""):
        yield f"has attributes class {volume.spec.volume_attributes_class_name or '(none)'}"
    if spec.selector is not None and not compile_label_selector(spec.selector).matches(volume.labels):
        yield "is not selected by the labels that the claim asks for"


# ---- the pod ---------------------------------------------------------------------------------------------


def explain_pod(storage: Storage, pod: Pod, table: NodeTable) -> Iterator[str]:
    """Yield what no node can change: claims that wait for others, and labels that no node has."""
    for claim in _claims_of(storage, pod):
        if claim.is_fully_bound:
            yield from _unreachable(storage, claim, table)
        elif not _waits(storage, claim):
            yield f"{_claim_text(claim)}: {_unbound_text(storage, claim)}"
        else:
            yield from _unreachable_class(storage, claim, table)


def _unreachable(storage: Storage, claim: PersistentVolumeClaim, table: NodeTable) -> Iterator[str]:
    bound = storage.bound_volume(claim)
    absent = "" if bound.selector is None else absent_values_text(bound.selector, table)
    if not bound.exists:
        yield _missing_text(claim)
    elif absent:
        yield f"volume {claim.spec.volume_name} of claim {claim.name}: {absent}"


def _unreachable_class(storage: Storage, claim: PersistentVolumeClaim, table: NodeTable) -> Iterator[str]:
    storage_class = _class_of(storage, claim)
    terms = () if storage_class is None else storage_class.allowed_topologies
    absent = absent_values_text(topology_selector(terms), table) if terms else ""
    if absent:
        yield f"class {claim.storage_class} of claim {claim.name}: {absent}"


def _unbound_text(storage: Storage, claim: PersistentVolumeClaim) -> str:
    """Return what keeps a claim unbound that is not bound when its pod is scheduled."""
    name, storage_class = claim.storage_class, _class_of(storage, claim)
    if claim.spec.volume_name:
        return f"the binding to volume {claim.spec.volume_name} is not completed"
    if name and storage_class is None:
        known = (each.name for each in storage.objects.list("StorageClass"))
        return f"there is no storage class {name}{did_you_mean(name, known)}"
    fitting, misfits = _compared(storage, claim)
    if fitting:
        return f"volume {fitting[0].name} fits, but is not bound to it yet"
    nearest = ", ".join(misfits[:_SHOWN]) or "no volume has this class"
    if storage_class is None or storage_class.provisioner in NO_PROVISIONERS:
        return nearest
    return f"{storage_class.provisioner} has not made its volume yet"


def _waits(storage: Storage, claim: PersistentVolumeClaim) -> bool:
    storage_class = _class_of(storage, claim)
    waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    return waits and not claim.spec.volume_name


def _class_of(storage: Storage, claim: PersistentVolumeClaim) -> StorageClass | None:
    name = claim.storage_class
    found: StorageClass | None = storage.objects.get("StorageClass", name) if name else None
    return found


def _claims_of(storage: Storage, pod: Pod) -> Iterator[PersistentVolumeClaim]:
    """Yield the claims of *pod* that exist, as assumed."""
    volumes = volumes_of(pod.spec)
    for volume in volumes.claiming if volumes is not None else ():
        claim = storage.claims.get(f"{pod.namespace}/{claim_name(pod, volume)}")
        if claim is not None:
            yield claim


def _claim_text(claim: PersistentVolumeClaim) -> str:
    """Return ``claim data (10Gi, class fast)``."""
    amount, name = claim.spec.resources.requests.get(STORAGE), claim.storage_class
    size = [] if amount is None else [str(amount)]
    return f"claim {claim.name} ({', '.join([*size, f'class {name}' if name else 'no class'])})"
