"""Every in-tree plugin of kube-scheduler v1.36 as data, feature gates at their defaults.

Names, extension points, default order and weights are those of the reference
(pkg/scheduler/apis/config/v1/default_plugins.go). Events are those that a plugin registers itself, without
those that a queue adds for every plugin (an update of taints wherever a new node matters).
"""

from __future__ import annotations

from typing import Final

from schedframe.config import CatalogueEntry, GatedArgs, PluginCatalogue, RegisteredEvent, RemovedPlugin

from .args import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
    check_balanced_allocation,
    check_capacity_shape,
    check_default_preemption,
    check_dynamic_resources,
    check_inter_pod_affinity,
    check_node_affinity,
    check_node_resources_fit,
    check_pod_topology_spread,
    check_volume_binding,
    refuse_capacity_shape,
    with_capacity_shape,
    with_ignored_resources,
)

_NODE: Final = "Node"
_POD: Final = "Pod"
_CLAIM: Final = "PersistentVolumeClaim"
_VOLUME: Final = "PersistentVolume"
_CLASS: Final = "storage.k8s.io/StorageClass"
_CSI_NODE: Final = "storage.k8s.io/CSINode"
_CSI_DRIVER: Final = "storage.k8s.io/CSIDriver"
_CSI_CAPACITY: Final = "storage.k8s.io/CSIStorageCapacity"
_ATTACHMENT: Final = "storage.k8s.io/VolumeAttachment"
_DEVICE_CLASS: Final = "resource.k8s.io/DeviceClass"
_RESOURCE_CLAIM: Final = "resource.k8s.io/ResourceClaim"
_RESOURCE_SLICE: Final = "resource.k8s.io/ResourceSlice"
_POD_GROUP: Final = "scheduling.k8s.io/PodGroup"


def _on(resource: str, *actions: str, hint: bool = True) -> RegisteredEvent:
    return RegisteredEvent(resource, actions, hint)


