"""The filter of PodTopologySpread called without a scheduler."""

from __future__ import annotations

from typing import Any

from plugins_builtin.args import PodTopologySpreadArgs
from plugins_builtin.pod_topology_spread import ERR_REASON_CONSTRAINTS, ERR_REASON_LABEL, PodTopologySpread
from schedframe.api import (
    LabelSelector,
    Pod,
    TopologySpreadConstraint,
)
from schedframe.framework import CycleState, Status
from schedframe.state import NodeTable
from tests.plugins.agreement import (
    StandInHandle,
    columnar_statuses,
    per_node_statuses,
)
from tests.plugins.spreading import (
    make_pod,
)

OPEN = Status()
SKEWED = Status.unschedulable(ERR_REASON_CONSTRAINTS)
UNLABELLED = Status.unresolvable(ERR_REASON_LABEL)
EVERYTHING = LabelSelector()


def plugin_of(table: NodeTable) -> PodTopologySpread:
    return PodTopologySpread(PodTopologySpreadArgs(), StandInHandle(table=table))


def filtered(table: NodeTable, pod: Pod) -> dict[str, Status]:
    """Return the status of each node by both forms."""
    plugin, state, rows = plugin_of(table), CycleState(), table.rows()
    assert plugin.pre_filter(state, pod, rows) is None
    found = columnar_statuses(plugin, state, pod, rows)
    assert found == per_node_statuses(plugin, state, pod, rows)
    return dict(zip(rows.names(), found, strict=True))


def open_nodes(table: NodeTable, *constraints: TopologySpreadConstraint, **pod: Any) -> set[str]:
    found = filtered(table, make_pod("p", *constraints, **pod))
    assert set(found.values()) <= {OPEN, SKEWED}
    return {name for name, status in found.items() if status == OPEN}
