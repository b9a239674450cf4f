"""What the configuration may say."""

from __future__ import annotations

from attrs import field, frozen, validators


@frozen
class CoschedulingArgs:
    """Patience, and what happens to a group that does not get together."""

    permit_waiting_time_seconds: int = field(default=60, validator=validators.ge(1))
    """How long pods wait for the others of their group, where the group does not say."""
    pod_group_backoff_seconds: int = field(default=0, validator=validators.ge(0))
    """For how long at least no pod of a group is tried after one of it fitted nowhere."""
    pod_group_reject_percentage: int = field(
        default=10, validator=validators.and_(validators.ge(0), validators.le(100))
    )
    """A group of which at most so many percent are missing is not given up when a pod of it fits nowhere."""
