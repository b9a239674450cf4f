"""Other objects that scheduling reads: namespaces, priorities, budgets, workloads with their selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from attrs import field

from .._base.value import default_of, value
from ._wire import EMPTY, wire
from .affinity import LabelSelector
from .fieldcodecs import TIMES
from .metadata import NO_META, ClusterObject, Condition, NamespacedObject, ObjectMeta
from .pod_template import PodTemplateSpec
from .volumes import PersistentVolumeClaimTemplate

LABEL_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""Label of every namespace with its own name."""


@value
class Namespace(ClusterObject):
    """A namespace; only its labels matter."""

    KIND: ClassVar[str] = "Namespace"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META


@value
class PriorityClass(ClusterObject):
    """A named priority; ``preemption_policy`` is PreemptLowerPriority (None too) or Never."""

    KIND: ClassVar[str] = "PriorityClass"
    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META
    value: int = field(default=0, metadata=wire(bits=32, always=True))
    global_default: bool = False
    preemption_policy: str | None = None
    description: str = ""


@value
class ServiceSpec:
    """The pods of a service; an empty selector is no selector."""

    selector: Mapping[str, str] = EMPTY
    cluster_ip: str = field(default="", metadata=wire("clusterIP"))
    type: str = ""


@value
class Service(NamespacedObject):
    """A service; its selector takes part in default spreading."""

    KIND: ClassVar[str] = "Service"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ServiceSpec = default_of(ServiceSpec)


@value
class ReplicationControllerSpec:
    """The number of pods (``None``: 1), their selector, and what they are made from."""

    replicas: int | None = field(default=None, metadata=wire(bits=32))
    selector: Mapping[str, str] = EMPTY
    template: PodTemplateSpec | None = None


@value
class ReplicationController(NamespacedObject):
    """A replication controller; its selector takes part in default spreading."""

    KIND: ClassVar[str] = "ReplicationController"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ReplicationControllerSpec = default_of(ReplicationControllerSpec)


@value
class ReplicaSetSpec:
    """The number of pods (``None``: 1), their selector, and what they are made from."""

    replicas: int | None = field(default=None, metadata=wire(bits=32))
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


@value
class ReplicaSet(NamespacedObject):
    """A replica set; its selector takes part in default spreading."""

    KIND: ClassVar[str] = "ReplicaSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ReplicaSetSpec = default_of(ReplicaSetSpec)


@value
class StatefulSetOrdinals:
    """The ordinal of the first pod of a stateful set."""

    start: int = field(default=0, metadata=wire(bits=32, always=True))


@value
class StatefulSetSpec:
    """The number of pods (``None``: 1), their selector, and what they and their claims are made from."""

    replicas: int | None = field(default=None, metadata=wire(bits=32))
    selector: LabelSelector | None = None
    service_name: str = ""
    template: PodTemplateSpec | None = None
    volume_claim_templates: tuple[PersistentVolumeClaimTemplate, ...] = ()
    ordinals: StatefulSetOrdinals | None = None


@value
class StatefulSet(NamespacedObject):
    """A stateful set; its selector takes part in default spreading."""

    KIND: ClassVar[str] = "StatefulSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: StatefulSetSpec = default_of(StatefulSetSpec)


@value
class PodDisruptionBudgetSpec:
    """The selected pods, and the number that must stay: a number, or a percentage as a string."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


@value
class PodDisruptionBudgetStatus:
    """The number of pods that may still be disrupted.

    ``disrupted_pods``: pods whose eviction is already counted → time (epoch seconds).
    """

    observed_generation: int = 0
    disrupted_pods: Mapping[str, float] = field(default=EMPTY, metadata=TIMES)
    disruptions_allowed: int = field(default=0, metadata=wire(bits=32, always=True))
    current_healthy: int = field(default=0, metadata=wire(bits=32, always=True))
    desired_healthy: int = field(default=0, metadata=wire(bits=32, always=True))
    expected_pods: int = field(default=0, metadata=wire(bits=32, always=True))
    conditions: tuple[Condition, ...] = ()


@value
class PodDisruptionBudget(NamespacedObject):
    """A limit on the selected pods that may be disrupted at the same time."""

    KIND: ClassVar[str] = "PodDisruptionBudget"
    API_VERSION: ClassVar[str] = "policy/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: PodDisruptionBudgetSpec = default_of(PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = default_of(PodDisruptionBudgetStatus)
