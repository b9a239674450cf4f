"""Counts and latencies of a running scheduler, as plain numbers: a view of its meter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import asdict, evolve
from typing_extensions import override

from ..._base.brief import brief_of
from ..._base.tables import Cell, Table, Tabular
from ..._base.value import record
from ..latency import Histogram, Latency
from ..outcomes import AttemptResult
from .collect import collect
from .counts import Counts, ProfileMeter
from .families import MetricFamily


@record(frozen=True)
class ProfileStatistics:
    """Figures of one profile. Nothing that did not happen has an entry."""

    attempts: Mapping[AttemptResult, Latency]
    """Attempts by result: from the pop of the queue to the end, waiting in permit and binding included."""
    search: Latency | None
    """The search for a node, one for each attempt."""
    pod_seconds: Latency | None
    """Pods that got a node: from first entering the active queue until bound, in seconds of the clock."""
    pod_attempts: Mapping[int, int]
    """Number of attempts → pods that got a node with as many."""
    rejections: Mapping[str, int]
    """Plugin → attempts that it rejected, alone or with others."""
    points: Mapping[str, Latency]
    """Extension point → runs of all its plugins, see :meth:`.SchedulerObserver.point_ended`."""
    plugins: Mapping[str, Mapping[str, Latency]]
    """Extension point → plugin → its calls in sampled cycles. Answers from a cache are no calls."""


@record(frozen=True, repr=False)
class Statistics(Tabular):
    """The figures of a scheduler at one moment.

    ``str()``, rich and notebooks show a table of latencies, ``to_dict()`` gives plain types,
    ``to_dataframe()`` one row for each latency.
    """

    seconds: float
    """Seconds of the clock since the scheduler was made."""
    profiles: Mapping[str, ProfileStatistics]
    """By scheduler name."""
    pools: Mapping[str, int]
    """Pool of the queue → pods in it now, as in :class:`~schedframe.queue.Pool`."""
    nodes: int
    """Nodes in the cache now."""
    pods: int
    """Pods that count on a node now, assumed ones included."""
    waiting: int
    """Pods that wait in permit now."""
    binding: int
    """Pods that wait in permit, or are being bound off the core, now."""
    metrics: Mapping[str, MetricFamily] = {}
    """All metrics by name, as :class:`schedframe.metrics.SchedulerMetrics` shows them."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain types; durations in seconds."""
        plain = asdict(evolve(self, metrics={}), value_serializer=_plain)
        return {**plain, "metrics": {name: family.to_dict() for name, family in self.metrics.items()}}

    @override
    def __repr__(self) -> str:
        attempts = {
            name: sum(each.count for each in profile.attempts.values())
            for name, profile in self.profiles.items()
        }
        return brief_of(self, attempts=attempts, pools=dict(self.pools))

    @override
    def _table(self) -> Table:
        columns: dict[str, type] = {"profile": str, "of": str, "plugin": str, "count": int}
        columns |= dict.fromkeys(("total", "p50", "p90", "p99", "max"), float)
        rows: list[tuple[Cell, ...]] = []
        for name, profile in self.profiles.items():
            for of, plugin, each in _latencies(profile):
                figures = (each.total, each.p50, each.p90, each.p99, each.max)
                rows.append((name, of, plugin, each.count, *figures))
        return Table(columns, rows)


def _latencies(profile: ProfileStatistics) -> list[tuple[str, str | None, Latency]]:
    found: list[tuple[str, str | None, Latency]] = [
        (f"attempt: {result}", None, latency) for result, latency in profile.attempts.items()
    ]
    if profile.search is not None:
        found.append(("search", None, profile.search))
    if profile.pod_seconds is not None:
        found.append(("pod", None, profile.pod_seconds))
    found += [(f"point: {point}", None, latency) for point, latency in profile.points.items()]
    for point, plugins in profile.plugins.items():
        found += [(f"calls: {point}", plugin, latency) for plugin, latency in plugins.items()]
    return found


def _plain(_instance: object, _attribute: object, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key) if isinstance(key, AttemptResult) else key: each for key, each in value.items()}
    return value


def statistics_of(meter: Counts) -> Statistics:
    """Return the figures so far. Core only."""
    core = meter.core
    return Statistics(
        core.clock() - meter.since,
        {name: _of_profile(counts) for name, counts in meter.profiles.items()},
        {str(pool): count for pool, count in core.queue.counts().items()},
        core.cache.table.num_nodes,
        len(core.cache.states),
        len(core.waiting),
        len(core.binding),
        {family.metric.name: family for family in collect(meter)},
    )


def _of_profile(counts: ProfileMeter) -> ProfileStatistics:
    pod_seconds = Histogram.total(counts.pod_seconds.values())
    by_result = zip(AttemptResult, (counts.scheduled, counts.unschedulable, counts.failed), strict=True)
    return ProfileStatistics(
        {result: histogram.latency() for result, histogram in by_result if histogram},
        counts.search.latency() if counts.search else None,
        pod_seconds.latency() if pod_seconds else None,
        dict(sorted(counts.attempts().items())),
        dict(sorted(counts.rejections.items())),
        _points(counts),
        _calls(counts),
    )


def _points(counts: ProfileMeter) -> dict[str, Latency]:
    by_point: dict[str, list[Histogram]] = {}
    for (point, _), histogram in list(counts.points.items()):
        if histogram:
            by_point.setdefault(f"{point[0].lower()}{point[1:]}", []).append(histogram)
    return {point: Histogram.total(found).latency() for point, found in by_point.items()}


def _calls(counts: ProfileMeter) -> dict[str, dict[str, Latency]]:
    plugins: dict[str, dict[str, Latency]] = {}
    for (plugin, point), series in list(counts.calls.series.items()):
        durations = Histogram.total(list(series.durations.values()))
        if durations:
            plugins.setdefault(point, {})[plugin] = durations.latency()
    return plugins
