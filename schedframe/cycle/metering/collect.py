"""The metrics of a scheduler at one moment, in any thread: nothing waits for the core, nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...cluster import RemoteCluster
from ...queue import Pool, glance
from ..core import Core
from ..latency import Distribution, Histogram
from . import catalogue
from .counts import MOST_ATTEMPTS, Counts, ProfileMeter
from .families import Metric, MetricFamily, MetricValue

_QUEUE_OF: Mapping[Pool, str] = {
    Pool.ACTIVE: "active",
    Pool.BACKOFF: "backoff",
    Pool.ERROR_BACKOFF: "backoff",
    Pool.UNSCHEDULABLE: "unschedulable",
    Pool.GATED: "gated",
}
_Samples = dict[tuple[str, ...], MetricValue]


def collect(meter: Counts) -> list[MetricFamily]:
    """Return all metrics that have samples. O(samples + pods that are active or back off)."""
    found = {metric: samples for metric, samples in _all(meter) if samples}
    return [MetricFamily(metric, found[metric]) for metric in catalogue.METRICS if metric in found]


def _all(meter: Counts) -> Iterator[tuple[Metric, _Samples]]:
    core = meter.core
    yield from _attempts(meter.profiles)
    yield from _plugins(meter.profiles)
    yield catalogue.HINT_SECONDS, _distributions(meter.hints)
    yield catalogue.EVENT_SECONDS, _distributions(meter.events)
    yield catalogue.PERMIT_SECONDS, _distributions(meter.permits)
    yield catalogue.WRITE_SECONDS, (writes := _distributions(meter.writes))
    yield catalogue.WRITES, {labels: _count(value) for labels, value in writes.items()}
    yield catalogue.INCOMING, _numbers(meter.queue.so_far())
    yield catalogue.GROUP_SECONDS, (groups := _distributions(meter.groups))
    yield catalogue.GROUP_ATTEMPTS, {labels: _count(value) for labels, value in groups.items()}
    if meter.group_searches:
        yield catalogue.GROUP_SEARCH_SECONDS, {(): meter.group_searches.distribution()}
    yield catalogue.VICTIMS, {(): meter.victims.distribution()}
    yield catalogue.PREEMPTION_ATTEMPTS, {(): meter.preemption_attempts}
    yield catalogue.RELOADS, {(result,): count for result, count in meter.reloads.by_result.items()}
    yield catalogue.LAST_RELOAD, {(): int(meter.reloads.last_accepted)}
    yield catalogue.STALE_VIEW, {(kind,): 1 for kind in core.view.stale}
    yield catalogue.HELD_SECONDS, {(): core.view.held_seconds()}
    yield from _gauges(core)


def _attempts(profiles: Mapping[str, ProfileMeter]) -> Iterator[tuple[Metric, _Samples]]:
    attempts: _Samples = {}
    for name, profile in profiles.items():
        results = ("scheduled", profile.scheduled), ("unschedulable", profile.unschedulable)
        for result, durations in (*results, ("error", profile.failed)):
            if durations:
                attempts[result, name] = durations.distribution()
    yield catalogue.ATTEMPT_SECONDS, attempts
    yield catalogue.ATTEMPTS, {labels: _count(value) for labels, value in attempts.items()}
    counts = list(profiles.values())
    yield catalogue.SEARCH_SECONDS, _total(each.search for each in counts)
    tries = sum((each.attempts() for each in counts), Counter[int]())
    yield catalogue.POD_ATTEMPTS, {(): Distribution.of(catalogue.POD_ATTEMPTS.bounds, tries)}
    yield catalogue.AFTER_FLUSH, {(): sum(each.after_flush for each in counts)}
    ages: _Samples = {}
    for each in counts:
        by_attempts = {_label(number): ages for number, ages in list(each.pod_seconds.items())}
        _add(ages, _distributions(by_attempts))
    yield catalogue.POD_SECONDS, dict(sorted(ages.items()))


def _plugins(profiles: Mapping[str, ProfileMeter]) -> Iterator[tuple[Metric, _Samples]]:
    points: _Samples = {}
    calls: _Samples = {}
    evaluations: _Samples = {}
    for name, profile in profiles.items():
        for labels, durations in _distributions(profile.points).items():
            points[*labels, name] = durations
        for (plugin, point), series in list(profile.calls.series.items()):
            for status, value in _distributions(series.durations).items():
                _add(calls, {(plugin, point, *status): value})
        for (plugin, point), count in profile.calls.evaluations().items():
            evaluations[plugin, point, name] = count
    yield catalogue.POINT_SECONDS, points
    yield catalogue.CALL_SECONDS, calls
    yield catalogue.EVALUATIONS, evaluations


def _gauges(core: Core) -> Iterator[tuple[Metric, _Samples]]:
    pending: _Samples = dict.fromkeys([(name,) for name in _QUEUE_OF.values()], 0)
    for pool, size in glance.pool_sizes(core.queue).items():
        _add(pending, {(_QUEUE_OF[pool],): size})
    yield catalogue.PENDING, pending
    yield catalogue.UNSCHEDULABLE, _numbers(glance.rejections(core.queue))
    yield catalogue.IN_FLIGHT_EVENTS, {(k,): v for k, v in glance.events_in_flight(core.queue).items()}
    states = list(core.cache.states.values())
    sizes = {
        "nodes": core.cache.table.num_nodes,
        "pods": len(states),
        "assumed_pods": sum([state.assumed for state in states]),
    }
    yield catalogue.CACHE_SIZE, {(what,): size for what, size in sizes.items()}
    under_way = max(0, len(core.binding) - len(core.waiting) - len(core.paused))
    writes = {"pod_binding": under_way, "pod_status_patch": len(core.writes)}
    yield catalogue.PENDING_WRITES, {(what,): size for what, size in writes.items()}
    if isinstance(core.cluster, RemoteCluster):
        yield catalogue.UNREADABLE, {(kind,): count for kind, count in core.cluster.unreadable().items()}


def _distributions(histograms: Mapping[Any, Histogram]) -> _Samples:
    """Return those that are not empty, by labels."""
    return {
        (labels,) if isinstance(labels, str) else labels: histogram.distribution()
        for labels, histogram in list(histograms.items())
        if histogram
    }


def _numbers(counts: Mapping[tuple[str, str], int]) -> _Samples:
    return dict(list(counts.items()))


def _label(attempts: int) -> str:
    return f"{attempts}+" if attempts == MOST_ATTEMPTS else str(attempts)


def _total(histograms: Iterable[Histogram]) -> _Samples:
    samples: _Samples = {}
    for histogram in histograms:
        _add(samples, {(): histogram.distribution()})
    return samples


def _add(samples: _Samples, more: Mapping[tuple[str, ...], MetricValue]) -> None:
    for labels, value in more.items():
        samples[labels] = samples[labels] + value if labels in samples else value  # type: ignore[operator]  # of one metric, so of one type


def _count(value: MetricValue) -> int:
    return value if isinstance(value, int) else value.count  # type: ignore[union-attr]  # of a histogram
