"""Metrics for Prometheus, named as kube-scheduler names them. Needs the extra ``metrics``."""

from __future__ import annotations

from ..cycle.metering.catalogue import ABSENT, METRICS
from ..cycle.metering.families import Metric, MetricFamily, MetricKind, MetricsSink
from .prometheus import SchedulerMetrics

__all__ = ["ABSENT", "METRICS", "Metric", "MetricFamily", "MetricKind", "MetricsSink", "SchedulerMetrics"]
