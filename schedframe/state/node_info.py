"""One node with its pods in plain Python numbers: the argument of per-node plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from attrs import field

from .._base.brief import brief_of
from .._base.checked import check_arguments
from .._base.value import record
from ..api import Node, Pod
from .ports import PortUsers, count_port

if TYPE_CHECKING:
    from .images import ImageIndex, ImageState

NO_NODE: Final = Node()
"""Stands for a node that is not there: without a name, labels and resources."""


@record(eq=False)
class NodeInfo:
    """A node, its pods and their sums.

    Plugins only read it. ``clone()`` gives an independent copy for dry runs; ``add_pod`` and ``remove_pod``
    are O(resources of the pod). CPU is in milli-CPU, everything else in whole units (bytes, counts).
    """

    name: str
    node: Node = NO_NODE
    """:data:`NO_NODE` while there are pods of a node that has not been added, see :attr:`has_node`."""
    pods: dict[str, Pod] = field(factory=dict)
    """Pods by uid, in the order in which they were added."""
    requested: dict[str, int] = field(factory=dict)
    non_zero_cpu: int = 0
    """Sum of requests, a container without one counting 100m."""
    non_zero_memory: int = 0
    """Sum of requests in bytes, a container without one counting 200Mi."""
    used_ports: PortUsers = field(factory=dict)
    """(protocol, port) → host IP → number of users."""
    row: int = -1
    """Row of the table this belongs to, or was copied from; -1 outside of one."""
    images: ImageIndex | None = None

    @classmethod
    def of(cls, node: Node, pods: Iterable[Pod] = ()) -> NodeInfo:
        """Return a node info outside of any table."""
        try:
            info = cls(node.name, node)
            for pod in pods:
                info.add_pod(pod)
        except (AttributeError, TypeError):
            check_arguments(NodeInfo.of, node, pods)
            raise
        return info

    @property
    def allocatable(self) -> Mapping[str, int]:
        """Allocatable resources of the node; empty if there is no node."""
        return self.node.allocatable

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of the node; empty if there is no node."""
        return self.node.labels

    @property
    def has_node(self) -> bool:
        """Return whether the node is there.

        True in every hook but add_pod and remove_pod: pods can be left of a node that is gone.
        """
        return self.node is not NO_NODE

    @property
    def allowed_pods(self) -> int:
        """Number of pods that may run here."""
        return self.allocatable.get("pods", 0)

    def add_pod(self, pod: Pod) -> None:
        """Count *pod* on this node."""
        self.pods[pod.uid] = pod
        self.apply(pod, 1)

    def remove_pod(self, pod: Pod) -> None:
        """Undo :meth:`add_pod`; ``KeyError`` if that pod (by uid) is not here."""
        self.apply(self.pods.pop(pod.uid), -1)

    def apply(self, pod: Pod, sign: int) -> None:
        """Add (1) or subtract (-1) the use of *pod*; ``pods`` does not change."""
        requested, resources = self.requested, pod.resources
        for resource, amount in resources.requests.items():
            requested[resource] = requested.get(resource, 0) + sign * amount
        cpu, memory = resources.non_zero
        self.non_zero_cpu += sign * cpu
        self.non_zero_memory += sign * memory
        for port in pod.spec.host_ports:
            count_port(self.used_ports, port, sign)

    def image_state(self, name: str) -> ImageState | None:
        """Return the state of image *name* if this node has it, else ``None``."""
        if self.images is None:
            return None
        state = self.images.get(name)
        return state if state is not None and state.has(self.row) else None

    def clone(self) -> NodeInfo:
        """Return an independent copy for a dry run in the core; O(pods + resources)."""
        copy = self.detached()
        copy.row, copy.images = self.row, self.images
        return copy

    def detached(self) -> NodeInfo:
        """As :meth:`clone`, without ties to the table it came from: no row, no image states."""
        return NodeInfo(
            self.name,
            self.node,
            dict(self.pods),
            dict(self.requested),
            self.non_zero_cpu,
            self.non_zero_memory,
            {key: dict(users) for key, users in self.used_ports.items()} if self.used_ports else {},
        )

    def __repr__(self) -> str:
        return brief_of(self, self.name, pods=len(self.pods), requested=self.requested)
