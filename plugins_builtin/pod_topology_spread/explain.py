"""Explanations: which domain has too many pods, and how matching pods are distributed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schedframe import Node, NodeTable
from schedframe.api import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY

from .constraints import Constraint, Constraints
from .filtering import FilterState

_MAX_LISTED = 8
"""Domains listed per constraint; of more, only those with the fewest and the most pods."""


def explain_node(state: FilterState, node: Node) -> str | None:
    """Return the numbers of the first constraint that *node* violates; ``None`` if it violates none."""
    for i, counted in enumerate(state.constraint_counts):
        constraint = counted.constraint
        key = constraint.topology_key
        value = node.labels.get(key)
        if value is None:
            return f"no label {key}"
        count, lowest = state.count_of(i, value), state.lowest(i)
        if count + constraint.self_match - lowest > constraint.max_skew:
            own = " and this pod" if constraint.self_match else ""
            least = f"the least is {lowest}{_min_domains_text(state, i)}"
            return f"{key} {value}: matching pods {count}{own}, {least}, maxSkew is {constraint.max_skew}"
    return None


def explain_pod(state: FilterState | None, soft: Constraints, table: NodeTable) -> Iterator[str]:
    """Return a line for each constraint: matching pods by domain, and the skew with this pod."""
    if state is not None:
        for i, counted in enumerate(state.constraint_counts):
            counts = {
                value: state.count_of(i, value)
                for code, value in enumerate(counted.labels.values)
                if counted.is_domain(code)
            }
            yield _line(DO_NOT_SCHEDULE, counted.constraint, counts, state.lowest(i) if counts else 0)
    for constraint in soft:
        sums = constraint.column(table).by_domain(constraint.topology_key, constraint.subset)
        counts = {
            value: int(sums.sums[code])
            for code, value in enumerate(sums.labels.values)
            if sums.domains.nodes[code]
        }
        yield _line(SCHEDULE_ANYWAY, constraint, counts, min(counts.values(), default=0))


def _min_domains_text(state: FilterState, i: int) -> str:
    required, present = state.constraint_counts[i].constraint.min_domains, state.domains(i)
    return f" (domains {present}, minDomains is {required})" if present < required else ""


def _line(action: str, constraint: Constraint, counts: Mapping[str, int], lowest: int) -> str:
    ordered = sorted(counts.items(), key=lambda each: (each[1], each[0]))
    own = constraint.self_match - lowest
    listed = [f"{value or '(empty)'} {count} ({count + own})" for value, count in ordered]
    if len(listed) > _MAX_LISTED:
        left_out = len(listed) - _MAX_LISTED
        listed[_MAX_LISTED // 2 : -_MAX_LISTED // 2] = [f"({left_out} more)"]
    domains = ", ".join(listed) if listed else "no domain"
    rule = f"{action} {constraint.topology_key}, maxSkew {constraint.max_skew}"
    return f"{rule}, matching pods (skew with this one): {domains}"
