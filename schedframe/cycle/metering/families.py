"""Metrics as plain values: definitions, samples by labels, and their sums over several schedulers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from ..._base.value import value
from ..latency import Distribution


class MetricKind(StrEnum):
    """The types of metrics that Prometheus knows."""

    COUNTER = "counter"
    """It only grows."""
    GAUGE = "gauge"
    """As of the moment it is read."""
    HISTOGRAM = "histogram"
    """Values in buckets."""


@value
class Metric:
    """The definition of one metric."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    """Upper bounds of the buckets of a histogram, without infinity."""


MetricValue = float | Distribution


@value
class MetricFamily:
    """One metric and its samples."""

    metric: Metric
    samples: Mapping[tuple[str, ...], MetricValue]
    """Values of the labels, in the order of the definition → number or distribution."""

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dictionary for each sample, in plain types."""
        return [
            {"labels": dict(zip(self.metric.labels, labels, strict=True)), **_plain(value)}
            for labels, value in self.samples.items()
        ]


def _plain(value: MetricValue) -> dict[str, Any]:
    if not isinstance(value, Distribution):
        return {"value": value}
    return {"count": value.count, "sum": value.total, "buckets": dict(value.cumulative())}


def merged(sources: Iterable[Iterable[MetricFamily]]) -> list[MetricFamily]:
    """Return the families of all sources, samples with equal labels added up. O(samples)."""
    metrics: dict[str, Metric] = {}
    samples: dict[str, dict[tuple[str, ...], Any]] = {}
    for families in sources:
        for family in families:
            metrics.setdefault(family.metric.name, family.metric)
            into = samples.setdefault(family.metric.name, {})
            for labels, sample in family.samples.items():
                into[labels] = into[labels] + sample if labels in into else sample
    return [MetricFamily(metric, samples[name]) for name, metric in metrics.items()]