ENTRIES: Final = (
    CatalogueEntry(
        "SchedulingGates",
        ("preEnqueue",),
        default_order=0,
        events=(_on(_POD, "UpdatePodSchedulingGatesEliminated"),),
    ),
    CatalogueEntry("PrioritySort", ("queueSort",), default_order=1),
    CatalogueEntry(
        "NodeUnschedulable",
        ("filter",),
        default_order=2,
        events=(_on(_NODE, "Add", "UpdateNodeTaint"), _on(_POD, "UpdatePodToleration")),
    ),
    CatalogueEntry("NodeName", ("filter",), default_order=3, events=(_on(_NODE, "Add", hint=False),)),
    CatalogueEntry(
        "TaintToleration",
        ("filter", "preScore", "score"),
        default_order=4,
        weight=3,
        events=(_on(_NODE, "Add", "UpdateNodeTaint"), _on(_POD, "UpdatePodToleration")),
    ),
    CatalogueEntry(
        "NodeAffinity",
        ("preFilter", "filter", "preScore", "score"),
        default_order=5,
        weight=2,
        args_class=NodeAffinityArgs,
        args_kind="NodeAffinityArgs",
        check_args=check_node_affinity,
        events=(_on(_NODE, "Add", "UpdateNodeLabel"),),
    ),
    CatalogueEntry(
        "NodePorts",
        ("preFilter", "filter"),
        default_order=6,
        events=(_on(_POD, "Delete"), _on(_NODE, "Add")),
    ),
    CatalogueEntry(
        "NodeResourcesFit",
        ("preFilter", "filter", "preScore", "score", "placementScore"),
        default_order=7,
        weight=1,
        args_class=NodeResourcesFitArgs,
        args_kind="NodeResourcesFitArgs",
        check_args=check_node_resources_fit,
        args_checked="build",
        with_ignored_resources=with_ignored_resources,
        events=(
            _on(_POD, "Delete", "UpdatePodScaleDown"),
            _on(_NODE, "Add", "UpdateNodeAllocatable"),
            _on(_DEVICE_CLASS, "Add", "Update"),
        ),
    ),
    CatalogueEntry(
        "VolumeRestrictions",
        ("preFilter", "filter"),
        default_order=8,
        events=(_on(_POD, "Delete"), _on(_NODE, "Add"), _on(_CLAIM, "Add")),
    ),
    CatalogueEntry(
        "NodeVolumeLimits",
        ("preFilter", "filter"),
        default_order=9,
        events=(
            _on(_CSI_NODE, "Add", "Update"),
            _on(_POD, "Delete"),
            _on(_CLAIM, "Add"),
            _on(_ATTACHMENT, "Delete"),
        ),
    ),
    CatalogueEntry(
        "VolumeBinding",
        ("preFilter", "filter", "preScore", "score", "reserve", "preBind"),
        default_order=10,
        args_class=VolumeBindingArgs,
        args_kind="VolumeBindingArgs",
        check_args=check_volume_binding,
        gated_args=GatedArgs(
            "StorageCapacityScoring", with_capacity_shape, check_capacity_shape, refuse_capacity_shape
        ),
        events=(
            _on(_CLASS, "Add", "Update"),
            _on(_CLAIM, "Add", "Update"),
            _on(_VOLUME, "Add", "Update"),
            _on(_NODE, "Add", "UpdateNodeLabel"),
            _on(_CSI_NODE, "Add", "Update"),
            _on(_CSI_DRIVER, "Update"),
            _on(_CSI_CAPACITY, "Add", "Update"),
        ),
    ),
    CatalogueEntry(
        "VolumeZone",
        ("preFilter", "filter"),
        default_order=11,
        events=(
            _on(_CLASS, "Add"),
            _on(_NODE, "Add", "UpdateNodeLabel"),
            _on(_CLAIM, "Add", "Update"),
            _on(_VOLUME, "Add", "Update"),
        ),
    ),
    CatalogueEntry(
        "PodTopologySpread",
        ("preFilter", "filter", "preScore", "score"),
        default_order=12,
        weight=2,
        args_class=PodTopologySpreadArgs,
        args_kind="PodTopologySpreadArgs",
        check_args=check_pod_topology_spread,
        events=(
            _on(_POD, "Add", "Delete", "UpdatePodLabel", "UpdatePodToleration"),
            _on(_NODE, "Add", "Delete", "UpdateNodeLabel", "UpdateNodeTaint"),
        ),
    ),
    CatalogueEntry(
        "InterPodAffinity",
        ("preFilter", "filter", "preScore", "score"),
        default_order=13,
        weight=2,
        args_class=InterPodAffinityArgs,
        args_kind="InterPodAffinityArgs",
        check_args=check_inter_pod_affinity,
        events=(_on(_POD, "Add", "Delete", "UpdatePodLabel"), _on(_NODE, "Add", "UpdateNodeLabel")),
    ),
    CatalogueEntry(
        "DynamicResources",
        ("preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"),
        default_order=14,
        weight=2,
        args_class=DynamicResourcesArgs,
        args_kind="DynamicResourcesArgs",
        check_args=check_dynamic_resources,
        events=(
            _on(_NODE, "Add", "UpdateNodeAllocatable", "UpdateNodeLabel"),
            _on(_RESOURCE_CLAIM, "Add", "Update"),
            _on(_POD, "UpdatePodGeneratedResourceClaim"),
            _on(_DEVICE_CLASS, "Add", "Update"),
            _on(_RESOURCE_SLICE, "Add", "Update"),
        ),
    ),
    CatalogueEntry(
        "DefaultPreemption",
        ("preEnqueue", "postFilter"),
        default_order=15,
        args_class=DefaultPreemptionArgs,
        args_kind="DefaultPreemptionArgs",
        check_args=check_default_preemption,
        events=(_on(_POD, "Delete"),),
    ),
    CatalogueEntry(
        "NodeResourcesBalancedAllocation",
        ("preScore", "score"),
        default_order=16,
        weight=1,
        args_class=NodeResourcesBalancedAllocationArgs,
        args_kind="NodeResourcesBalancedAllocationArgs",
        check_args=check_balanced_allocation,
    ),
    CatalogueEntry("ImageLocality", ("score",), default_order=17, weight=1),
    CatalogueEntry("DefaultBinder", ("bind",), default_order=18),
    CatalogueEntry(
        "NodeDeclaredFeatures",
        ("preFilter", "filter"),
        default_order=19,
        events=(_on(_NODE, "Add", "UpdateNodeDeclaredFeature"), _on(_POD, "Update")),
    ),
    # Behind feature gates that are off by default.
    CatalogueEntry(
        "GangScheduling",
        ("preEnqueue", "permit"),
        default_order=20,
        feature_gate="GangScheduling",
        events=(_on(_POD, "Add"), _on(_POD_GROUP, "Add")),
    ),
    CatalogueEntry(
        "TopologyPlacementGenerator",
        ("placementGenerate",),
        default_order=21,
        feature_gate="TopologyAwareWorkloadScheduling",
    ),
    CatalogueEntry(
        "PodGroupPodsCount",
        ("placementScore",),
        default_order=22,
        weight=1,
        feature_gate="TopologyAwareWorkloadScheduling",
    ),
)

_FIT_STRATEGY: Final = "NodeResourcesFit with scoringStrategy.type"

REMOVED: Final = (
    RemovedPlugin("AzureDiskLimits", "NodeVolumeLimits", refused_at="validate"),
    RemovedPlugin("CinderLimits", "NodeVolumeLimits", refused_at="validate"),
    RemovedPlugin("EBSLimits", "NodeVolumeLimits", refused_at="validate"),
    RemovedPlugin("GCEPDLimits", "NodeVolumeLimits", refused_at="validate"),
    RemovedPlugin("DefaultPodTopologySpread", "PodTopologySpread with defaultingType System"),
    RemovedPlugin("NodeLabel", "NodeAffinity with addedAffinity"),
    RemovedPlugin("NodePreferAvoidPods", "TaintToleration (taints with effect PreferNoSchedule)"),
    RemovedPlugin("NodeResourceLimits", "NodeResourcesFit"),
    RemovedPlugin("NodeResourcesLeastAllocated", f"{_FIT_STRATEGY} LeastAllocated"),
    RemovedPlugin("NodeResourcesMostAllocated", f"{_FIT_STRATEGY} MostAllocated"),
    RemovedPlugin("RequestedToCapacityRatio", f"{_FIT_STRATEGY} RequestedToCapacityRatio"),
    RemovedPlugin("SelectorSpread", "PodTopologySpread with defaultingType System"),
    RemovedPlugin("ServiceAffinity", "PodTopologySpread or InterPodAffinity"),
)

CATALOGUE: Final = PluginCatalogue(ENTRIES, REMOVED)
