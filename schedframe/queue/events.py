"""Cluster events: a resource and a set of actions.

Bits, spelling and matching are those of the reference (k8s.io/kube-scheduler framework/types.go and
pkg/scheduler/framework/events.go, v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum, IntFlag, StrEnum
from typing import Any, Final, TypeAlias

from attrs import field

from .._base.value import value
from ..api import Pod


class Action(IntFlag):
    """Kinds of change; ``|`` means "any of these". :func:`matches` compares the numbers."""

    NONE = 0
    """No change."""
    ADD = 1 << 0
    """The object was created, or came to be seen."""
    DELETE = 1 << 1
    """The object was deleted."""
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    """Allocatable resources of the node changed."""
    UPDATE_NODE_LABEL = 1 << 3
    """Labels of the node changed."""
    UPDATE_NODE_TAINT = 1 << 4
    """Taints changed, or the node became schedulable."""
    UPDATE_NODE_CONDITION = 1 << 5
    """Conditions of the node changed, other than in their times."""
    UPDATE_NODE_ANNOTATION = 1 << 6
    """Annotations of the node changed."""
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    """Features that the node declares changed."""
    UPDATE_POD_LABEL = 1 << 8
    """Labels of the pod changed."""
    UPDATE_POD_SCALE_DOWN = 1 << 9
    """Some resource request of the pod went down."""
    UPDATE_POD_TOLERATION = 1 << 10
    """Tolerations of the pod changed."""
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11
    """The last scheduling gate is gone."""
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12
    """The status of the pod names other claims that were made for it."""
    ALL = (1 << 13) - 1
    """Any change."""
    UPDATE = ALL & ~(ADD | DELETE)
    """Any update: all of the above but ADD and DELETE."""

    @property
    def label(self) -> str:
        """Return the reference's spelling: ``UpdateNodeLabel``, ``Update``, ``All``; empty for other sets."""
        return _ACTION_LABELS.get(int(self), "")

    @classmethod
    def parse(cls, label: str) -> Action:
        """Return the action with that :attr:`label`. Raises ``KeyError`` for any other text."""
        return _ACTIONS[label]


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


_ACTIONS: Final = {
    _camel(name): action for name, action in Action.__members__.items() if action is not Action.NONE
}
_ACTION_LABELS: Final = {int(action): label for label, action in _ACTIONS.items()}


class EventResource(StrEnum):
    """Kinds of objects that events are about. Any other kind may be used by its name, as a plain string."""

    POD = "Pod"
    """In a registration: both of the next two. Events are always about one of those."""
    ASSIGNED_POD = "AssignedPod"
    """A pod that has a node, had one, or was nominated to one."""
    UNSCHEDULABLE_POD = "UnschedulablePod"
    """The waiting pod itself."""
    NODE = "Node"
    """Nodes."""
    PERSISTENT_VOLUME = "PersistentVolume"
    """Persistent volumes."""
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    """Persistent volume claims."""
    CSI_NODE = "storage.k8s.io/CSINode"
    """CSINode: drivers on a node and their limits."""
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    """CSIDriver: properties of a volume driver."""
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    """CSIStorageCapacity: room that a driver offers."""
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    """Storage classes."""
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    """Attachments of volumes to nodes."""
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    """Claims to devices."""
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    """Devices that a driver offers."""
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    """Device classes."""
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    """Groups of pods."""
    WILDCARD = "*"
    """Any kind."""


_KIND_RESOURCES: Final[Mapping[str, str]] = {
    resource.value.rpartition("/")[2]: resource.value
    for resource in EventResource
    if resource is not EventResource.WILDCARD
}


def resource_of(kind: str) -> str:
    """Return the event resource of a kind: ``CSINode`` → ``storage.k8s.io/CSINode``; other kinds as given."""
    return _KIND_RESOURCES.get(kind, kind)


def _plain(resource: str) -> str:
    return str(resource)


@value(cache_hash=True)
class ClusterEvent:
    """*actions* on *resource*. ``str(event)`` is its label: ``NodeUpdateNodeLabel``, or ``name`` if set."""

    resource: str = field(converter=_plain)
    actions: Action
    name: str = ""
    """Label in place of the derived one, for forced moves."""
    label: str = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "label", self.name or f"{self.resource}{self.actions.label}")

    def __str__(self) -> str:
        return self.label

    @property
    def is_wildcard(self) -> bool:
        """Return whether this is the wildcard: it concerns every pod, whatever its rejectors registered."""
        return self.resource == EventResource.WILDCARD and self.actions == Action.ALL


@value(cache_hash=True)
class EventOf:
    """*event* about one object: what a ``Status.wait`` ends at if many pods wait for events of that kind."""

    event: ClusterEvent
    key: str
    """Of the object: ``namespace/name``, or the name."""
    seen_version: str = ""
    """Resource version of the object that was looked at: an event that shows it is no news."""


