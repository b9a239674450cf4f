"""Values, ranges and names of single fields of nodes, volumes, claims, classes and workloads.

And fields that they must have. Source of the rules: pkg/apis of the API server, after defaulting. What the
server resets when an object is created, as most of the status, is not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_HIGHEST: Final = 2**31 - 1
_AMOUNT: Final = (0, _HIGHEST)
_LONG: Final = (0, 2**63 - 1)
_BYTE: Final = (0, 255)
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_ACCESS_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Filesystem", "Block")
_STATUSES: Final = ("True", "False", "Unknown")
_RETENTION: Final = ("", "Retain", "Delete")

_SCOPES: Final = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass"),
    *("VolumeAttributesClass", "CrossNamespacePodAffinity"),
)

GROUP_VERSIONS: Final = ("scheduling.v1alpha2", "scheduling.v1alpha3", "scheduling.v1beta1")
"""Versions of pod groups and workloads."""

CLUSTER_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "apps.v1.DaemonSetUpdateStrategy.type": ("", "RollingUpdate", "OnDelete"),
    "apps.v1.DeploymentStrategy.type": ("", "RollingUpdate", "Recreate"),
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted": _RETENTION,
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled": _RETENTION,
    "apps.v1.StatefulSetSpec.podManagementPolicy": ("", "OrderedReady", "Parallel"),
    "apps.v1.StatefulSetUpdateStrategy.type": ("", "RollingUpdate", "OnDelete"),
    "batch.v1.CronJobSpec.concurrencyPolicy": ("", "Allow", "Forbid", "Replace"),
    "batch.v1.JobSpec.completionMode": ("NonIndexed", "Indexed"),
    "batch.v1.JobSpec.podReplacementPolicy": ("TerminatingOrFailed", "Failed"),
    "batch.v1.PodFailurePolicyOnExitCodesRequirement.operator": ("In", "NotIn"),
    "batch.v1.PodFailurePolicyOnPodConditionsPattern.status": ("", *_STATUSES),
    "batch.v1.PodFailurePolicyRule.action": ("FailJob", "FailIndex", "Ignore", "Count"),
    "core.v1.NodeCondition.status": _STATUSES,
    "core.v1.ResourceQuotaSpec.scopes": _SCOPES,
    "core.v1.ScopedResourceSelectorRequirement.operator": ("In", "NotIn", "Exists", "DoesNotExist"),
    "core.v1.ScopedResourceSelectorRequirement.scopeName": _SCOPES,
    "core.v1.PersistentVolumeClaimSpec.accessModes": _ACCESS_MODES,
    "core.v1.PersistentVolumeClaimSpec.volumeMode": _VOLUME_MODES,
    "core.v1.PersistentVolumeClaimStatus.phase": ("", "Pending", "Bound", "Lost"),
    "core.v1.PersistentVolumeSpec.accessModes": _ACCESS_MODES,
    "core.v1.PersistentVolumeSpec.persistentVolumeReclaimPolicy": ("", "Retain", "Delete", "Recycle"),
    "core.v1.PersistentVolumeSpec.volumeMode": _VOLUME_MODES,
    "core.v1.PersistentVolumeStatus.phase": ("", "Pending", "Available", "Bound", "Released", "Failed"),
    "policy.v1.PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy": ("IfHealthyBudget", "AlwaysAllow"),
    "scheduling.v1.PriorityClass.preemptionPolicy": _PREEMPTION,
    "storage.v1.CSIDriverSpec.fsGroupPolicy": ("ReadWriteOnceWithFSType", "File", "None"),
    "storage.v1.CSIDriverSpec.volumeLifecycleModes": ("Persistent", "Ephemeral"),
    "storage.v1.StorageClass.reclaimPolicy": ("", "Delete", "Retain"),
    "storage.v1.StorageClass.volumeBindingMode": ("Immediate", "WaitForFirstConsumer"),
}
"""Field → its values, as :data:`.rules.VALUES`."""

CLUSTER_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "apps.v1.DaemonSetSpec.minReadySeconds": _AMOUNT,
    "apps.v1.DaemonSetSpec.revisionHistoryLimit": _AMOUNT,
    "apps.v1.DeploymentSpec.minReadySeconds": _AMOUNT,
    "apps.v1.DeploymentSpec.progressDeadlineSeconds": _AMOUNT,
    "apps.v1.DeploymentSpec.replicas": _AMOUNT,
    "apps.v1.DeploymentSpec.revisionHistoryLimit": _AMOUNT,
    "apps.v1.ReplicaSetSpec.minReadySeconds": _AMOUNT,
    "apps.v1.ReplicaSetSpec.replicas": _AMOUNT,
    "apps.v1.RollingUpdateStatefulSetStrategy.partition": _AMOUNT,
    "apps.v1.StatefulSetOrdinals.start": _AMOUNT,
    "apps.v1.StatefulSetSpec.minReadySeconds": _AMOUNT,
    "apps.v1.StatefulSetSpec.replicas": _AMOUNT,
    "batch.v1.CronJobSpec.failedJobsHistoryLimit": _AMOUNT,
    "batch.v1.CronJobSpec.startingDeadlineSeconds": _LONG,
    "batch.v1.CronJobSpec.successfulJobsHistoryLimit": _AMOUNT,
    "batch.v1.JobSpec.activeDeadlineSeconds": _LONG,
    "batch.v1.JobSpec.backoffLimit": _AMOUNT,
    "batch.v1.JobSpec.backoffLimitPerIndex": _AMOUNT,
    "batch.v1.JobSpec.completions": _AMOUNT,
    "batch.v1.JobSpec.maxFailedIndexes": _AMOUNT,
    "batch.v1.JobSpec.parallelism": _AMOUNT,
    "batch.v1.JobSpec.ttlSecondsAfterFinished": _AMOUNT,
    "batch.v1.SuccessPolicyRule.succeededCount": _AMOUNT,
    "core.v1.AWSElasticBlockStoreVolumeSource.partition": _BYTE,
    "core.v1.GCEPersistentDiskVolumeSource.partition": _BYTE,
    "core.v1.ISCSIPersistentVolumeSource.lun": _BYTE,
    "core.v1.ISCSIVolumeSource.lun": _BYTE,
    "core.v1.NodeSwapStatus.capacity": (1, 2**63 - 1),
    "core.v1.ReplicationControllerSpec.minReadySeconds": _AMOUNT,
    "core.v1.ReplicationControllerSpec.replicas": _AMOUNT,
    **{f"{version}.GangSchedulingPolicy.minCount": (1, _HIGHEST) for version in GROUP_VERSIONS},
    "storage.v1.CSIDriverSpec.nodeAllocatableUpdatePeriodSeconds": (10, 2**63 - 1),
    "storage.v1.TokenRequest.expirationSeconds": (600, 2**32),
    "storage.v1.VolumeNodeResources.count": _AMOUNT,
}
"""Field → lowest and highest value."""

_DOMAIN: Final = (False, True)
_DOMAIN_IF_GIVEN: Final = (False, False)
_LABEL: Final = (True, True)
_LABEL_IF_GIVEN: Final = (True, False)

CLUSTER_NAMES: Final[Mapping[str, tuple[bool, bool]]] = {
    "apps.v1.StatefulSetSpec.serviceName": _LABEL,
    "core.v1.GlusterfsPersistentVolumeSource.endpointsNamespace": _LABEL_IF_GIVEN,
    "core.v1.PersistentVolumeClaimSpec.storageClassName": _DOMAIN,
    "core.v1.PersistentVolumeClaimSpec.volumeAttributesClassName": _DOMAIN,
    "core.v1.PersistentVolumeSpec.storageClassName": _DOMAIN,
    "core.v1.PersistentVolumeSpec.volumeAttributesClassName": _DOMAIN_IF_GIVEN,
    "core.v1.StorageOSPersistentVolumeSource.volumeName": _LABEL,
    "core.v1.StorageOSPersistentVolumeSource.volumeNamespace": _LABEL,
    "core.v1.TypedLocalObjectReference.apiGroup": _DOMAIN,
    "core.v1.TypedObjectReference.apiGroup": _DOMAIN,
    "core.v1.TypedObjectReference.namespace": _LABEL,
    "node.v1.RuntimeClass.handler": _LABEL,
    "resource.v1.CounterSet.name": _LABEL,
    "resource.v1.Device.name": _LABEL,
    "resource.v1.DeviceCounterConsumption.counterSet": _LABEL,
    "resource.v1.DeviceRequest.name": _LABEL,
    "resource.v1.DeviceSubRequest.deviceClassName": _DOMAIN,
    "resource.v1.DeviceSubRequest.name": _LABEL,
    "resource.v1.ExactDeviceRequest.deviceClassName": _DOMAIN,
    **{f"{version}.PodGroupResourceClaim.name": _LABEL for version in GROUP_VERSIONS},
    **{f"{version}.PodGroupResourceClaim.resourceClaimName": _DOMAIN_IF_GIVEN for version in GROUP_VERSIONS},
    **{
        f"{version}.PodGroupResourceClaim.resourceClaimTemplateName": _DOMAIN_IF_GIVEN
        for version in GROUP_VERSIONS
    },
    **{f"{version}.PodGroupTemplate.name": _LABEL for version in GROUP_VERSIONS},
    "storage.v1.CSIStorageCapacity.storageClassName": _DOMAIN,
    "storage.v1.VolumeAttachmentSource.persistentVolumeName": _DOMAIN_IF_GIVEN,
    "storage.v1.VolumeAttachmentSpec.nodeName": _DOMAIN,
}
"""Field → whether it is a DNS label (or else a DNS subdomain), and whether an empty text is absence."""

CLUSTER_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "apps.v1.DaemonSet": ("spec",),
    "apps.v1.DaemonSetSpec": ("selector", "template"),
    "apps.v1.Deployment": ("spec",),
    "apps.v1.DeploymentSpec": ("selector", "template"),
    "apps.v1.ReplicaSetSpec": ("selector", "template"),
    "apps.v1.StatefulSetSpec": ("selector", "template"),
    "batch.v1.CronJob": ("spec",),
    "batch.v1.CronJobSpec": ("schedule", "jobTemplate"),
    "batch.v1.Job": ("spec",),
    "batch.v1.JobSpec": ("template", "template.spec.restartPolicy"),
    "batch.v1.PodFailurePolicyOnExitCodesRequirement": ("operator", "values"),
    "batch.v1.PodFailurePolicyRule": ("action",),
    "batch.v1.SuccessPolicy": ("rules",),
    "core.v1.AzureFilePersistentVolumeSource": ("secretName", "shareName"),
    "core.v1.CSIPersistentVolumeSource": ("driver", "volumeHandle"),
    "core.v1.CephFSPersistentVolumeSource": ("monitors",),
    "core.v1.CinderPersistentVolumeSource": ("volumeID",),
    "core.v1.FlexPersistentVolumeSource": ("driver",),
    "core.v1.GlusterfsPersistentVolumeSource": ("endpoints", "path"),
    "core.v1.ISCSIPersistentVolumeSource": ("targetPortal", "iqn"),
    "core.v1.LimitRangeItem": ("type",),
    "core.v1.LocalVolumeSource": ("path",),
    "core.v1.PersistentVolume": ("spec", "spec.accessModes", "spec.capacity"),
    "core.v1.PersistentVolumeClaim": ("spec",),
    "core.v1.PersistentVolumeClaimSpec": ("accessModes", "resources.requests.storage"),
    "core.v1.RBDPersistentVolumeSource": ("monitors", "image"),
    "core.v1.ScaleIOPersistentVolumeSource": ("gateway", "system", "volumeName"),
    "core.v1.StorageOSPersistentVolumeSource": ("volumeName",),
    "core.v1.Taint": ("key", "effect"),
    "core.v1.TopologySelectorLabelRequirement": ("key", "values"),
    "core.v1.TypedLocalObjectReference": ("kind", "name"),
    "core.v1.TypedObjectReference": ("kind", "name"),
    "core.v1.VolumeNodeAffinity": ("required",),
    "core.v1.ScopedResourceSelectorRequirement": ("scopeName", "operator"),
    "node.v1.RuntimeClass": ("handler",),
    "resource.v1.CounterSet": ("name",),
    "resource.v1.DeviceCounterConsumption": ("counterSet",),
    "resource.v1.DeviceTaint": ("key", "effect"),
    "storage.v1.CSINodeDriver": ("name", "nodeID"),
    "storage.v1.CSIStorageCapacity": ("storageClassName",),
    "storage.v1.StorageClass": ("provisioner",),
    "storage.v1.VolumeAttachmentSpec": ("attacher", "nodeName", "source"),
}
"""Type → paths of what must be there and not be empty, as :data:`.rules.REQUIRED`."""

VOLUME_SOURCES: Final = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd"),
    *("quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume"),
    *("photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"),
)
"""Sources of a volume in the order in which the API server looks at them."""
