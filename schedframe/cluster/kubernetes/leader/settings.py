"""The times of a leader election, and the rules between them."""

from __future__ import annotations

from typing import Final

from attrs import field

from ...._base.value import record
from ....errors import InputError
from .lease import LeaseName

ATTEMPTS_BEFORE_DEADLINE: Final = 1.2
"""The renew deadline is longer than this many retry periods, so that a renewal has more than one attempt."""
REQUEST_SHARE: Final = 1 / 3
"""Deadline of one request for the lease, as a share of the renew deadline: room for two that hang."""


@record(frozen=True)
class ElectionSettings:
    """``leaderElection`` of a configuration; durations in seconds. Raises :class:`InputError`."""

    lease_duration: float = 15.0
    """How long others wait after the last renewal that they saw until they take the lease."""
    renew_deadline: float = 10.0
    """How long the leader goes on after its last successful renewal."""
    retry_period: float = 2.0
    """Between two renewals, and at most between two looks at the lease of another replica."""
    lease: LeaseName = field(factory=LeaseName)

    def __attrs_post_init__(self) -> None:
        if self.lease_duration <= self.renew_deadline:
            raise InputError(
                "leaderElection.leaseDuration",
                f"{self.lease_duration:g}s is not longer than renewDeadline, {self.renew_deadline:g}s",
                "make it longer",
            )
        if self.renew_deadline <= ATTEMPTS_BEFORE_DEADLINE * self.retry_period:
            raise InputError(
                "leaderElection.renewDeadline",
                f"{self.renew_deadline:g}s is not longer than {ATTEMPTS_BEFORE_DEADLINE:g} times the "
                f"retryPeriod, {self.retry_period:g}s",
                "make it longer",
            )

    @property
    def request_seconds(self) -> float:
        """Deadline of one request for the lease."""
        return self.renew_deadline * REQUEST_SHARE

    @property
    def last_moment(self) -> float:
        """Seconds after the last renewal in which a process that does not run must have ended.

        Half-way between the renew deadline, when it stops writing, and the moment when others take the lease.
        """
        return (self.renew_deadline + self.lease_duration) / 2
