"""How an attempt ended, and the observer that is called with it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol, runtime_checkable

from .._base.value import record
from ..framework import Observer


class AttemptResult(StrEnum):
    """The result of one attempt to schedule a pod."""

    SCHEDULED = "scheduled"
    """The pod is bound."""
    UNSCHEDULABLE = "unschedulable"
    """No node is feasible, or a plugin rejected the chosen node."""
    ERROR = "error"
    """A plugin or the cluster failed, or the pod was deleted during the attempt."""


@record(frozen=True, weakref_slot=False)
class AttemptOutcome:
    """One attempt that ended. Durations are of the machine, ``pod_seconds`` of the scheduler's clock."""

    pod: str
    """The pod's key."""
    uid: str
    profile: str
    result: AttemptResult
    seconds: float
    """From the pop of the queue to the end, waiting in permit and binding included."""
    search_seconds: float
    """The search for a node."""
    attempts: int
    """Attempts to schedule the pod so far, this one included."""
    pod_seconds: float
    """Time since the pod first entered the active queue."""
    rejected_by: tuple[str, ...]
    """Plugins that rejected the pod, sorted."""


@runtime_checkable
class SchedulerObserver(Protocol):
    """Receives attempts, and the calls of each profile: ``Scheduler(cluster, observer=...)``.

    Without one, a pod costs nothing more. An exception is reported as a fault and changes nothing.
    """

    def of_profile(self, profile: str) -> Observer:
        """Return the observer of the plugin calls in *profile*; called once for each, at the beginning.

        If it is a :class:`~schedframe.framework.PointObserver`, extension points are timed as well.
        """
        ...

    def attempt_ended(self, outcome: AttemptOutcome) -> None:
        """An attempt ended. Runs in the core."""
        ...
