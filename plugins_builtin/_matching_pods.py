"""Counts of the pods that spreading considers: of one namespace, matched by a selector, not terminating."""

from __future__ import annotations

from typing import Final

from schedframe import NodeInfo, NodeTable
from schedframe.api import IN, CompiledSelector
from schedframe.state import CountColumn, LabelGroup

_KEY: Final = ("matching pods",)


def count_column(table: NodeTable, namespace: str, selector: CompiledSelector) -> CountColumn:
    """Return the number of such pods per row.

    As in the reference, a selector without requirements matches no pod.
    """
    groups = table.label_groups
    if not selector.requirements:
        return groups.column(_KEY, _nothing, ("", None))

    def weigh(group: LabelGroup) -> int:
        return int(group.namespace == namespace and not group.terminating and selector.matches(group.labels))

    return groups.column((*_KEY, namespace, selector), weigh, (namespace, necessary_label(selector)))


def count_on(info: NodeInfo, table: NodeTable, namespace: str, selector: CompiledSelector) -> int:
    """Return the number of such pods on one node; O(1) for a node of the table, else O(pods)."""
    if info.row >= 0 and info.pods is table.pods_at(info.row):
        column = count_column(table, namespace, selector)
        return int(column.counts[info.row]) if info.row < len(column.counts) else 0
    if not selector.requirements:
        return 0
    return sum(
        1
        for pod in info.pods.values()
        if pod.namespace == namespace and not pod.is_terminating and selector.matches(pod.labels)
    )


def _nothing(group: LabelGroup) -> int:
    return 0


def necessary_label(selector: CompiledSelector) -> tuple[str, str] | None:
    """Return a label that every pod has which *selector* matches; ``None`` if none is obvious."""
    for requirement in selector.requirements or ():
        if requirement.operator == IN and len(requirement.values) == 1:
            return requirement.key, next(iter(requirement.values))
    return None
