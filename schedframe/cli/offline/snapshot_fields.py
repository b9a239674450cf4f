"""Fields that a snapshot keeps of each kind, and the sort of each text in them.

The table has the fields that scheduling reads, by the class of :mod:`schedframe.api` that the codec decodes
them to; all others are left out. It is a list of what stays: a field that Kubernetes or the classes gain is
not in snapshots before it is entered here. The sort says how a field is hidden when names are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from functools import cache
from typing import Any, Final, get_args, get_type_hints

import attrs

from ...api import (
    affinity,
    claims,
    containers,
    devices,
    groups,
    metadata,
    node,
    podspec,
    podstatus,
    storage,
)
from ...api import volumes as v
from ...api import workloads as w
from ...api._wire import WIRE, Wire
from ...api.kinds import KINDS
from ...api.pod import Pod


class Sort(Enum):
    """Of what sort the value of a field is."""

    PLAIN = auto()
    """A number, a flag, a time or an amount."""
    WORD = auto()
    """A word of Kubernetes, such as ``NoSchedule``."""
    PARTS = auto()
    """An object, or a list of objects, with fields of its own."""
    NAME = auto()
    """Any text that is compared with equal ones, or a list of such."""
    NAMESPACE = auto()
    IMAGE = auto()
    ADDRESS = auto()
    """An address of a host."""
    KEY = auto()
    """The key of a label or taint, or a list of such."""
    VALUE = auto()
    """The value, or list of values, of the label whose key stands beside it."""
    LABELS = auto()
    ANNOTATIONS = auto()
    AMOUNTS = auto()
    """An object with amounts by the name of a resource."""
    RESOURCE = auto()
    DRIVER = auto()
    """A driver or provisioner."""
    HANDLE = auto()
    """The identity of a disk, which scheduling translates between in-tree plugins and drivers."""
    REQUEST = auto()
    """The name of a request, with that of an alternative after a slash; or a list of such."""
    NAMED = auto()
    """A list of objects that have only a name."""
    NAMES = auto()
    """An object whose keys are names."""
    QUALIFIED = auto()
    """A name that a domain may stand before, or an object with such keys."""
    ATTRIBUTES = auto()
    """Attributes of a device."""
    EXPRESSION = auto()
    OWNER_KIND = auto()
    OWNER_VERSION = auto()
    FINALIZERS = auto()
    POD_CONDITIONS = auto()


S = Sort
Fields = Mapping[str, Sort]


def _fields(**sorts: Sort) -> Fields:
    return sorts


def _all(sort: Sort, names: str) -> Fields:
    return dict.fromkeys(names.split(), sort)


_META: Final = {
    **_all(S.NAME, "name uid"),
    **_fields(namespace=S.NAMESPACE, labels=S.LABELS, annotations=S.ANNOTATIONS, finalizers=S.FINALIZERS),
    **_all(S.PLAIN, "creationTimestamp deletionTimestamp"),
    "ownerReferences": S.PARTS,
}
_OBJECT: Final = _all(S.PARTS, "metadata spec status")
_WITHOUT_STATUS: Final = _all(S.PARTS, "metadata spec")
_SELECTOR: Final = _fields(matchLabels=S.LABELS, matchExpressions=S.PARTS)
_EXPRESSION: Final = _fields(key=S.KEY, operator=S.WORD, values=S.VALUE)
_TAINT: Final = _fields(key=S.KEY, value=S.VALUE, effect=S.WORD)
_TOLERATION: Final = {**_TAINT, "operator": S.WORD}
_TERMS: Final = _all(
    S.PARTS, "requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution"
)
_AMOUNTS: Final = _all(S.AMOUNTS, "requests limits")
_VALUE: Final = _fields(value=S.PLAIN)
_REQUEST: Final = {
    **_fields(deviceClassName=S.NAME, allocationMode=S.WORD, count=S.PLAIN),
    **_all(S.PARTS, "selectors tolerations capacity"),
}
_DEVICE_ID: Final = _fields(driver=S.DRIVER, pool=S.NAME, device=S.NAME, shareID=S.NAME)
_NODES: Final = _fields(nodeName=S.NAME, nodeSelector=S.PARTS, allNodes=S.PLAIN)
_CLAIM_OF: Final = _all(S.NAME, "name resourceClaimName resourceClaimTemplateName")
_CLAIM_SPEC: Final = {
    **_fields(accessModes=S.WORD, volumeMode=S.WORD, volumeName=S.NAME, storageClassName=S.NAME),
    **_fields(volumeAttributesClassName=S.NAME, selector=S.PARTS, resources=S.PARTS),
}
_READ_ONLY: Final = _fields(readOnly=S.PLAIN)
_IN_TREE: Final = _all(
    S.PARTS,
    "gcePersistentDisk awsElasticBlockStore azureDisk azureFile cinder portworxVolume vsphereVolume iscsi "
    "rbd",
)
_GROUP: Final = {
    **_all(S.PARTS, "schedulingPolicy schedulingConstraints"),
    **_fields(priority=S.PLAIN, priorityClassName=S.NAME, preemptionPolicy=S.WORD, disruptionMode=S.PLAIN),
}

KEPT: Final[Mapping[type, Fields]] = {
    metadata.ObjectMeta: _META,
    metadata.OwnerReference: {
        **_fields(apiVersion=S.OWNER_VERSION, kind=S.OWNER_KIND, controller=S.PLAIN),
        **_all(S.NAME, "name uid"),
    },
    # ---- pods
    Pod: _OBJECT,
    podspec.PodSpec: {
        **_all(
            S.PARTS,
            "containers initContainers resources affinity tolerations topologySpreadConstraints "
            "schedulingGroup volumes resourceClaims",
        ),
        **_all(S.PLAIN, "priority hostNetwork hostUsers"),
        **_all(S.NAME, "nodeName priorityClassName schedulerName"),
        **_fields(overhead=S.AMOUNTS, nodeSelector=S.LABELS, schedulingGates=S.NAMED),
        "preemptionPolicy": S.WORD,
    },
    containers.Container: {
        **_fields(name=S.NAME, image=S.IMAGE, restartPolicy=S.WORD),
        **_all(S.PARTS, "resources ports restartPolicyRules"),
    },
    containers.ResourceRequirements: {**_AMOUNTS, "claims": S.PARTS},
    containers.ContainerClaim: _fields(name=S.NAME, request=S.NAME),
    containers.ContainerPort: {
        **_all(S.PLAIN, "containerPort hostPort"),
        **_fields(hostIP=S.ADDRESS, protocol=S.WORD),
    },
    containers.ContainerRestartRule: _fields(action=S.WORD),
    affinity.Affinity: _all(S.PARTS, "nodeAffinity podAffinity podAntiAffinity"),
    affinity.NodeAffinity: _TERMS,
    affinity.NodeSelector: _fields(nodeSelectorTerms=S.PARTS),
    affinity.NodeSelectorTerm: _all(S.PARTS, "matchExpressions matchFields"),
    affinity.NodeSelectorRequirement: _EXPRESSION,
    affinity.PreferredSchedulingTerm: _fields(weight=S.PLAIN, preference=S.PARTS),
    affinity.PodAffinity: _TERMS,
    affinity.PodAntiAffinity: _TERMS,
    affinity.PodAffinityTerm: {
        **_all(S.PARTS, "labelSelector namespaceSelector"),
        **_all(S.KEY, "topologyKey matchLabelKeys mismatchLabelKeys"),
        "namespaces": S.NAMESPACE,
    },
    affinity.WeightedPodAffinityTerm: _fields(weight=S.PLAIN, podAffinityTerm=S.PARTS),
    affinity.LabelSelector: _SELECTOR,
    affinity.LabelSelectorRequirement: _EXPRESSION,
    affinity.Toleration: _TOLERATION,
    affinity.Taint: _TAINT,
    affinity.TopologySpreadConstraint: {
        **_all(S.PLAIN, "maxSkew minDomains"),
        **_all(S.KEY, "topologyKey matchLabelKeys"),
        **_all(S.WORD, "whenUnsatisfiable nodeAffinityPolicy nodeTaintsPolicy"),
        "labelSelector": S.PARTS,
    },
    podspec.PodSchedulingGroup: _fields(podGroupName=S.NAME),
    podspec.PodResourceClaim: _CLAIM_OF,
    podstatus.PodStatus: {
        **_fields(phase=S.WORD, conditions=S.POD_CONDITIONS, nominatedNodeName=S.NAME, startTime=S.PLAIN),
        **_all(
            S.PARTS,
            "containerStatuses initContainerStatuses resources resourceClaimStatuses "
            "extendedResourceClaimStatus",
        ),
        "allocatedResources": S.AMOUNTS,
        "resize": S.WORD,
    },
    podstatus.PodCondition: _all(S.WORD, "type status reason"),
    podstatus.ContainerStatus: _fields(name=S.NAME, allocatedResources=S.AMOUNTS, resources=S.PARTS),
    podstatus.PodResourceClaimStatus: _all(S.NAME, "name resourceClaimName"),
    podstatus.PodExtendedResourceClaimStatus: _fields(requestMappings=S.PARTS, resourceClaimName=S.NAME),
    podstatus.ContainerExtendedResourceRequest: _fields(
        containerName=S.NAME, resourceName=S.RESOURCE, requestName=S.NAME
    ),
    # ---- volumes of pods
    v.Volume: {**_IN_TREE, "name": S.NAME, **_all(S.PARTS, "persistentVolumeClaim ephemeral csi image")},
    v.ClaimVolumeSource: {"claimName": S.NAME, **_READ_ONLY},
    v.EphemeralVolumeSource: _fields(volumeClaimTemplate=S.PARTS),
    v.PersistentVolumeClaimTemplate: _fields(metadata=S.PARTS, spec=S.PARTS),
    v.PersistentVolumeClaimSpec: _CLAIM_SPEC,
    v.VolumeResources: _AMOUNTS,
    v.CSIVolumeSource: _fields(driver=S.DRIVER),
    v.ImageVolumeSource: _fields(reference=S.IMAGE),
    v.GCEPersistentDisk: {"pdName": S.NAME, **_READ_ONLY},
    v.AWSElasticBlockStore: {"volumeID": S.HANDLE, **_READ_ONLY},
    v.ISCSIVolume: {"iqn": S.NAME, **_READ_ONLY},
    v.RBDVolume: {**_all(S.NAME, "monitors image pool"), **_READ_ONLY},
    v.AzureDisk: {**_all(S.NAME, "diskName diskURI"), "kind": S.WORD},
    v.AzureFile: {},
    v.CinderVolume: _fields(volumeID=S.NAME),
    v.VsphereVolume: {},
    v.PortworxVolume: _fields(volumeID=S.NAME),
    # ---- nodes and policies
    node.Node: _OBJECT,
    node.NodeSpec: _fields(unschedulable=S.PLAIN, taints=S.PARTS),
    node.NodeStatus: {
        **_all(S.AMOUNTS, "capacity allocatable"),
        **_fields(images=S.PARTS, declaredFeatures=S.WORD),
    },
    node.ContainerImage: _fields(names=S.IMAGE, sizeBytes=S.PLAIN),
    w.Namespace: _fields(metadata=S.PARTS),
    w.PriorityClass: {
        **_all(S.PLAIN, "value globalDefault"),
        **_fields(metadata=S.PARTS, preemptionPolicy=S.WORD),
    },
    w.Service: _WITHOUT_STATUS,
    w.ServiceSpec: _fields(selector=S.LABELS),
    w.ReplicationController: _WITHOUT_STATUS,
    w.ReplicationControllerSpec: _fields(selector=S.LABELS),
    w.ReplicaSet: _WITHOUT_STATUS,
    w.ReplicaSetSpec: _fields(selector=S.PARTS),
    w.StatefulSet: _WITHOUT_STATUS,
    w.StatefulSetSpec: _fields(selector=S.PARTS),
    w.PodDisruptionBudget: _OBJECT,
    w.PodDisruptionBudgetSpec: _fields(selector=S.PARTS),
    w.PodDisruptionBudgetStatus: _fields(disruptedPods=S.NAMES, disruptionsAllowed=S.PLAIN),
    # ---- storage
    storage.PersistentVolume: _OBJECT,
    storage.PersistentVolumeSpec: {
        **_IN_TREE,
        **_all(S.PARTS, "claimRef nodeAffinity csi"),
        **_fields(capacity=S.AMOUNTS, storageClassName=S.NAME, volumeAttributesClassName=S.NAME),
        **_all(S.WORD, "accessModes volumeMode"),
    },
    storage.ObjectReference: _fields(namespace=S.NAMESPACE, name=S.NAME, uid=S.NAME),
    storage.VolumeNodeAffinity: _fields(required=S.PARTS),
    storage.CSIPersistentVolume: _fields(driver=S.DRIVER, volumeHandle=S.HANDLE),
    storage.PersistentVolumeStatus: _fields(phase=S.WORD),
    storage.PersistentVolumeClaim: _OBJECT,
    storage.PersistentVolumeClaimStatus: _fields(phase=S.WORD),
    storage.StorageClass: {
        **_fields(metadata=S.PARTS, provisioner=S.DRIVER, volumeBindingMode=S.WORD),
        "allowedTopologies": S.PARTS,
    },
    storage.TopologySelectorTerm: _fields(matchLabelExpressions=S.PARTS),
    storage.TopologySelectorLabelRequirement: _fields(key=S.KEY, values=S.VALUE),
    storage.CSINode: _WITHOUT_STATUS,
    storage.CSINodeSpec: _fields(drivers=S.PARTS),
    storage.CSINodeDriver: _fields(name=S.DRIVER, allocatable=S.PARTS),
    storage.VolumeNodeResources: _fields(count=S.PLAIN),
    storage.CSIDriver: _WITHOUT_STATUS,
    storage.CSIDriverSpec: _fields(storageCapacity=S.PLAIN),
    storage.CSIStorageCapacity: {
        **_all(S.PLAIN, "capacity maximumVolumeSize"),
        **_fields(metadata=S.PARTS, nodeTopology=S.PARTS, storageClassName=S.NAME),
    },
    storage.VolumeAttachment: _WITHOUT_STATUS,
    storage.VolumeAttachmentSpec: _fields(attacher=S.DRIVER, source=S.PARTS, nodeName=S.NAME),
    storage.VolumeAttachmentSource: _fields(persistentVolumeName=S.NAME),
    # ---- devices
    claims.ResourceClaim: _OBJECT,
    claims.ResourceClaimSpec: _fields(devices=S.PARTS),
    claims.DeviceClaim: _fields(requests=S.PARTS, constraints=S.PARTS),
    claims.DeviceRequest: _fields(name=S.NAME, exactly=S.PARTS, firstAvailable=S.PARTS),
    claims.ExactDeviceRequest: {**_REQUEST, "adminAccess": S.PLAIN},
    claims.DeviceSubRequest: {**_REQUEST, "name": S.NAME},
    devices.DeviceSelector: _fields(cel=S.PARTS),
    devices.CELDeviceSelector: _fields(expression=S.EXPRESSION),
    devices.DeviceToleration: _TOLERATION,
    devices.CapacityRequirements: _fields(requests=S.QUALIFIED),
    claims.DeviceConstraint: {
        "requests": S.REQUEST,
        **_all(S.QUALIFIED, "matchAttribute distinctAttribute"),
    },
    claims.ResourceClaimStatus: _all(S.PARTS, "allocation reservedFor devices"),
    claims.AllocationResult: {
        **_all(S.PARTS, "devices nodeSelector"),
        "allocationTimestamp": S.PLAIN,
    },
    claims.DeviceAllocationResult: _fields(results=S.PARTS),
    claims.DeviceRequestAllocationResult: {
        **_DEVICE_ID,
        **_fields(request=S.REQUEST, adminAccess=S.PLAIN, tolerations=S.PARTS),
        **_all(S.NAME, "bindingConditions bindingFailureConditions"),
        "consumedCapacity": S.QUALIFIED,
    },
    claims.ResourceClaimConsumerReference: _fields(resource=S.WORD, name=S.NAME, uid=S.NAME),
    claims.AllocatedDeviceStatus: {**_DEVICE_ID, "conditions": S.PARTS},
    metadata.Condition: _fields(type=S.NAME, status=S.WORD),
    claims.ResourceClaimTemplate: _WITHOUT_STATUS,
    claims.ResourceClaimTemplateSpec: _fields(metadata=S.PARTS, spec=S.PARTS),
    devices.ResourceSlice: _WITHOUT_STATUS,
    devices.ResourceSliceSpec: {
        **_NODES,
        **_fields(driver=S.DRIVER, perDeviceNodeSelection=S.PLAIN),
        **_all(S.PARTS, "pool devices sharedCounters"),
    },
    devices.ResourcePool: _fields(name=S.NAME, generation=S.PLAIN, resourceSliceCount=S.PLAIN),
    devices.Device: {
        **_NODES,
        **_fields(name=S.NAME, attributes=S.ATTRIBUTES, capacity=S.QUALIFIED),
        **_all(S.PARTS, "consumesCounters taints"),
        **_all(S.NAME, "bindingConditions bindingFailureConditions"),
        **_all(S.PLAIN, "bindsToNode allowMultipleAllocations"),
    },
    devices.DeviceCapacity: _fields(value=S.PLAIN, requestPolicy=S.PARTS),
    devices.CapacityRequestPolicy: _fields(default=S.PLAIN, validValues=S.PLAIN, validRange=S.PARTS),
    devices.CapacityRequestPolicyRange: _all(S.PLAIN, "min max step"),
    devices.DeviceCounterConsumption: _fields(counterSet=S.NAME, counters=S.NAMES),
    devices.Counter: _VALUE,
    devices.DeviceTaint: _TAINT,
    devices.CounterSet: _fields(name=S.NAME, counters=S.NAMES),
    devices.DeviceClass: _WITHOUT_STATUS,
    devices.DeviceClassSpec: _fields(selectors=S.PARTS, extendedResourceName=S.RESOURCE),
    # ---- groups
    groups.PodGroup: _WITHOUT_STATUS,
    groups.PodGroupSpec: _GROUP,
    groups.PodGroupSchedulingPolicy: _all(S.PARTS, "basic gang"),
    groups.BasicSchedulingPolicy: {},
    groups.GangSchedulingPolicy: _fields(minCount=S.PLAIN),
    groups.PodGroupSchedulingConstraints: _fields(topology=S.PARTS),
    groups.TopologyConstraint: _fields(key=S.KEY),
}
"""Class → the fields of it that snapshots keep, by their key in manifests."""

READ_KINDS: Final = tuple(kind for kind, cls in KINDS.items() if cls in KEPT)
"""Kinds that snapshots have."""


@cache
def parts(cls: type) -> Mapping[str, type]:
    """Return the key of each field of *cls* that has fields of its own → their class; O(1) once computed."""
    hints = get_type_hints(cls)
    found = {}
    for attribute in attrs.fields(cls):
        declared: Wire = attribute.metadata.get(WIRE) or Wire()
        nested = next(_classes(hints[attribute.name]), None)
        if not declared.skip and nested is not None:
            head, *rest = attribute.name.split("_")
            found[declared.name or head + "".join(part.capitalize() for part in rest)] = nested
    return found


def _classes(hint: Any) -> Iterator[type]:
    if attrs.has(hint):
        yield hint
    for argument in get_args(hint):
        yield from _classes(argument)
