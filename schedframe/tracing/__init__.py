"""OpenTelemetry spans of the attempts to schedule pods. Needs the extra ``tracing``."""

from __future__ import annotations

from .opentelemetry import Tracing

__all__ = ["Tracing"]
