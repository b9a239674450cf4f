"""The scheduling queue and the cluster events that move pods in it."""

from __future__ import annotations

from .derive import (
    ObjectEvent,
    derive_events,
    derive_object_events,
    node_update_events,
    pod_update_events,
)
from .events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    EVERYTHING,
    FORCE_ACTIVATE,
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_UPDATE,
    UNSCHEDULABLE_TIMEOUT,
    WILDCARD,
    Action,
    ClusterEvent,
    EventOf,
    EventRegistration,
    EventResource,
    HintFn,
    HintReads,
    QueueingHint,
    matches,
    registered_actions,
    resource_of,
    with_implied,
)
from .groups import GroupQueue
from .heap import Heap
from .hints import FaultFn, PreEnqueueFn, QueueProfile
from .in_flight import InFlight, RecordedEvent
from .nominator import NominatingMode, Nominator
from .options import QueueOptions
from .priority_queue import PriorityQueue
from .queued_pod import PendingPod, Pool, QueuedPodInfo, Requeued, by_priority, identity
from .together.known_outcomes import KnownOutcomes, PodClass

__all__ = [
    "ASSIGNED_POD_ADD",
    "ASSIGNED_POD_DELETE",
    "EVERYTHING",
    "FORCE_ACTIVATE",
    "UNSCHEDULABLE_POD_ADD",
    "UNSCHEDULABLE_POD_UPDATE",
    "UNSCHEDULABLE_TIMEOUT",
    "WILDCARD",
    "Action",
    "ClusterEvent",
    "EventOf",
    "EventRegistration",
    "EventResource",
    "FaultFn",
    "GroupQueue",
    "Heap",
    "HintFn",
    "HintReads",
    "InFlight",
    "KnownOutcomes",
    "NominatingMode",
    "Nominator",
    "ObjectEvent",
    "PendingPod",
    "PodClass",
    "Pool",
    "PreEnqueueFn",
    "PriorityQueue",
    "QueueOptions",
    "QueueProfile",
    "QueuedPodInfo",
    "QueueingHint",
    "RecordedEvent",
    "Requeued",
    "by_priority",
    "derive_events",
    "derive_object_events",
    "identity",
    "matches",
    "node_update_events",
    "pod_update_events",
    "registered_actions",
    "resource_of",
    "with_implied",
]
