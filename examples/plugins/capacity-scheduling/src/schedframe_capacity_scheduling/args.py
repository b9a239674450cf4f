"""What the configuration may say."""

from __future__ import annotations

from attrs import field, frozen, validators


@frozen
class CapacitySchedulingArgs:
    """How many candidate nodes preemption tries: a percentage of all, but at least an absolute number."""

    min_candidate_nodes_percentage: int = field(
        default=10, validator=validators.and_(validators.ge(0), validators.le(100))
    )
    min_candidate_nodes_absolute: int = field(default=100, validator=validators.ge(1))
