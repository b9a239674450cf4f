"""Arguments of CapacityScheduling."""

from __future__ import annotations

from attrs import field, frozen, validators


@frozen
class CapacitySchedulingArgs:
    """Candidate nodes of a preemption: a percentage of all nodes, but at least an absolute number."""

    min_candidate_nodes_percentage: int = field(
        default=10, validator=validators.and_(validators.ge(0), validators.le(100))
    )
    min_candidate_nodes_absolute: int = field(default=100, validator=validators.ge(1))
