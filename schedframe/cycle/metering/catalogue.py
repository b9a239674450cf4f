"""The metrics of kube-scheduler that this scheduler has, and a few of its own.

Names, types, labels and buckets of the former are as there; names of the latter begin with ``schedframe_``.
``docs/reference/metrics.md`` is checked against this list, as is a scrape of kube-scheduler v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from .families import Metric, MetricKind


def _bounds(first: float, factor: float, count: int) -> tuple[float, ...]:
    """Return *count* bounds, each the product of the one before and *factor*, rounded as Go rounds it."""
    return tuple(islice(_powers(first, factor), count))


def _powers(bound: float, factor: float) -> Iterator[float]:
    while True:
        yield bound
        bound *= factor


_ATTEMPT: Final = _bounds(0.001, 2, 15)
_POINT: Final = _bounds(0.0001, 2, 12)
_CALL: Final = _bounds(0.00001, 1.5, 20)


def _counter(name: str, text: str, *labels: str) -> Metric:
    return Metric(f"scheduler_{name}", MetricKind.COUNTER, text, labels)


def _gauge(name: str, text: str, *labels: str) -> Metric:
    return Metric(f"scheduler_{name}", MetricKind.GAUGE, text, labels)


def _histogram(name: str, text: str, bounds: tuple[float, ...], *labels: str) -> Metric:
    return Metric(f"scheduler_{name}", MetricKind.HISTOGRAM, text, labels, bounds)


ATTEMPTS = _counter(
    "schedule_attempts_total",
    "Attempts to place a pod: scheduled, unschedulable (a plugin rejected it) or error (a fault).",
    "result",
    "profile",
)
ATTEMPT_SECONDS = _histogram(
    "scheduling_attempt_duration_seconds",
    "Seconds of one attempt, from leaving the queue to its end, binding included.",
    _ATTEMPT,
    "result",
    "profile",
)
SEARCH_SECONDS = _histogram(
    "scheduling_algorithm_duration_seconds", "Seconds of the search for a node in one attempt.", _ATTEMPT
)
POD_SECONDS = _histogram(
    "pod_scheduling_sli_duration_seconds",
    "Seconds from a pod's first entry into the active queue until it was bound, over all its attempts.",
    _bounds(0.01, 2, 20),
    "attempts",
)
POD_ATTEMPTS = _histogram(
    "pod_scheduling_attempts", "Attempts that a pod needed until it was bound.", _bounds(1, 2, 5)
)
AFTER_FLUSH = _counter(
    "pod_scheduled_after_flush_total",
    "Pods bound in an attempt that only the timeout of unschedulable pods caused: no event had queued them.",
)
POINT_SECONDS = _histogram(
    "framework_extension_point_duration_seconds",
    "Seconds of all plugins at one extension point. Answers of the equivalence cache run no point.",
    _POINT,
    "extension_point",
    "status",
    "profile",
)
CALL_SECONDS = _histogram(
    "plugin_execution_duration_seconds",
    "Seconds of one call of a plugin, in about one scheduling cycle of ten.",
    _CALL,
    "plugin",
    "extension_point",
    "status",
)
EVALUATIONS = _counter(
    "plugin_evaluation_total",
    "Calls of a plugin at PreFilter, Filter, PreScore and Score that did not skip the pod; "
    "a call for many nodes counts once.",
    "plugin",
    "extension_point",
    "profile",
)
HINT_SECONDS = _histogram(
    "queueing_hint_execution_duration_seconds",
    "Seconds of one queueing hint.",
    _CALL,
    "plugin",
    "event",
    "hint",
)
INCOMING = _counter(
    "queue_incoming_pods_total", "Pods that entered a queue, and what moved them there.", "queue", "event"
)
PENDING = _gauge(
    "pending_pods",
    "Pods that wait now: active, backoff, unschedulable or gated.",
    "queue",
)
UNSCHEDULABLE = _gauge(
    "unschedulable_pods",
    "Pods that wait now, by plugin that rejected their last attempt; a pod counts for each of its plugins.",
    "plugin",
    "profile",
)
PREEMPTION_ATTEMPTS = _counter(
    "preemption_attempts_total", "Runs of post_filter for pods that no node could take."
)
VICTIMS = _histogram("preemption_victims", "Pods chosen for eviction by one preemption.", _bounds(1, 2, 7))
PERMIT_SECONDS = _histogram(
    "permit_wait_duration_seconds", "Seconds that a pod waited in permit.", _ATTEMPT, "result"
)
CACHE_SIZE = _gauge(
    "cache_size", "Nodes, pods with a node, and pods whose placement no event has confirmed yet.", "type"
)
EVENT_SECONDS = _histogram(
    "event_handling_duration_seconds", "Seconds to take in one change of the cluster.", _POINT, "event"
)
IN_FLIGHT_EVENTS = _gauge(
    "inflight_events", "Events kept for the pods that are being scheduled, and those pods.", "event"
)
WRITES = _counter(
    "async_api_call_execution_total",
    "Bindings and status patches sent to the cluster off the core.",
    "call_type",
    "result",
)
WRITE_SECONDS = _histogram(
    "async_api_call_execution_duration_seconds",
    "Seconds of one binding or status patch off the core.",
    _ATTEMPT,
    "call_type",
    "result",
)
PENDING_WRITES = _gauge(
    "pending_async_api_calls",
    "Bindings and status patches under way or waiting their turn.",
    "call_type",
)

GROUP_ATTEMPTS = _counter(
    "podgroup_schedule_attempts_total",
    "Attempts to place a pod group: scheduled, waiting_on_preemption, unschedulable or error (a fault).",
    "result",
    "profile",
)
GROUP_SECONDS = _histogram(
    "podgroup_scheduling_attempt_duration_seconds",
    "Seconds of one attempt for a pod group, without the bindings of its pods.",
    _ATTEMPT,
    "result",
    "profile",
)
GROUP_SEARCH_SECONDS = _histogram(
    "podgroup_scheduling_algorithm_duration_seconds",
    "Seconds of the search for nodes for all pods of a group; not made again while its outcome is known.",
    _ATTEMPT,
)

RELOADS = Metric(
    "schedframe_config_reloads_total",
    MetricKind.COUNTER,
    "Configurations given while the scheduler runs: accepted or refused.",
    ("result",),
)
LAST_RELOAD = Metric(
    "schedframe_config_last_reload_success",
    MetricKind.GAUGE,
    "1 if the configuration given last is in use, 0 if it is refused and the former one stays in use.",
)
STALE_VIEW = Metric(
    "schedframe_stale_view",
    MetricKind.GAUGE,
    "1 for each kind whose objects are known to be stale, because they cannot be read from the cluster.",
    ("kind",),
)
HELD_SECONDS = Metric(
    "schedframe_stale_view_held_seconds_total",
    MetricKind.COUNTER,
    "Seconds for which no pod was decided because the view of the cluster was stale.",
)
UNREADABLE = Metric(
    "schedframe_unreadable_objects",
    MetricKind.GAUGE,
    "Objects of a real cluster whose present version cannot be read; each is named once in the log.",
    ("kind",),
)

OWN: Final = (RELOADS, LAST_RELOAD, STALE_VIEW, HELD_SECONDS, UNREADABLE)
"""Metrics that kube-scheduler does not have."""
METRICS: Final[tuple[Metric, ...]] = tuple(each for each in list(vars().values()) if isinstance(each, Metric))
"""All of them, in the order of this file."""

ABSENT: Final[dict[str, str]] = {
    "scheduler_goroutines": "There are no goroutines: one thread decides.",
    "scheduler_batch_attempts_total": "Pods are not batched; the equivalence cache is no batch.",
    "scheduler_batch_cache_flushed_total": "Pods are not batched; the equivalence cache is no batch.",
    "scheduler_get_node_hint_duration_seconds": "Pods are not batched; there are no node hints.",
    "scheduler_store_schedule_results_duration_seconds": "Pods are not batched; no results are stored.",
    "scheduler_preemption_goroutines_duration_seconds": "Victims are evicted by the executor, without "
    "goroutines of their own.",
    "scheduler_preemption_goroutines_execution_total": "Victims are evicted by the executor, without "
    "goroutines of their own.",
    "scheduler_resourceclaim_creates_total": "Claims for extended resources are not counted.",
    "scheduler_dra_bindingconditions_allocations_total": "Binding conditions of devices are not counted.",
    "scheduler_dra_bindingconditions_wait_duration_seconds": "Binding conditions of devices are not timed.",
    "scheduler_volume_binder_cache_requests_total": "Claims are read from the cache of all objects.",
    "scheduler_volume_scheduling_stage_error_total": "Faults of VolumeBinding are reported as any plugin's.",
}
"""Metric of kube-scheduler that this scheduler does not have → why."""
