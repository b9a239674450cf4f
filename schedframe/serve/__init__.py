"""HTTP for a running scheduler: health, metrics, configuration, debugging. Needs the extra ``serve``."""

from __future__ import annotations

from ..cycle.inspection import cache_dump, compare, on_core
from . import _needed as _needed
from .access import AccessReviewer, ApiReviewer, Identity
from .app import Endpoints, application
from .checks import Check, HealthChecks
from .probes import SchedulerProbes
from .server import HttpServer, Listener

__all__ = [
    "AccessReviewer",
    "ApiReviewer",
    "Check",
    "Endpoints",
    "HealthChecks",
    "HttpServer",
    "Identity",
    "Listener",
    "SchedulerProbes",
    "application",
    "cache_dump",
    "compare",
    "on_core",
]
