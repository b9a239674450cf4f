"""The status of a pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Final

from attrs import field, fields

from .._base.value import value
from ._copying import compile_copy
from ._wire import wire
from .containers import ResourceRequirements
from .fieldcodecs import TIME
from .quantity import Quantity

PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"

POD_SCHEDULED: Final = "PodScheduled"
"""Type of the condition that the scheduler writes."""
DISRUPTION_TARGET: Final = "DisruptionTarget"
"""Type of the condition of a pod that is evicted."""
POD_RESIZE_PENDING: Final = "PodResizePending"
"""Type of the condition of a pending resize in place; its reason is Deferred or Infeasible."""


@value(weakref_slot=False)
class PodCondition:
    """One condition; at most one for each type. Times are seconds since the epoch."""

    type: str = field(default="", metadata=wire(always=True))
    status: str = field(default="", metadata=wire(always=True))
    reason: str = ""
    message: str = field(default="", metadata=wire(unique=True))
    observed_generation: int = 0
    last_probe_time: float | None = field(default=None, metadata=TIME)
    last_transition_time: float | None = field(default=None, metadata=TIME)

    def at(self, moment: float | None) -> PodCondition:
        """Return the same condition with that ``last_transition_time``."""
        return _at(self, moment)

    def timeless(self) -> PodCondition:
        """Return the same condition without times."""
        return _with_times(self, None, None)


_at: Final[Callable[..., PodCondition]] = compile_copy(PodCondition, "last_transition_time")
_with_times: Final[Callable[..., PodCondition]] = compile_copy(
    PodCondition, "last_probe_time", "last_transition_time"
)


@value(weakref_slot=False)
class ContainerStatus:
    """Status of a container. A resize in place reads ``allocated_resources`` and ``resources``."""

    name: str = field(default="", metadata=wire(always=True))
    ready: bool = field(default=False, metadata=wire(always=True))
    restart_count: int = field(default=0, metadata=wire(bits=32, always=True))
    image: str = field(default="", metadata=wire(always=True))
    image_id: str = field(default="", metadata=wire("imageID", always=True))
    started: bool | None = None
    allocated_resources: Mapping[str, Quantity] | None = None
    resources: ResourceRequirements | None = None


@value(weakref_slot=False)
class PodResourceClaimStatus:
    """The claim for an entry of ``spec.resource_claims``; ``None`` if none had to be created."""

    name: str = field(default="", metadata=wire(always=True))
    resource_claim_name: str | None = field(default=None, metadata=wire(unique=True))


@value(weakref_slot=False)
class ContainerExtendedResourceRequest:
    """The request of a claim that serves an extended resource of a container."""

    container_name: str = field(default="", metadata=wire(always=True))
    resource_name: str = field(default="", metadata=wire(always=True))
    request_name: str = field(default="", metadata=wire(always=True))


@value(weakref_slot=False)
class PodExtendedResourceClaimStatus:
    """The claim for extended resources that a device class backs."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = field(
        default=(), metadata=wire(always=True)
    )
    resource_claim_name: str = field(default="", metadata=wire(always=True, unique=True))


@value(weakref_slot=False)
class PodStatus:
    """Status of a pod. ``resources`` and ``allocated_resources`` are those of the pod as a whole."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    nominated_node_name: str = ""
    reason: str = ""
    message: str = field(default="", metadata=wire(unique=True))
    start_time: float | None = field(default=None, metadata=TIME)
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: Mapping[str, Quantity] | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    resize: str = ""
    qos_class: str = ""
    host_ip: str = field(default="", metadata=wire("hostIP"))
    pod_ip: str = field(default="", metadata=wire("podIP", unique=True))
    observed_generation: int = 0

    def with_nomination(self, node_name: str) -> PodStatus:
        """Return the same status with that ``nominated_node_name``."""
        return _with_nomination(self, node_name)

    def with_conditions(self, conditions: tuple[PodCondition, ...]) -> PodStatus:
        """Return the same status with these conditions."""
        return _with_conditions(self, conditions)

    def is_like(self, other: PodStatus) -> bool:
        """Return whether both differ at most in conditions and nomination, which schedulers write."""
        return bool(_others(self) == _others(other))

    def condition(self, type: str) -> PodCondition | None:
        """Return the condition of that type, ``None`` if there is none."""
        for condition in self.conditions:
            if condition.type == type:
                return condition
        return None


NO_STATUS: Final = PodStatus()


_with_nomination: Final[Callable[..., PodStatus]] = compile_copy(PodStatus, "nominated_node_name")
_with_conditions: Final[Callable[..., PodStatus]] = compile_copy(PodStatus, "conditions")
_others: Final = attrgetter(
    *(each.name for each in fields(PodStatus) if each.name not in ("conditions", "nominated_node_name"))
)
