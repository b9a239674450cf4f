"""Protocol of a tracer of attempts; :mod:`schedframe.tracing` does so for OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .._base.value import record
from ..framework import Status
from ..framework.hook_calls import Guard
from ..queue import QueuedPodInfo
from .outcomes import AttemptResult

GONE = "the pod was deleted, or placed by others, while extenders were asked about it"
"""Message of an attempt that ended so."""


@record(frozen=True)
class AttemptEnd:
    """End of a traced attempt."""

    result: AttemptResult
    node_name: str = ""
    """The chosen node; empty if there was none."""
    rejected_by: tuple[str, ...] = ()
    """Plugins that rejected the pod, sorted."""
    message: str = ""
    """Why the pod was not bound."""
    error: BaseException | None = None


class AttemptTrace(Protocol):
    """The trace of one attempt. It must not raise. Runs in the core."""

    def search_ended(self) -> None:
        """The search for a node is over."""
        ...

    def permit_ended(self, status: Status | None) -> None:
        """The wait in permit is over; ``None``: the pod was allowed."""
        ...

    def leave(self) -> None:
        """The scheduling cycle is over: extension points that run from now on belong to other pods."""
        ...

    def ended(self, end: AttemptEnd) -> None:
        """The attempt ended, binding included. Called once, unless the scheduler is closed before."""
        ...


class AttemptTracer(Guard, Protocol):
    """Traces the attempts of one scheduler. It must not raise.

    As a guard it sees the calls of plugins, those of binding in any thread.
    """

    def begin(self, profile: str, info: QueuedPodInfo, started: float) -> AttemptTrace | None:
        """Begin an attempt that was popped at *started* (``perf_counter``); ``None``: it is not traced."""
        ...

    def close(self) -> None:
        """End the traces of attempts that will not end, as the scheduler is closed."""
        ...


class TracingSink(Protocol):
    """Makes tracers: ``Scheduler(cluster, tracing=...)``."""

    def attach(self, report: Callable[[Exception], None]) -> AttemptTracer:
        """Return the tracer of one scheduler. *report* is called with errors of the tracing itself."""
        ...
