"""Arguments of Coscheduling."""

from __future__ import annotations

from attrs import field, frozen, validators


@frozen
class CoschedulingArgs:
    """Time limits, and when a group is rejected as a whole."""

    permit_waiting_time_seconds: int = field(default=60, validator=validators.ge(1))
    """Seconds that pods wait at permit for their group, unless the group has its own limit."""
    pod_group_backoff_seconds: int = field(default=0, validator=validators.ge(0))
    """Minimum seconds between the rejection of a group and the next attempt of its pods."""
    pod_group_reject_percentage: int = field(
        default=10, validator=validators.and_(validators.ge(0), validators.le(100))
    )
    """Percentage of missing members up to which a group is not rejected if a pod fits nowhere."""
