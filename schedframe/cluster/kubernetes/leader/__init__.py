"""Leader election between replicas on a Lease: one schedules, the others follow the cluster and wait.

The design is in ``docs/explanation/leader-election.md``.
"""

from __future__ import annotations

from .elector import Elector
from .lease import ApiLeases, LeaseName, LeaseRecord
from .settings import ElectionSettings
from .watchdog import ProcessWatchdog

__all__ = [
    "ApiLeases",
    "ElectionSettings",
    "Elector",
    "LeaseName",
    "LeaseRecord",
    "ProcessWatchdog",
]
