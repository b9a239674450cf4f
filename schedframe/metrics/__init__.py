"""Metrics for Prometheus, named as kube-scheduler names them, and three more. Needs the extra ``metrics``."""

from __future__ import annotations

from ..cycle.metering.catalogue import ABSENT, METRICS, OWN
from ..cycle.metering.families import Metric, MetricFamily, MetricKind
from .prometheus import SchedulerMetrics

__all__ = [
    "ABSENT",
    "METRICS",
    "OWN",
    "Metric",
    "MetricFamily",
    "MetricKind",
    "SchedulerMetrics",
]
