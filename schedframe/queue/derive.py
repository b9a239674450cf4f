"""Derivation of cluster events from changed objects, as in the reference.

Rules and their order: pkg/scheduler/framework/events.go and eventhandlers.go of Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from .._base.value import record
from ..api import DEFAULT_SCHEDULER_NAME, Node, Pod, pod_requests
from .events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    Action,
    ClusterEvent,
    EventResource,
    resource_of,
)

Registered: TypeAlias = Mapping[str, Action]
"""Event resource → the actions that plugins registered, see :func:`registered_actions`."""


@record(frozen=True)
class ObjectEvent:
    """An event with the objects that hints are given.

    ``max_priority``: the event concerns only waiting pods of at most that priority, because only they had to
    leave room for the pod in question; ``None``: all.
    """

    event: ClusterEvent
    old: Any
    new: Any
    max_priority: int | None = None


def derive_events(
    old: Any,
    new: Any,
    *,
    registered: Registered | None = None,
    scheduler_names: Collection[str] = (DEFAULT_SCHEDULER_NAME,),
) -> tuple[ClusterEvent, ...]:
    """Return the events, in order, of an object that was added, deleted or updated.

    *old* is ``None`` for an addition, *new* for a deletion.

    *registered* limits the events of kinds other than pods and nodes to what plugins registered; ``None``: no
    limit. Pods without a node count only if their scheduler is one of *scheduler_names*. O(size of the
    object).
    """
    events = derive_object_events(old, new, registered=registered, scheduler_names=scheduler_names)
    return tuple(derived.event for derived in events)


def derive_object_events(
    old: Any,
    new: Any,
    *,
    registered: Registered | None = None,
    scheduler_names: Collection[str] = (DEFAULT_SCHEDULER_NAME,),
) -> tuple[ObjectEvent, ...]:
    """:func:`derive_events` with the objects and limits that go with each event.

    Events of resource ``UnschedulablePod`` are about the waiting pod itself and handled by
    ``PriorityQueue.update``, all others by ``PriorityQueue.move_all``. An object that was deleted and created
    again under its name (the uids differ) gives the events of a deletion and an addition. Terminated pods
    count as deleted.
    """
    old, new = _present(old), _present(new)
    if old is None and new is None:
        return ()
    if old is not None and new is not None and old.uid and new.uid and old.uid != new.uid:
        return (
            *derive_object_events(old, None, registered=registered, scheduler_names=scheduler_names),
            *derive_object_events(None, new, registered=registered, scheduler_names=scheduler_names),
        )
    subject = old if new is None else new
    if isinstance(subject, Pod):
        return tuple(_pod_events(old, new, scheduler_names))
    if isinstance(subject, Node):
        return tuple(ObjectEvent(event, old, new) for event in _node_events(old, new))
    resource = resource_of(subject.KIND)
    action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE
    if registered is not None:
        wanted = registered.get(resource, Action.NONE) | registered.get(EventResource.WILDCARD, Action.NONE)
        if not wanted & action:
            return ()
    return (ObjectEvent(_event_of(resource, action), old, new),)


@lru_cache(maxsize=256)
def _event_of(resource: str, action: Action) -> ClusterEvent:
    return ClusterEvent(resource, action)


def _present(thing: Any) -> Any:
    return None if isinstance(thing, Pod) and thing.is_terminated else thing


# ---- pods ------------------------------------------------------------------------------------------------


def _pod_events(old: Pod | None, new: Pod | None, schedulers: Collection[str]) -> Iterator[ObjectEvent]:
    if old is None:
        if new is not None and new.spec.node_name:
            yield ObjectEvent(ASSIGNED_POD_ADD, None, new)
    elif new is None:
        if old.spec.node_name:
            yield ObjectEvent(ASSIGNED_POD_DELETE, old, None)
        elif old.spec.scheduler_name in schedulers and old.status.nominated_node_name:
            yield ObjectEvent(ASSIGNED_POD_DELETE, old, None, old.priority)
    elif not old.spec.node_name and new.spec.node_name:
        yield ObjectEvent(ASSIGNED_POD_ADD, None, new)
    elif old.spec.node_name:
        for event in pod_update_events(old, new):
            yield ObjectEvent(event, old, new)
    elif old.spec.scheduler_name in schedulers and not is_same_version(old, new):
        for event in pod_update_events(old, new):
            yield ObjectEvent(event, old, new)
        nominated = old.status.nominated_node_name
        if nominated and nominated != new.status.nominated_node_name:
            # Pods of lower or equal priority left room for it on that node.
            yield ObjectEvent(ASSIGNED_POD_DELETE, old, None, old.priority)


def is_same_version(old: Pod, new: Pod) -> bool:
    """Return whether an update changed nothing: same resource version or, without one, equal contents."""
    version = new.metadata.resource_version
    return old.metadata.resource_version == version and (bool(version) or old == new)


def pod_update_events(old: Pod, new: Pod) -> tuple[ClusterEvent, ...]:
    """Return what changed in a pod, in the reference's order; the general Update if nothing specific did."""
    events = _POD_EVENTS[bool(new.spec.node_name)]
    specific = [events[action] for action, changed in _POD_CHANGES.items() if changed(old, new)]
    return tuple(specific) if specific else (events[Action.UPDATE],)


