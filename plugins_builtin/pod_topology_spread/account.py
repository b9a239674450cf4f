"""What people are told: which domain has too many pods, and how pods are spread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schedframe import Node, NodeTable
from schedframe.api import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY

from .constraints import Constraint, Constraints
from .skew import Spreading

_SHOWN = 8
"""Domains that are listed; of more, those with the fewest and the most pods are."""


def of_node(spreading: Spreading, node: Node) -> str | None:
    """The first constraint that *node* does not satisfy, in numbers; ``None`` if it satisfies all."""
    for i, baseline in enumerate(spreading.baselines):
        constraint = baseline.constraint
        key = constraint.topology_key
        value = node.labels.get(key)
        if value is None:
            return f"no label {key}"
        count, lowest = spreading.count_of(i, value), spreading.lowest(i)
        if count + constraint.self_match - lowest > constraint.max_skew:
            own = " and this pod" if constraint.self_match else ""
            few = _too_few(spreading, i)
            least = f"the least is {lowest}{few}"
            return f"{key} {value}: matching pods {count}{own}, {least}, maxSkew is {constraint.max_skew}"
    return None


def of_pod(spreading: Spreading | None, soft: Constraints, table: NodeTable) -> Iterator[str]:
    """A line for each constraint: matching pods by domain, and the skew if this pod joined them."""
    if spreading is not None:
        for i, baseline in enumerate(spreading.baselines):
            counts = {
                value: spreading.count_of(i, value)
                for code, value in enumerate(baseline.labels.values)
                if baseline.is_domain(code)
            }
            yield _line(DO_NOT_SCHEDULE, baseline.constraint, counts, spreading.lowest(i) if counts else 0)
    for constraint in soft:
        sums = constraint.column(table).by_domain(constraint.topology_key, constraint.subset)
        counts = {
            value: int(sums.sums[code])
            for code, value in enumerate(sums.labels.values)
            if sums.domains.nodes[code]
        }
        yield _line(SCHEDULE_ANYWAY, constraint, counts, min(counts.values(), default=0))


def _too_few(spreading: Spreading, i: int) -> str:
    wanted, found = spreading.baselines[i].constraint.min_domains, spreading.domains(i)
    return f" (domains {found}, minDomains is {wanted})" if found < wanted else ""


def _line(action: str, constraint: Constraint, counts: Mapping[str, int], lowest: int) -> str:
    ordered = sorted(counts.items(), key=lambda each: (each[1], each[0]))
    own = constraint.self_match - lowest
    shown = [f"{value or '(empty)'} {count} ({count + own})" for value, count in ordered]
    if len(shown) > _SHOWN:
        left_out = len(shown) - _SHOWN
        shown[_SHOWN // 2 : -_SHOWN // 2] = [f"({left_out} more)"]
    domains = ", ".join(shown) if shown else "no domain"
    rule = f"{action} {constraint.topology_key}, maxSkew {constraint.max_skew}"
    return f"{rule}, matching pods (skew with this one): {domains}"
