"""Objects beside the pod that scheduling reads: namespaces, priorities, budgets, and what selects pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from attrs import field, frozen

from ._wire import EMPTY, wire
from .affinity import LabelSelector
from .fieldcodecs import TIMES
from .metadata import NO_META, ClusterObject, Condition, NamespacedObject, ObjectMeta

LABEL_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""Label that every namespace carries: its own name."""


@frozen
class Namespace(ClusterObject):
    """A namespace; only its labels matter."""

    KIND: ClassVar[str] = "Namespace"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META


@frozen
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


@frozen
class ServiceSpec:
    """Which pods the service stands for; an empty selector is no selector."""

    selector: Mapping[str, str] = EMPTY
    cluster_ip: str = field(default="", metadata=wire("clusterIP"))
    type: str = ""


@frozen
class Service(NamespacedObject):
    """A service; its selector takes part in default spreading."""

    KIND: ClassVar[str] = "Service"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ServiceSpec = ServiceSpec()


@frozen
class ReplicationControllerSpec:
    """How many pods, and which."""

    replicas: int | None = field(default=None, metadata=wire(bits=32))
    selector: Mapping[str, str] = EMPTY


@frozen
class ReplicationController(NamespacedObject):
    """A replication controller; its selector takes part in default spreading."""

    KIND: ClassVar[str] = "ReplicationController"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


@frozen
class ReplicaSetSpec:
    """How many pods, and which."""

    replicas: int | None = field(default=None, metadata=wire(bits=32))
    selector: LabelSelector | None = None


@frozen
class ReplicaSet(NamespacedObject):
    """A replica set; its selector takes part in default spreading."""

    KIND: ClassVar[str] = "ReplicaSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ReplicaSetSpec = ReplicaSetSpec()


@frozen
class StatefulSetSpec:
    """How many pods, and which."""

    replicas: int | None = field(default=None, metadata=wire(bits=32))
    selector: LabelSelector | None = None
    service_name: str = ""


@frozen
class StatefulSet(NamespacedObject):
    """A stateful set; its selector takes part in default spreading."""

    KIND: ClassVar[str] = "StatefulSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: StatefulSetSpec = StatefulSetSpec()


@frozen
class PodDisruptionBudgetSpec:
    """Which pods, and how many must stay: a number, or a percentage as a string."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


@frozen
class PodDisruptionBudgetStatus:
    """How many more may go. ``disrupted_pods``: names of pods whose eviction is already counted, and when
    (epoch).
    """

    observed_generation: int = 0
    disrupted_pods: Mapping[str, float] = field(default=EMPTY, metadata=TIMES)
    disruptions_allowed: int = field(default=0, metadata=wire(bits=32, always=True))
    current_healthy: int = field(default=0, metadata=wire(bits=32, always=True))
    desired_healthy: int = field(default=0, metadata=wire(bits=32, always=True))
    expected_pods: int = field(default=0, metadata=wire(bits=32, always=True))
    conditions: tuple[Condition, ...] = ()


@frozen
class PodDisruptionBudget(NamespacedObject):
    """How many of the selected pods may be disrupted at the same time."""

    KIND: ClassVar[str] = "PodDisruptionBudget"
    API_VERSION: ClassVar[str] = "policy/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
