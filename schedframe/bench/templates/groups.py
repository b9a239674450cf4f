"""Workloads of pod groups: gangs of equal pods that all fit, with and without a topology constraint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ...api import Pod, PodGroup, from_manifest
from ..objects import make_node, make_pod
from ..operations import Create, Operation, SchedulePods
from ..options import Size

GANGS: Final[Mapping[str, bool]] = {"GenericWorkload": True, "GangScheduling": True}
"""Feature gates of gangs."""
TOPOLOGY: Final[Mapping[str, bool]] = {**GANGS, "TopologyAwareWorkloadScheduling": True}
ZONES: Final = tuple(f"zone-{i:02d}" for i in range(20))


def _group(i: int, members: int, key: str) -> PodGroup:
    spec: dict[str, object] = {"schedulingPolicy": {"gang": {"minCount": members}}}
    if key:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    made = from_manifest(
        {
            "apiVersion": PodGroup.API_VERSION,
            "kind": PodGroup.KIND,
            "metadata": {"name": _group_name(i), "namespace": "default"},
            "spec": spec,
        }
    )
    assert isinstance(made, PodGroup)
    return made


def _group_name(i: int) -> str:
    return f"gang-{i:05d}"


def gangs_of(members: int, key: str = "") -> Callable[[Size], Sequence[Operation]]:
    """Return a workload of gangs with that number of members; *key*: the label of their constraint."""

    def operations(size: Size) -> Sequence[Operation]:
        def make(i: int) -> Pod:
            group = {"podGroupName": _group_name(i // members)}
            return make_pod(f"pod-{i:06d}", schedulingGroup=group)

        groups = -(-size.pods // members)
        return (
            Create("nodes", size.nodes, lambda i: make_node(i, ZONES)),
            Create("groups", groups, lambda i: _group(i, members, key)),
            SchedulePods(groups * members, make),
        )

    return operations
