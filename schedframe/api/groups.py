"""Groups of pods that are scheduled together: PodGroup, and Workload, from which controllers make them.

One class reads all versions: v1alpha2 of Kubernetes v1.36, v1alpha3 and v1beta1 of v1.37. An object is
written in the version in which it was read, and in v1alpha2 if it was made in Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from attrs import field

from .._base.checked import check_arguments
from .._base.value import default_of, value
from ..errors import InputError
from ._wire import wire
from .metadata import NO_META, Condition, NamespacedObject, ObjectMeta
from .pod import Pod
from .valuecodecs import describe

POD_GROUP_SCHEDULED: Final = "PodGroupScheduled"
"""Type of the condition that says whether a group was scheduled."""
POD_GROUP_INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"
"""The same from v1.37 on."""
DISRUPT_PODS: Final = "Pod"
"""``disruption_mode``: pods of the group may be preempted one by one. The default; ``single`` in v1beta1."""
DISRUPT_GROUP: Final = "PodGroup"
"""``disruption_mode``: the pods of the group are preempted together or not at all; ``all`` in v1beta1."""
MOST_TOPOLOGY_CONSTRAINTS: Final = 1
MOST_TEMPLATES: Final = 8
MOST_CLAIMS: Final = 4
"""Resource claims of a group, at most."""

_FIRST_VERSION: Final = "scheduling.k8s.io/v1alpha2"
_MODES: Final = {"single": DISRUPT_PODS, "all": DISRUPT_GROUP}
_LATER_MODES: Final = {mode: name for name, mode in _MODES.items()}


def _decode_mode(value: Any) -> str:
    """Return the disruption mode: a text in v1alpha2, an object with one member in later versions."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and len(value) == 1 and (mode := _MODES.get(next(iter(value)))):
        return mode
    raise InputError("", f"expected a disruption mode, got {describe(value)}", "write single: {} or all: {}")


def _same(value: str) -> str:
    return value


_MODE: Final = wire(decode=_decode_mode, encode=_same)


def _decode_version(value: Any) -> str:
    """Return an API version, empty for that of v1.36."""
    return "" if value == _FIRST_VERSION else str(value)


VERSION: Final = wire("apiVersion", decode=_decode_version, encode=_same)


def _write_modes(*specs: dict[str, Any]) -> None:
    """Give the disruption modes the form of v1alpha3 and v1beta1."""
    for spec in specs:
        if mode := _LATER_MODES.get(spec.get("disruptionMode", "")):
            spec["disruptionMode"] = {mode: {}}


@value
class BasicSchedulingPolicy:
    """The pods of the group are scheduled as they come; it has no fields."""


@value
class GangSchedulingPolicy:
    """The group is scheduled only if ``min_count`` of its pods can be, those that run already included."""

    min_count: int = field(default=0, metadata=wire(bits=32, always=True))

    def _check_manifest(self) -> None:
        if self.min_count < 1:
            raise InputError("minCount", f"{self.min_count} is out of range", "write a number 1 or more")


@value
class PodGroupSchedulingPolicy:
    """Exactly one of two policies."""

    basic: BasicSchedulingPolicy | None = field(default=None, metadata=wire(encode=lambda _: {}))
    gang: GangSchedulingPolicy | None = None

    def _check_manifest(self) -> None:
        if (self.basic is None) == (self.gang is None):
            found = "both basic and gang" if self.basic is not None else "neither basic nor gang"
            raise InputError("gang", f"there is {found}", "write one of basic: {} and gang: {minCount: …}")


@value
class TopologyConstraint:
    """All pods of the group run on nodes with one value of the label ``key``."""

    key: str = field(default="", metadata=wire(always=True))


@value
class PodGroupSchedulingConstraints:
    """Limits to where the pods of a group may run; at most one topology constraint."""

    topology: tuple[TopologyConstraint, ...] = ()

    def _check_manifest(self) -> None:
        if len(self.topology) > MOST_TOPOLOGY_CONSTRAINTS:
            raise InputError("topology", f"has {len(self.topology)} entries", "write at most one")
        if any(not each.key for each in self.topology):
            raise InputError("topology[0].key", "is missing or empty", "name a label of nodes")


@value
class WorkloadPodGroupTemplateReference:
    """A workload, and the template in it from which a group was made."""

    workload_name: str = ""
    pod_group_template_name: str = ""


@value
class PodGroupTemplateReference:
    """The origin of a group, as v1alpha2 writes it."""

    workload: WorkloadPodGroupTemplateReference | None = None


@value
class WorkloadReference:
    """The origin of a group, as v1beta1 writes it."""

    workload_name: str = ""
    template_name: str = ""


@value
class PodGroupResourceClaim:
    """A claim that the pods of a group share, by its name or by that of a template for it."""

    name: str = field(default="", metadata=wire(always=True))
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None

    def _check_manifest(self) -> None:
        if (self.resource_claim_name is None) == (self.resource_claim_template_name is None):
            found = "neither" if self.resource_claim_name is None else "both"
            problem = f"has {found} of resourceClaimName and resourceClaimTemplateName"
            raise InputError("resourceClaimName", problem, "write one of them")


