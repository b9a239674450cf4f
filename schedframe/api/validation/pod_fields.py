"""Values, ranges and names of single fields of pods, and fields that the parts of pods must have.

Source of the rules: pkg/apis/core/validation of the API server. Few of these fields are read to schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_RESTART: Final = ("Always", "OnFailure", "Never")
_PULL: Final = ("", "Always", "IfNotPresent", "Never")
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_HIGHEST: Final = 2**31 - 1
_AMOUNT: Final = (0, _HIGHEST)
_WEIGHT: Final = (1, 100)
_COUNT: Final = (1, _HIGHEST)
_MODE: Final = (0, 0o777)
_ID: Final = (0, _HIGHEST)

PORTS: Final = (1, 65535)
"""Lowest and highest number of a port."""

_CONTAINERS: Final = ("core.v1.Container", "core.v1.EphemeralContainer")

POD_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "core.v1.AppArmorProfile.type": _PROFILES,
    "core.v1.AzureDiskVolumeSource.cachingMode": ("None", "ReadOnly", "ReadWrite"),
    "core.v1.AzureDiskVolumeSource.kind": ("Shared", "Dedicated", "Managed"),
    **{f"{each}.imagePullPolicy": _PULL for each in _CONTAINERS},
    **{f"{each}.restartPolicy": _RESTART for each in _CONTAINERS},
    **{f"{each}.terminationMessagePolicy": ("", "File", "FallbackToLogsOnError") for each in _CONTAINERS},
    "core.v1.ContainerPort.protocol": ("", "TCP", "UDP", "SCTP"),
    "core.v1.ContainerResizePolicy.resourceName": ("cpu", "memory"),
    "core.v1.ContainerResizePolicy.restartPolicy": ("NotRequired", "RestartContainer"),
    "core.v1.ContainerRestartRuleOnExitCodes.operator": ("In", "NotIn"),
    "core.v1.HTTPGetAction.scheme": ("", "HTTP", "HTTPS"),
    "core.v1.HostPathVolumeSource.type": (
        *("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File"),
        *("Socket", "CharDevice", "BlockDevice"),
    ),
    "core.v1.ImageVolumeSource.pullPolicy": _PULL,
    "core.v1.PodOS.name": ("linux", "windows"),
    "core.v1.PodSecurityContext.fsGroupChangePolicy": ("OnRootMismatch", "Always"),
    "core.v1.PodSecurityContext.supplementalGroupsPolicy": ("Merge", "Strict"),
    "core.v1.PodSpec.dnsPolicy": ("", "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    "core.v1.PodSpec.preemptionPolicy": ("", *_PREEMPTION),
    "core.v1.PodSpec.restartPolicy": ("", *_RESTART),
    "core.v1.SeccompProfile.type": _PROFILES,
    "core.v1.SecurityContext.procMount": ("Default", "Unmasked"),
    # Lt and Gt are behind a feature gate that is off, and that the scheduler here has not.
    "core.v1.Toleration.operator": ("", "Exists", "Equal"),
    "core.v1.VolumeMount.mountPropagation": ("None", "HostToContainer", "Bidirectional"),
    "core.v1.VolumeMount.recursiveReadOnly": ("Disabled", "IfPossible", "Enabled"),
}
"""Field → its values, as :data:`.rules.VALUES`."""

POD_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "core.v1.ConfigMapVolumeSource.defaultMode": _MODE,
    "core.v1.ContainerPort.containerPort": PORTS,
    "core.v1.ContainerPort.hostPort": (0, PORTS[1]),
    "core.v1.DownwardAPIVolumeFile.mode": _MODE,
    "core.v1.DownwardAPIVolumeSource.defaultMode": _MODE,
    "core.v1.KeyToPath.mode": _MODE,
    "core.v1.PodSecurityContext.fsGroup": _ID,
    "core.v1.PodSecurityContext.runAsGroup": _ID,
    "core.v1.PodSecurityContext.runAsUser": _ID,
    "core.v1.PodSpec.activeDeadlineSeconds": _COUNT,
    "core.v1.PreferredSchedulingTerm.weight": _WEIGHT,
    "core.v1.Probe.failureThreshold": _AMOUNT,
    "core.v1.Probe.initialDelaySeconds": _AMOUNT,
    "core.v1.Probe.periodSeconds": _AMOUNT,
    "core.v1.Probe.successThreshold": _AMOUNT,
    "core.v1.Probe.timeoutSeconds": _AMOUNT,
    "core.v1.ProjectedVolumeSource.defaultMode": _MODE,
    "core.v1.SecretVolumeSource.defaultMode": _MODE,
    "core.v1.SecurityContext.runAsGroup": _ID,
    "core.v1.SecurityContext.runAsUser": _ID,
    "core.v1.ServiceAccountTokenProjection.expirationSeconds": (600, 2**32),
    "core.v1.TopologySpreadConstraint.maxSkew": _COUNT,
    "core.v1.TopologySpreadConstraint.minDomains": _COUNT,
    "core.v1.WeightedPodAffinityTerm.weight": _WEIGHT,
}
"""Field → lowest and highest value."""

_LABEL: Final = (True, True)
_DOMAIN: Final = (False, True)
_DOMAIN_IF_GIVEN: Final = (False, False)

NAMES: Final[Mapping[str, tuple[bool, bool]]] = {
    **{f"{each}.name": _LABEL for each in _CONTAINERS},
    "core.v1.PodResourceClaim.name": _LABEL,
    "core.v1.PodResourceClaim.resourceClaimName": _DOMAIN_IF_GIVEN,
    "core.v1.PodResourceClaim.resourceClaimTemplateName": _DOMAIN_IF_GIVEN,
    "core.v1.PodSchedulingGroup.podGroupName": _DOMAIN_IF_GIVEN,
    "core.v1.PodSpec.hostname": _LABEL,
    "core.v1.PodSpec.hostnameOverride": _DOMAIN_IF_GIVEN,
    "core.v1.PodSpec.nodeName": _DOMAIN,
    "core.v1.PodSpec.priorityClassName": _DOMAIN,
    "core.v1.PodSpec.runtimeClassName": _DOMAIN_IF_GIVEN,
    "core.v1.PodSpec.serviceAccountName": _DOMAIN,
    "core.v1.PodSpec.subdomain": _LABEL,
    "core.v1.Volume.name": _LABEL,
}
"""Field → whether it is a DNS label (or else a DNS subdomain), and whether an empty text is absence."""

POD_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "core.v1.AWSElasticBlockStoreVolumeSource": ("volumeID",),
    "core.v1.AppArmorProfile": ("type",),
    "core.v1.AzureDiskVolumeSource": ("diskName", "diskURI"),
    "core.v1.AzureFileVolumeSource": ("secretName", "shareName"),
    "core.v1.CSIVolumeSource": ("driver",),
    "core.v1.CephFSVolumeSource": ("monitors",),
    "core.v1.CinderVolumeSource": ("volumeID",),
    "core.v1.ConfigMapEnvSource": ("name",),
    "core.v1.ConfigMapKeySelector": ("name", "key"),
    "core.v1.ConfigMapProjection": ("name",),
    "core.v1.ConfigMapVolumeSource": ("name",),
    "core.v1.Container": ("name",),
    "core.v1.ContainerPort": ("containerPort",),
    "core.v1.ContainerResizePolicy": ("resourceName", "restartPolicy"),
    "core.v1.DownwardAPIVolumeFile": ("path",),
    "core.v1.EnvVar": ("name",),
    "core.v1.EphemeralContainer": ("name",),
    "core.v1.EphemeralVolumeSource": ("volumeClaimTemplate",),
    "core.v1.FlexVolumeSource": ("driver",),
    "core.v1.GCEPersistentDiskVolumeSource": ("pdName",),
    "core.v1.GitRepoVolumeSource": ("repository",),
    "core.v1.GlusterfsVolumeSource": ("endpoints", "path"),
    "core.v1.HTTPGetAction": ("port",),
    "core.v1.HostPathVolumeSource": ("path",),
    "core.v1.ISCSIVolumeSource": ("targetPortal", "iqn"),
    "core.v1.KeyToPath": ("key", "path"),
    "core.v1.NFSVolumeSource": ("server", "path"),
    "core.v1.NodeSelector": ("nodeSelectorTerms",),
    "core.v1.NodeSelectorRequirement": ("key", "operator"),
    "core.v1.ObjectFieldSelector": ("fieldPath",),
    "core.v1.PersistentVolumeClaimVolumeSource": ("claimName",),
    "core.v1.PhotonPersistentDiskVolumeSource": ("pdID",),
    "core.v1.Pod": ("spec",),
    "core.v1.PodAffinityTerm": ("topologyKey",),
    "core.v1.PodDNSConfigOption": ("name",),
    "core.v1.PodOS": ("name",),
    "core.v1.PodReadinessGate": ("conditionType",),
    "core.v1.PodResourceClaim": ("name",),
    "core.v1.PodSchedulingGate": ("name",),
    "core.v1.PodSchedulingGroup": ("podGroupName",),
    "core.v1.PodSpec": ("containers",),
    "core.v1.PortworxVolumeSource": ("volumeID",),
    "core.v1.PreferredSchedulingTerm": ("weight", "preference"),
    "core.v1.QuobyteVolumeSource": ("registry", "volume"),
    "core.v1.RBDVolumeSource": ("monitors", "image"),
    "core.v1.ResourceClaim": ("name",),
    "core.v1.ResourceFieldSelector": ("resource",),
    "core.v1.ScaleIOVolumeSource": ("gateway", "system", "volumeName"),
    "core.v1.SeccompProfile": ("type",),
    "core.v1.SecretEnvSource": ("name",),
    "core.v1.SecretKeySelector": ("name", "key"),
    "core.v1.SecretProjection": ("name",),
    "core.v1.SecretVolumeSource": ("secretName",),
    "core.v1.ServiceAccountTokenProjection": ("path",),
    "core.v1.StorageOSVolumeSource": ("volumeName",),
    "core.v1.TCPSocketAction": ("port",),
    "core.v1.TopologySpreadConstraint": ("maxSkew", "topologyKey", "whenUnsatisfiable"),
    "core.v1.Volume": ("name",),
    "core.v1.VolumeDevice": ("name", "devicePath"),
    "core.v1.VolumeMount": ("name", "mountPath"),
    "core.v1.VsphereVirtualDiskVolumeSource": ("volumePath",),
    "core.v1.WeightedPodAffinityTerm": ("weight", "podAffinityTerm"),
}
"""Type → fields that must be there and not be empty, as :data:`.rules.REQUIRED`."""
