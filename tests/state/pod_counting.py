"""Tables with pods, and columns that count them."""

from __future__ import annotations

from typing import Any

from schedframe.api import Pod
from schedframe.state import CountColumn, LabelGroup, NodeSubset, NodeTable

from .build import make_node, make_pod

FAST = NodeSubset(
    "fast disks",
    lambda node: node.labels.get("disk") == "fast",
    lambda rows: rows.table.label("disk").mask_of(("fast",), rows.index),
)


def webs(group: LabelGroup) -> int:
    return int(group.labels.get("app") == "web" and not group.terminating)


def table_of(**zones: str) -> NodeTable:
    table = NodeTable()
    for name, zone in zones.items():
        table.set_node(make_node(name, labels={"zone": zone}))
    return table


def place(table: NodeTable, node: str, name: str, app: str = "web", **more: Any) -> Pod:
    pod = make_pod(name, node, labels={"app": app}, **more)
    table.add_pod(node, pod)
    return pod


def web_column(table: NodeTable) -> CountColumn:
    return table.label_groups.column("web", webs)


def counts(table: NodeTable, column: CountColumn) -> dict[str, int]:
    return {table.name_of(row): int(column.counts[row]) for row in table.used_rows() if column.counts[row]}


def sums(column: CountColumn, key: str = "zone", subset: NodeSubset | None = None) -> dict[str, int]:
    """Value → pods, of the values that are domains."""
    found = column.by_domain(key, subset)
    return {
        value: int(found.sums[code])
        for code, value in enumerate(found.labels.values)
        if found.domains.nodes[code]
    }