def _check_claims(claims: Sequence[PodGroupResourceClaim]) -> None:
    """Raise :class:`InputError` if a group has too many claims, or two of one name."""
    if len(claims) > MOST_CLAIMS:
        raise InputError("resourceClaims", f"has {len(claims)} entries", f"write at most {MOST_CLAIMS}")
    names = [claim.name for claim in claims]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(f"resourceClaims[{i}].name", f"{name!r} is there twice", "name each claim once")


@value
class PodGroupSpec:
    """The specification of a group. Scheduling does not read where the group came from."""

    scheduling_policy: PodGroupSchedulingPolicy = field(
        default=PodGroupSchedulingPolicy(BasicSchedulingPolicy()), metadata=wire(always=True)
    )
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    """Not ``None`` if it is set at all, even without an entry."""
    priority: int | None = field(default=None, metadata=wire(bits=32))
    priority_class_name: str = ""
    preemption_policy: str | None = None
    disruption_mode: str = field(default="", metadata=_MODE)
    """:data:`DISRUPT_PODS` (as the empty text) or :data:`DISRUPT_GROUP`."""
    pod_group_template_ref: PodGroupTemplateReference | None = None
    workload_ref: WorkloadReference | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    """Scheduling does not read them: the gate DRAWorkloadResourceClaims cannot be switched on."""

    def _check_manifest(self) -> None:
        _check_claims(self.resource_claims)

    @property
    def min_count(self) -> int:
        """``scheduling_policy.gang.min_count``; 0 for a group that is no gang."""
        gang = self.scheduling_policy.gang
        return 0 if gang is None else gang.min_count

    @property
    def topology_key(self) -> str:
        """The label of the topology constraint; empty without one."""
        constraints = self.scheduling_constraints
        return constraints.topology[0].key if constraints is not None and constraints.topology else ""


@value
class PodGroupStatus:
    """The status of a group."""

    conditions: tuple[Condition, ...] = ()

    def condition(self, type: str) -> Condition | None:
        """Return the condition of that type, ``None`` without one."""
        return next((condition for condition in self.conditions if condition.type == type), None)


@value
class PodGroup(NamespacedObject):
    """A group of pods; its members name it in ``spec.schedulingGroup``."""

    KIND: ClassVar[str] = "PodGroup"
    API_VERSION: ClassVar[str] = _FIRST_VERSION
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: PodGroupSpec = default_of(PodGroupSpec)
    status: PodGroupStatus = default_of(PodGroupStatus)
    api_version: str = field(default="", metadata=VERSION)
    """The version in which it was read; empty for :attr:`API_VERSION`."""

    @property
    def priority(self) -> int:
        """``spec.priority``, 0 if none is set."""
        return self.spec.priority or 0

    @property
    def scheduled_type(self) -> str:
        """Type of the condition that says whether the group was scheduled, as its version names it."""
        return POD_GROUP_INITIALLY_SCHEDULED if self.api_version else POD_GROUP_SCHEDULED

    def _as_written(self, manifest: dict[str, Any]) -> None:
        if self.api_version:
            _write_modes(manifest.get("spec", {}))


def group_of(pod: Pod) -> str:
    """Return the key (``namespace/name``) of the group that *pod* names; empty if it names none. O(1)."""
    try:
        group = pod.spec.scheduling_group
    except AttributeError:
        check_arguments(group_of, pod)
        raise
    if group is None or not group.pod_group_name:
        return ""
    return f"{pod.namespace}/{group.pod_group_name}"


@value
class PodGroupTemplate:
    """A named template of groups."""

    name: str = ""
    scheduling_policy: PodGroupSchedulingPolicy = field(
        default=PodGroupSchedulingPolicy(BasicSchedulingPolicy()), metadata=wire(always=True)
    )
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    priority: int | None = field(default=None, metadata=wire(bits=32))
    priority_class_name: str = ""
    preemption_policy: str | None = None
    disruption_mode: str = field(default="", metadata=_MODE)


@value
class WorkloadSpec:
    """Templates of groups, at most eight."""

    pod_group_templates: tuple[PodGroupTemplate, ...] = ()

    def _check_manifest(self) -> None:
        if len(self.pod_group_templates) > MOST_TEMPLATES:
            found = len(self.pod_group_templates)
            raise InputError("podGroupTemplates", f"has {found} entries", f"write at most {MOST_TEMPLATES}")


@value
class Workload(NamespacedObject):
    """Templates from which controllers make groups of pods. Scheduling does not read it."""

    KIND: ClassVar[str] = "Workload"
    API_VERSION: ClassVar[str] = _FIRST_VERSION
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: WorkloadSpec = default_of(WorkloadSpec)
    api_version: str = field(default="", metadata=VERSION)
    """The version in which it was read; empty for :attr:`API_VERSION`."""

    def _as_written(self, manifest: dict[str, Any]) -> None:
        if self.api_version:
            _write_modes(*manifest.get("spec", {}).get("podGroupTemplates", ()))
