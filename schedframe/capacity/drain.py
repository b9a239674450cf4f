"""Drain nodes: in which order their pods move, where each one goes, and what blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Unpack

from attrs import field
from typing_extensions import override

from .._base.brief import brief_of
from .._base.tables import Cell, Table, Tabular
from .._base.value import record
from ..api import CPU, MEMORY, Node, Pod, PodDisruptionBudget
from ..errors import InputError
from ..fork import Fork, Placement
from ..fork.evicting import is_of_its_node
from ..fork.sources import ForkSource
from .advice import API_VERSION, obstacle_of
from .blocking import Allowance, Block, BlockKind, allowances, blocks_of
from .question import QuestionOptions, settled_fork

_STRICTER: Final = "take away its toleration of node.kubernetes.io/unschedulable"


@record(frozen=True)
class DrainStep:
    """One eviction. ``str()`` is one line."""

    pod: str
    """``namespace/name``."""
    from_node: str
    to_node: str
    """Where the pod that is made in its place goes; empty if it is deleted for good."""

    def __str__(self) -> str:
        goes = f"to {self.to_node}" if self.to_node else "for good"
        return f"{self.pod} from {self.from_node} {goes}"


@record(frozen=True, repr=False)
class CapacityDrain(Tabular):
    """A plan that drains nodes. ``str()`` and notebooks show a table of the steps."""

    nodes: tuple[str, ...]
    """They are cordoned first, all of them."""
    steps: tuple[DrainStep, ...]
    """Evictions in the order in which they work; each waits until the pod before it runs again."""
    blocked: tuple[Block, ...]
    """Pods that cannot be moved after all the others have been."""
    staying: tuple[str, ...] = ()
    """Pods of daemon sets and those that a node runs itself: they stay on a node that is drained."""

    @property
    def is_complete(self) -> bool:
        """Return whether nothing blocks."""
        return not self.blocked

    def to_dict(self) -> dict[str, Any]:
        """Return the answer in plain types."""
        return {
            "apiVersion": API_VERSION,
            "kind": "CapacityDrain",
            "nodes": list(self.nodes),
            "complete": self.is_complete,
            "steps": [
                {"pod": each.pod, "from": each.from_node, "to": each.to_node or None} for each in self.steps
            ],
            "blocked": [each.to_dict() for each in self.blocked],
            "staying": list(self.staying),
        }

    @override
    def __repr__(self) -> str:
        return brief_of(self, nodes=self.nodes, steps=len(self.steps), blocked=len(self.blocked))

    @override
    def _table(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (number, each.pod, each.from_node, each.to_node)
            for number, each in enumerate(self.steps, start=1)
        ]
        return Table({"step": int, "pod": str, "from": str, "to": str}, rows)


def drain(
    cluster: ForkSource,
    nodes: str | Iterable[str],
    *,
    force: bool = False,
    delete_local_data: bool = False,
    on_pod: Callable[[], None] | None = None,
    **options: Unpack[QuestionOptions],
) -> CapacityDrain:
    """Return how *nodes* are drained: the order of evictions, where each pod goes, and what blocks.

    All nodes are cordoned first. Pods then move one by one, those of high priority and large ones first; one
    that cannot move waits for the others and is tried again. What blocks: no controller (``force``: such pods
    are deleted for good), local storage (``delete_local_data``: it is given up), a disruption budget, and no
    other node that takes it. No pod makes room for itself. ``on_pod`` is called after each. ``cluster`` and
    ``options``: as for :func:`fit`. Nothing is changed. Raises :class:`InputError` for a node that is not
    there.
    """
    with settled_fork(cluster, options) as fork:
        names = _named(fork, [nodes] if isinstance(nodes, str) else list(nodes))
        for name in names:
            fork.cordon(name)
        with fork.scheduler.without_preemption():
            return _Draining(fork, names, force, delete_local_data).drain(on_pod)


def _named(fork: Fork, wanted: list[str]) -> tuple[str, ...]:
    if not wanted:
        raise InputError("nodes", "no node is named", "name at least one")
    present = [node.name for node in fork.cluster.list(Node.KIND)]
    for name in wanted:
        if name not in present:
            raise InputError("nodes", f"there is no node {name}", f"there are {', '.join(present[:5])}")
    return tuple(dict.fromkeys(wanted))


@record(eq=False)
class _Draining:
    fork: Fork
    nodes: tuple[str, ...]
    force: bool
    delete_local_data: bool
    steps: list[DrainStep] = field(factory=list)
    budgets: list[Allowance] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.budgets = self._budgets()

    def drain(self, on_pod: Callable[[], None] | None) -> CapacityDrain:
        """Move pods until none of those that are left can be moved; O(pods × passes)."""
        every = [pod for name in self.nodes for pod in self.fork.pods_on(name)]
        left = sorted([pod for pod in every if not is_of_its_node(pod)], key=_order)
        count = len(left) + 1
        while left and len(left) < count:
            count, tried, left = len(left), left, []
            for pod in tried:
                if self._move(pod):
                    if on_pod is not None:
                        on_pod()
                else:
                    left.append(pod)
        blocked = tuple([self._block(pod) for pod in left])
        staying = tuple([pod.key for pod in every if is_of_its_node(pod)])
        return CapacityDrain(self.nodes, tuple(self.steps), blocked, staying)

    def _move(self, pod: Pod) -> bool:
        """Evict *pod* and place it elsewhere; return whether that works. If not, nothing has changed."""
        if next(self._blocks(pod), None) is not None:
            return False
        with self.fork.trial() as trial:
            placement = self._evicted(pod)
            if placement is not None and placement.node_name in (None, *self.nodes):
                return False
            trial.keep()
        if placement is None:
            self.budgets = self._budgets()  # there is one pod less
        to_node = "" if placement is None else str(placement.node_name)
        self.steps.append(DrainStep(pod.key, pod.node_name, to_node))
        return True

    def _evicted(self, pod: Pod) -> Placement | None:
        """Evict *pod*; return where the one in its place gets, ``None`` if there is none."""
        made = self.fork.evict(pod.key)
        return None if made is None else self.fork.schedule([made])[0]

    def _block(self, pod: Pod) -> Block:
        """Return why *pod* cannot be moved."""
        first = next(self._blocks(pod), None)
        if first is not None:
            return first
        with self.fork.trial():
            placement = self._evicted(pod)
            assert placement is not None
            if placement.node_name is not None:
                message = f"it tolerates cordoned nodes, and would come back to {placement.node_name}"
                return Block(pod.key, pod.node_name, BlockKind.COMES_BACK, message, _STRICTER)
            obstacle = obstacle_of(self.fork, placement.pod, pod.key, placement.message)
        change = "" if obstacle.change is None else str(obstacle.change)
        return Block(pod.key, pod.node_name, BlockKind.NOWHERE_TO_GO, placement.message, change, obstacle)

    def _blocks(self, pod: Pod) -> Iterator[Block]:
        return blocks_of(pod, self.budgets, force=self.force, delete_local_data=self.delete_local_data)

    def _budgets(self) -> list[Allowance]:
        cluster = self.fork.cluster
        return allowances(cluster.list(PodDisruptionBudget.KIND), cluster.list(Pod.KIND))


def _order(pod: Pod) -> tuple[int, int, int]:
    """Sort key: important pods first, then large ones, which are the hardest to place."""
    requests = pod.requests
    return -pod.priority, -requests.get(CPU, 0), -requests.get(MEMORY, 0)
