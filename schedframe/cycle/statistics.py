"""Counts and latencies of a running scheduler, as plain numbers; off unless ``statistics=True``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from attrs import asdict, define, field, frozen
from typing_extensions import override

from .._brief import brief_of, brief_repr
from .._tables import Cell, Table, Tabular
from ..framework import Status
from .core import Core
from .latency import Histogram, Latency
from .outcomes import AttemptOutcome, AttemptResult


@brief_repr
@frozen
class ProfileStatistics:
    """What one profile did. Nothing that did not happen has an entry."""

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
    """Extension point → runs of all its plugins, see :class:`~schedframe.framework.PointObserver`."""
    plugins: Mapping[str, Mapping[str, Latency]]
    """Hook → plugin → its calls. Answers from the equivalence cache are no calls."""


@frozen(repr=False)
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
    """Pool of the queue → pods in it now, as in :class:`~schedframe.Pool`."""
    nodes: int
    """Nodes in the cache now."""
    pods: int
    """Pods that count on a node now, assumed ones included."""
    waiting: int
    """Pods that wait in permit now."""
    binding: int
    """Pods that wait in permit, or are being bound off the core, now."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain types; durations in seconds."""
        return asdict(self, value_serializer=_plain)

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
    for hook, plugins in profile.plugins.items():
        found += [(f"hook: {hook}", plugin, latency) for plugin, latency in plugins.items()]
    return found


def _plain(_instance: object, _attribute: object, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key) if isinstance(key, AttemptResult) else key: each for key, each in value.items()}
    return value


@define(eq=False)
class _ProfileCounts:
    """Counts of one profile; a :class:`~schedframe.framework.PointObserver`."""

    scheduled: Histogram = field(factory=Histogram)
    unschedulable: Histogram = field(factory=Histogram)
    failed: Histogram = field(factory=Histogram)
    search: Histogram = field(factory=Histogram)
    pod_seconds: Histogram = field(factory=Histogram)
    pod_attempts: Counter[int] = field(factory=Counter)
    rejections: Counter[str] = field(factory=Counter)
    points: defaultdict[str, Histogram] = field(factory=lambda: defaultdict(Histogram))
    plugins: defaultdict[tuple[str, str], Histogram] = field(factory=lambda: defaultdict(Histogram))

    def plugin_called(self, point: str, plugin: str, seconds: float, result: Any) -> None:
        """Count a call."""
        self.plugins[point, plugin].add(seconds)

    def point_ended(self, point: str, seconds: float, status: Status | None) -> None:
        """Count a run of an extension point."""
        self.points[point].add(seconds)

    def attempt_ended(self, outcome: AttemptOutcome) -> None:
        """Count an attempt."""
        self.search.add(outcome.search_seconds)
        if outcome.result is AttemptResult.SCHEDULED:
            self.scheduled.add(outcome.seconds)
            self.pod_seconds.add(outcome.pod_seconds)
            self.pod_attempts[outcome.attempts] += 1
            return
        unschedulable = outcome.result is AttemptResult.UNSCHEDULABLE
        (self.unschedulable if unschedulable else self.failed).add(outcome.seconds)
        self.rejections.update(outcome.rejected_by)

    def statistics(self) -> ProfileStatistics:
        """Return the figures so far."""
        plugins: dict[str, dict[str, Latency]] = {}
        # A copy, because pre_bind and bind add calls in other threads.
        for (hook, plugin), histogram in list(self.plugins.items()):
            plugins.setdefault(hook, {})[plugin] = histogram.latency()
        by_result = zip(AttemptResult, (self.scheduled, self.unschedulable, self.failed), strict=True)
        return ProfileStatistics(
            {result: histogram.latency() for result, histogram in by_result if histogram},
            self.search.latency() if self.search else None,
            self.pod_seconds.latency() if self.pod_seconds else None,
            dict(sorted(self.pod_attempts.items())),
            dict(sorted(self.rejections.items())),
            {point: histogram.latency() for point, histogram in self.points.items()},
            plugins,
        )


@define(eq=False)
class StatisticsCollector:
    """A :class:`~schedframe.cycle.SchedulerObserver` that counts. A few microseconds for each attempt."""

    since: float
    """When counting began, in seconds of the clock."""
    _profiles: dict[str, _ProfileCounts] = field(factory=dict)

    def of_profile(self, profile: str) -> _ProfileCounts:
        """Return the counts of that profile."""
        return self._profiles.setdefault(profile, _ProfileCounts())

    def attempt_ended(self, outcome: AttemptOutcome) -> None:
        """Count an attempt."""
        self._profiles[outcome.profile].attempt_ended(outcome)

    def statistics(self, core: Core) -> Statistics:
        """Return the figures so far. Core only."""
        return Statistics(
            core.clock() - self.since,
            {name: counts.statistics() for name, counts in self._profiles.items()},
            {str(pool): count for pool, count in core.queue.counts().items()},
            core.cache.table.num_nodes,
            len(core.cache.states),
            len(core.waiting),
            len(core.binding),
        )
