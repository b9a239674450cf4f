"""Ends of attempts, as observers see them."""

from __future__ import annotations

from collections.abc import Set
from enum import StrEnum
from typing import Any, Final, Protocol

from .._base.value import record
from ..framework import Status


class AttemptResult(StrEnum):
    """The result of one attempt to schedule a pod."""

    SCHEDULED = "scheduled"
    """The pod is bound."""
    UNSCHEDULABLE = "unschedulable"
    """No node is feasible, or a plugin rejected the chosen node."""
    ERROR = "error"
    """A plugin or the cluster failed, or the pod was deleted during the attempt."""


class _Explained(Protocol):
    def message(self) -> str: ...


@record(frozen=True, eq=False, weakref_slot=False)
class AttemptOutcome:
    """End of an attempt."""

    result: AttemptResult
    plugins: Set[str] = frozenset()
    """Plugins that rejected the pod."""
    status: Status | None = None
    """``None`` if the pod is bound."""
    diagnosis: _Explained | None = None
    """Why no node is feasible, if that is so."""

    @property
    def rejected_by(self) -> tuple[str, ...]:
        """Plugins that rejected the pod, sorted."""
        return tuple(sorted(self.plugins))

    @property
    def message(self) -> str:
        """Return why the pod was not bound; empty if it was. O(nodes) if no node is feasible."""
        return "" if self.status is None else in_one_line(self.status, self.diagnosis)

    @property
    def error(self) -> BaseException | None:
        """The exception that ended the attempt, if any."""
        return None if self.status is None else self.status.error


BOUND: Final = AttemptOutcome(AttemptResult.SCHEDULED)
"""The outcome of each attempt that bound its pod."""
GONE: Final = AttemptOutcome(
    AttemptResult.ERROR,
    status=Status.from_error("the pod was deleted, or placed by others, while extenders were asked about it"),
)


@record(frozen=True, eq=False)
class GroupAttempt:
    """One attempt for a pod group that ended."""

    key: str
    """The key of the group."""
    popped: str
    """Key of the member at the head of the queue."""
    order: tuple[str, ...]
    """Keys of the members in the order in which they were tried; empty if it ended before."""
    profile: str
    result: str
    """``scheduled``, ``waiting_on_preemption``, ``unschedulable`` or ``error``.

    Empty: the members name different schedulers.
    """
    seconds: float
    """Of the whole attempt."""
    search_seconds: float | None
    """Of the search for nodes; ``None`` if its outcome was known."""
    outcome: Any
    """All that is known, for tools of this library; ``None`` without a result."""


@record(frozen=True)
class PassedOver:
    """Equal pods that wait together: attempts for them need not be made, and count as made in vain."""

    profile: str
    pod: str
    """Key of one of them."""
    pods: int
    """Number of pods."""
    message: str
    """Why no node is feasible, as their conditions show it."""
    rejected_by: tuple[str, ...]
    """Plugins that rejected the last one that was tried, sorted."""


def in_one_line(status: Status, diagnosis: _Explained | None) -> str:
    """Return one line for people; a rejection on the chosen node is worded as if that were the only node."""
    if diagnosis is not None:
        return diagnosis.message()
    if not status.is_rejected or not status.plugin:
        return status.message
    reasons = ", ".join(sorted(f"1 {reason}" for reason in status.reasons))
    return f"0/1 nodes are available: {reasons}." if reasons else "0/1 nodes are available:"
