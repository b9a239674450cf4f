"""Nodes, volumes, claims, classes, budgets and workloads: the check of each published type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ....errors import InputError
from .attachments import (
    check_attachment_source,
    check_attachment_spec,
    check_csi_node_spec,
    check_driver_spec,
    check_storage_capacity,
)
from .budgets import check_budget_spec
from .claims import check_claim_spec
from .classes import check_priority_class, check_storage_class
from .device_claims import CLAIM_CHECKS
from .device_slices import SLICE_CHECKS
from .groups import GROUP_CHECKS
from .jobs import check_cron_job, check_cron_job_spec, check_job, check_job_spec, check_job_template
from .limits import (
    check_class_scheduling,
    check_limit_range_spec,
    check_overhead,
    check_quota_spec,
    check_scope,
)
from .nodes import check_node_spec, check_node_status
from .unions import UNIONS
from .volumes import check_volume, check_volume_spec
from .workloads import (
    check_controller_spec,
    check_daemon_set_spec,
    check_deployment_spec,
    check_replica_set_spec,
    check_stateful_set_spec,
    with_claims_as_volumes,
)

CLUSTER_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterable[InputError]]]] = {
    **CLAIM_CHECKS,
    **GROUP_CHECKS,
    **SLICE_CHECKS,
    "apps.v1.DaemonSetSpec": check_daemon_set_spec,
    "apps.v1.DeploymentSpec": check_deployment_spec,
    "apps.v1.ReplicaSetSpec": check_replica_set_spec,
    "apps.v1.StatefulSetSpec": check_stateful_set_spec,
    "batch.v1.CronJob": check_cron_job,
    "batch.v1.CronJobSpec": check_cron_job_spec,
    "batch.v1.Job": check_job,
    "batch.v1.JobSpec": check_job_spec,
    "batch.v1.JobTemplateSpec": check_job_template,
    "core.v1.LimitRangeSpec": check_limit_range_spec,
    "core.v1.NodeSpec": check_node_spec,
    "core.v1.NodeStatus": check_node_status,
    "core.v1.PersistentVolume": check_volume,
    "core.v1.PersistentVolumeClaimSpec": check_claim_spec,
    "core.v1.PersistentVolumeSpec": check_volume_spec,
    "core.v1.ReplicationControllerSpec": check_controller_spec,
    "core.v1.ResourceQuotaSpec": check_quota_spec,
    "core.v1.ScopedResourceSelectorRequirement": check_scope,
    "node.v1.Overhead": check_overhead,
    "node.v1.Scheduling": check_class_scheduling,
    "policy.v1.PodDisruptionBudgetSpec": check_budget_spec,
    "scheduling.v1.PriorityClass": check_priority_class,
    "storage.v1.CSIDriverSpec": check_driver_spec,
    "storage.v1.CSINodeSpec": check_csi_node_spec,
    "storage.v1.CSIStorageCapacity": check_storage_capacity,
    "storage.v1.StorageClass": check_storage_class,
    "storage.v1.VolumeAttachmentSource": check_attachment_source,
    "storage.v1.VolumeAttachmentSpec": check_attachment_spec,
}
"""Published type → its check."""

REQUIRED_CLUSTER_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterable[InputError]]]] = UNIONS
"""Published type → its check of what must be there, which is made only if missing fields count."""

SEEN_AS: Final[Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]] = {
    "apps.v1.StatefulSetSpec": with_claims_as_volumes,
}
"""Published type → the value that is checked in its place."""
