"""Workloads that scheduling itself does not read: their controllers make pods, or objects that make pods."""

from __future__ import annotations

from typing import ClassVar, Final

from attrs import field

from .._base.value import default_of, value
from ._wire import wire
from .affinity import LabelSelector
from .metadata import NO_META, ClusterObject, Condition, NamespacedObject, ObjectMeta
from .pod_template import PodTemplateSpec

INDEXED: Final = "Indexed"
"""``completion_mode`` of jobs whose pods have an index each."""


@value
class DeploymentSpec:
    """The number of pods (``None``: 1), their selector, and what they are made from."""

    replicas: int | None = field(default=None, metadata=wire(bits=32))
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    paused: bool = False


@value
class Deployment(NamespacedObject):
    """A deployment; its pods belong to a replica set that it makes."""

    KIND: ClassVar[str] = "Deployment"
    API_VERSION: ClassVar[str] = "apps/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: DeploymentSpec = default_of(DeploymentSpec)


@value
class DaemonSetSpec:
    """The selector of the pods, and what they are made from."""

    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


@value
class DaemonSet(NamespacedObject):
    """A daemon set: a pod for each node that is eligible."""

    KIND: ClassVar[str] = "DaemonSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: DaemonSetSpec = default_of(DaemonSetSpec)


@value
class JobSpec:
    """The number of pods at a time and in all (both ``None``: 1), and what they are made from."""

    parallelism: int | None = field(default=None, metadata=wire(bits=32))
    completions: int | None = field(default=None, metadata=wire(bits=32))
    completion_mode: str | None = None
    suspend: bool | None = None
    manual_selector: bool | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


@value
class JobStatus:
    """The progress of a job. ``completed_indexes`` is a text such as ``0-2,5``."""

    conditions: tuple[Condition, ...] = ()
    succeeded: int = field(default=0, metadata=wire(bits=32))
    completed_indexes: str = ""


@value
class Job(NamespacedObject):
    """A job: pods that run to completion."""

    KIND: ClassVar[str] = "Job"
    API_VERSION: ClassVar[str] = "batch/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: JobSpec = default_of(JobSpec)
    status: JobStatus = default_of(JobStatus)


@value
class JobTemplateSpec:
    """Labels, annotations and spec of the jobs of a cron job."""

    metadata: ObjectMeta = NO_META
    spec: JobSpec = default_of(JobSpec)


@value
class CronJobSpec:
    """The template of the jobs; a suspended cron job makes none."""

    suspend: bool | None = None
    job_template: JobTemplateSpec = default_of(JobTemplateSpec)


@value
class CronJob(NamespacedObject):
    """A cron job: a job at each time of its schedule."""

    KIND: ClassVar[str] = "CronJob"
    API_VERSION: ClassVar[str] = "batch/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: CronJobSpec = default_of(CronJobSpec)


@value
class PodTemplate(NamespacedObject):
    """A template for pods that no controller watches."""

    KIND: ClassVar[str] = "PodTemplate"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    template: PodTemplateSpec | None = None


CONTROLLER_KINDS: Final[tuple[type[ClusterObject], ...]] = (Deployment, DaemonSet, Job, CronJob, PodTemplate)
"""Classes to pass as *kinds* to :func:`from_manifest` and :func:`load_manifests` to read such workloads."""