WILDCARD: Final = ClusterEvent(EventResource.WILDCARD, Action.ALL)
FORCE_ACTIVATE: Final = ClusterEvent(EventResource.WILDCARD, Action.ALL, "ForceActivate")
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(EventResource.WILDCARD, Action.ALL, "UnschedulableTimeout")
ASSIGNED_POD_ADD: Final = ClusterEvent(EventResource.ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_DELETE: Final = ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE)
UNSCHEDULABLE_POD_ADD: Final = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.ADD)
UNSCHEDULABLE_POD_UPDATE: Final = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE)

_PODS: Final = (EventResource.ASSIGNED_POD, EventResource.UNSCHEDULABLE_POD)


def matches(registered: ClusterEvent, event: ClusterEvent) -> bool:
    """Return whether the hint of a plugin that registered *registered* runs for *event*.

    A registered wildcard matches everything. Otherwise the resources must agree (``*`` with all, ``Pod`` with
    both kinds of pods), the actions must have one in common, and those of *event* must not exceed the
    registered ones as numbers: so the wildcard event matches only a registered wildcard.
    """
    if registered.is_wildcard:
        return True
    wanted, resource = registered.resource, event.resource
    if wanted not in (EventResource.WILDCARD, resource) and not (
        wanted == EventResource.POD and resource in _PODS
    ):
        return False
    mine, theirs = int(registered.actions), int(event.actions)
    return mine & theirs != 0 and theirs <= mine


class QueueingHint(IntEnum):
    """Answer of a hint about an event and a pod that its plugin rejected. A ``bool`` is accepted too."""

    SKIP = 0
    """The event does not help the pod."""
    QUEUE = 1
    """The pod may be schedulable now: try again."""


HintFn: TypeAlias = Callable[[Pod, Any, Any], "QueueingHint | bool"]
"""``hint(pod, old, new)``: the waiting pod; the object before and after, ``None`` if added or deleted."""


class HintReads(IntEnum):
    """Parts of the waiting pod that a hint reads. The less they are, the fewer calls an event costs."""

    EVENT = 0
    """Nothing: the answer is the same for all pods that the plugin rejected."""
    CLASS = 1
    """Namespace, labels, annotations, owner references and spec: one call for pods that are equal there. The
    uid may be compared with that of a waiting pod whose event it is: that pod waits alone then.
    """
    POD = 2
    """Anything, such as its name: one call for each pod."""


@value
class EventRegistration:
    """An event that may help pods that a plugin rejected. Without a *hint* it always does (QUEUE).

    A hint that raises counts as QUEUE, so that no pod stays behind because of it, and the fault is reported.
    """

    event: ClusterEvent
    hint: HintFn | None = None
    hint_reads: HintReads = HintReads.POD
    """What *hint* reads of the waiting pod."""
    same_for_all: Action = Action.NONE
    """Actions at which *hint* reads nothing of the pod, whatever ``hint_reads`` says."""

    def reads_at(self, event: ClusterEvent) -> HintReads:
        """Return what is read of the pod at *event*."""
        always = self.hint is None or not event.actions & ~self.same_for_all
        return HintReads.EVENT if always else self.hint_reads


_UNREGISTERED: Final = (
    EventResource.POD,
    EventResource.NODE,
    EventResource.PERSISTENT_VOLUME,
    EventResource.PERSISTENT_VOLUME_CLAIM,
    EventResource.CSI_NODE,
    EventResource.CSI_DRIVER,
    EventResource.CSI_STORAGE_CAPACITY,
    EventResource.STORAGE_CLASS,
    EventResource.RESOURCE_CLAIM,
    EventResource.DEVICE_CLASS,
)
EVERYTHING: Final = tuple(EventRegistration(ClusterEvent(resource, Action.ALL)) for resource in _UNREGISTERED)
"""The registrations of a plugin without ``events_to_register``."""


def with_implied(registrations: Iterable[EventRegistration]) -> tuple[EventRegistration, ...]:
    """Return the *registrations* of one plugin, with ``Node/UpdateNodeTaint`` if they have ``Node/Add``.

    A node that is added before it is ready for the plugin's pods may become ready by an update that is
    derived as a change of taints only, so a plugin that registered the addition needs that event too.
    """
    given = tuple(registrations)
    node = Action.NONE
    for registration in given:
        if registration.event.resource == EventResource.NODE:
            node |= registration.event.actions
    if node & Action.ADD and not node & Action.UPDATE_NODE_TAINT:
        taint = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_TAINT)
        return (*given, EventRegistration(taint))
    return given


def registered_actions(registrations: Iterable[EventRegistration]) -> dict[str, Action]:
    """Return resource → all registered actions, as :func:`derive_events` takes it."""
    actions: dict[str, Action] = {}
    for registration in registrations:
        event = registration.event
        actions[event.resource] = actions.get(event.resource, Action.NONE) | event.actions
    return actions
