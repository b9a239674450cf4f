"""OpenTelemetry spans of the attempts to schedule pods. Needs the extra ``tracing``."""

from __future__ import annotations

from ..cycle.tracing import AttemptEnd, AttemptTrace, AttemptTracer, TracingSink
from .opentelemetry import Tracing

__all__ = ["AttemptEnd", "AttemptTrace", "AttemptTracer", "Tracing", "TracingSink"]
