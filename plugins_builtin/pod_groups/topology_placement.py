"""TopologyPlacementGenerator: one placement for each topology domain that a group may be placed in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from attrs import define

from schedframe import Handle, Pod, Rows, Status, hookimpl
from schedframe.framework import GroupPlacement, PodGroupInfo

_UNKNOWN: Final = "cannot determine domain for already scheduled pods: "


@define(eq=False)
class TopologyPlacementGenerator:
    """Divide the nodes by the label of the group's constraint; nodes without the label are left out."""

    handle: Handle

    @hookimpl
    def placement_generate(self, group: PodGroupInfo, nodes: Rows) -> Sequence[GroupPlacement] | Status:
        """Return the domains, or only that of the members that are scheduled already. O(nodes)."""
        key = "" if group.group is None else group.group.spec.topology_key
        if not key:
            return (GroupPlacement("", nodes),)
        column = self.handle.table.label(key)
        codes = nodes.take(column.codes)
        present = {column.values[code]: code for code in np.unique(codes).tolist() if code >= 0}
        if group.scheduled:
            pinned = self._domain_of(key, group.scheduled)
            if isinstance(pinned, Status):
                return pinned
            present = {pinned: present[pinned]} if pinned in present else {}
        domains = sorted(present.items())
        return tuple([GroupPlacement(value, nodes.select(codes == code)) for value, code in domains])

    def _domain_of(self, key: str, pods: Sequence[Pod]) -> str | Status:
        """Return the domain of the members that have a node."""
        found: set[str] = set()
        for pod in sorted(pods, key=lambda pod: pod.key):
            row = self.handle.table.live_row(pod.node_name)
            if row is None:
                missing = f'nodeinfo not found for node name "{pod.node_name}"'
                return Status.from_error(f"{_UNKNOWN}getting node for pod {pod.key}: {missing}")
            value = self.handle.table.info(row).labels.get(key)
            if value is None:
                return Status.from_error(f"{_UNKNOWN}no topology domain found for pod {pod.key}")
            found.add(value)
        if len(found) > 1:
            names = ", ".join(sorted(found))
            return Status.from_error(f"{_UNKNOWN}more than 1 domain found for pod group: {names}")
        return found.pop()