def _labels_changed(old: Pod | Node, new: Pod | Node) -> bool:
    return old.metadata.labels != new.metadata.labels


def _scaled_down(old: Pod, new: Pod) -> bool:
    if _request_inputs(old) == _request_inputs(new):
        return False
    before, after = (pod_requests(pod, use_status=True) for pod in (old, new))
    return any(
        name not in after or amount.milli_value() > after[name].milli_value()
        for name, amount in before.items()
    )


def _request_inputs(pod: Pod) -> tuple[Any, ...]:
    """Return everything that the total requests of a pod depend on: comparing is cheaper than adding up."""
    spec, status = pod.spec, pod.status
    requests = (spec.containers, spec.init_containers, spec.overhead, spec.resources)
    actual = (
        status.container_statuses,
        status.init_container_statuses,
        status.resources,
        status.allocated_resources,
    )
    # Conditions change at every failed attempt, and matter only for pods that can be resized.
    return (*requests, *actual, status.conditions) if any(actual) else requests


def _gates_gone(old: Pod, new: Pod) -> bool:
    return bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates


def _tolerations_changed(old: Pod, new: Pod) -> bool:
    # The API server allows only additions.
    return len(old.spec.tolerations) != len(new.spec.tolerations)


def _claims_generated(old: Pod, new: Pod) -> bool:
    one, other = old.status, new.status
    return (
        one.resource_claim_statuses != other.resource_claim_statuses
        or one.extended_resource_claim_status != other.extended_resource_claim_status
    )


_POD_CHANGES: Final = {
    Action.UPDATE_POD_LABEL: _labels_changed,
    Action.UPDATE_POD_SCALE_DOWN: _scaled_down,
    Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: _gates_gone,
    Action.UPDATE_POD_TOLERATION: _tolerations_changed,
    Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM: _claims_generated,
}


def _events_of(resource: str, *actions: Action) -> dict[Action, ClusterEvent]:
    return {action: ClusterEvent(resource, action) for action in actions}


_POD_EVENTS: Final = {
    assigned: _events_of(
        EventResource.ASSIGNED_POD if assigned else EventResource.UNSCHEDULABLE_POD,
        Action.UPDATE,
        *_POD_CHANGES,
    )
    for assigned in (False, True)
}


# ---- nodes -----------------------------------------------------------------------------------------------


def _node_events(old: Node | None, new: Node | None) -> tuple[ClusterEvent, ...]:
    if old is None:
        return (_NODE_EVENTS[Action.ADD],)
    if new is None:
        return (_NODE_EVENTS[Action.DELETE],)
    return node_update_events(old, new)


def node_update_events(old: Node, new: Node) -> tuple[ClusterEvent, ...]:
    """Return the changes of a node that matter to scheduling, in the reference's order; often none."""
    return tuple([_NODE_EVENTS[action] for action, changed in _NODE_CHANGES if changed(old, new)])


def _uncordoned(old: Node, new: Node) -> bool:
    return old.spec.unschedulable and not new.spec.unschedulable


def _allocatable_changed(old: Node, new: Node) -> bool:
    # Without allocatable the API server defaults it to the capacity.
    before = old.status.allocatable or old.status.capacity
    return before != (new.status.allocatable or new.status.capacity)


def _taints_changed(old: Node, new: Node) -> bool:
    return old.spec.taints != new.spec.taints


def _conditions_changed(old: Node, new: Node) -> bool:
    one, other = old.status.conditions, new.status.conditions
    return one is not other and {c.type: c.status for c in one} != {c.type: c.status for c in other}


def _annotations_changed(old: Node, new: Node) -> bool:
    return old.metadata.annotations != new.metadata.annotations


def _features_changed(old: Node, new: Node) -> bool:
    return old.status.declared_features != new.status.declared_features


_NODE_CHANGES: Final = (
    (Action.UPDATE_NODE_TAINT, _uncordoned),
    (Action.UPDATE_NODE_ALLOCATABLE, _allocatable_changed),
    (Action.UPDATE_NODE_LABEL, _labels_changed),
    (Action.UPDATE_NODE_TAINT, _taints_changed),
    (Action.UPDATE_NODE_CONDITION, _conditions_changed),
    (Action.UPDATE_NODE_ANNOTATION, _annotations_changed),
    (Action.UPDATE_NODE_DECLARED_FEATURE, _features_changed),
)
_NODE_EVENTS: Final = _events_of(
    EventResource.NODE, Action.ADD, Action.DELETE, *(action for action, _ in _NODE_CHANGES)
)
