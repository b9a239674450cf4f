"""The metrics of schedulers in the forms that Prometheus reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from attrs import field
from typing_extensions import override

from .._base.validators import has
from .._base.value import record
from ..cycle.core import Core
from ..cycle.metering.catalogue import METRICS
from ..cycle.metering.families import MetricFamily, MetricKind, merged
from ..cycle.metering.meter import Meter
from ..cycle.observer import SchedulerObserver

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric as PrometheusMetric


def _new_registry() -> CollectorRegistry:
    try:
        from prometheus_client import CollectorRegistry
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "metrics need prometheus_client: pip install 'schedframe[metrics]'", name="prometheus_client"
        ) from error
    return CollectorRegistry()


@record(eq=False)
class SchedulerMetrics(SchedulerObserver):
    """Metrics of the schedulers that have this object among their ``observers``.

    ``registry`` is a registry of prometheus_client, a new one by default: other collectors may be registered
    there too, and any exporter of prometheus_client serves it. Figures of several schedulers are added up.
    Any thread may read.
    """

    registry: CollectorRegistry = field(factory=_new_registry)
    _sources: list[Callable[[], list[MetricFamily]]] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        has("registry", self.registry, ["register"], "give a CollectorRegistry of prometheus_client")
        self.registry.register(self)

    @override
    def attach(self, core: Core) -> Meter:
        meter = Meter().attach(core)
        self.show(meter.families)
        return meter

    def show(self, source: Callable[[], list[MetricFamily]]) -> None:
        """Show what *source* returns, too; it may be called in any thread, and after the schedulers ended."""
        self._sources.append(source)

    def families(self) -> list[MetricFamily]:
        """Return the metrics as plain values."""
        return merged([source() for source in list(self._sources)])

    def exposition(self) -> bytes:
        """Return everything in the registry in the text format that Prometheus scrapes."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)

    def collect(self) -> Iterator[PrometheusMetric]:
        """Yield the metrics for prometheus_client, which calls this."""
        for family in self.families():
            yield _converted(family)

    def describe(self) -> Iterator[PrometheusMetric]:
        """Yield all metrics without samples, by which prometheus_client knows their names."""
        for metric in METRICS:
            yield _converted(MetricFamily(metric, {}))


def _converted(family: MetricFamily) -> PrometheusMetric:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    metric, labels = family.metric, list(family.metric.labels)
    if metric.kind is MetricKind.HISTOGRAM:
        histogram = HistogramMetricFamily(metric.name, metric.help, labels=labels)
        for values, found in family.samples.items():
            distribution: Any = found
            histogram.add_metric(list(values), distribution.cumulative(), distribution.total)
        return histogram
    make = CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily
    plain: Any = make(metric.name, metric.help, labels=labels)
    for values, number in family.samples.items():
        plain.add_metric(list(values), number)
    return plain  # type: ignore[no-any-return]  # one of two classes with the same method
