"""The rows of the node table: nodes, their pods and sums of requests, maintained change by change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record
from ..api import Node, Pod, PodResources, Taint
from ..errors import InvariantError
from .change_log import ChangeLog
from .images import ImageIndex
from .node_info import NO_NODE, NodeInfo
from .ports import count_port_at
from .read_only import read_only
from .resource_columns import FIRST_CAPACITY, ResourceColumns, longer
from .undo_log import UndoLog, put_back

Column = npt.NDArray[np.int64]
Positions = npt.NDArray[np.intp]


class PodListener(Protocol):
    """Counts of pods that the store keeps in step."""

    def count(self, row: int, pod: Pod, sign: int) -> None:
        """Count a pod that was added to (1) or removed from (-1) a row."""
        ...

    def grow(self) -> None:
        """Make room for ``capacity`` rows."""
        ...

    def end_trial(self) -> None:
        """Process the end of the outermost trial."""
        ...


@record(eq=False)
class TableStore:
    """Rows of nodes with their pods: the base of :class:`.NodeTable`, without what is derived from rows.

    A row belongs to a node name from the first node or pod of that name until its node and its last pod are
    gone; then it is reused. A pod costs O(its resources), a node too; growth is amortised. Node infos are
    made at first use and kept in step from then on.
    """

    size: int = 0
    """Rows in use, holes included: columns are valid on ``[:size]``."""
    capacity: int = FIRST_CAPACITY
    alive: npt.NDArray[np.bool_] = field(init=False)
    """Rows that have a node; read-only, like all arrays that the table hands out."""
    num_nodes: int = 0
    unschedulable: npt.NDArray[np.bool_] = field(init=False)
    pods_with_affinity: int = 0
    """Pods with pod affinity or anti-affinity terms; as long as there are none, no pod groups are needed."""
    affinity_changes: int = 0  # how often such a pod was added or removed
    row_log: ChangeLog = field(factory=ChangeLog)
    """Every change of a row."""
    node_log: ChangeLog = field(factory=ChangeLog)
    """Only changes of the node itself: added, replaced, removed."""
    last_assume: tuple[int, int, PodResources] | None = None
    """The last addition of a pod that left room for another one: version of ``row_log``, row and requests."""
    replaced_log: ChangeLog = field(factory=ChangeLog)
    """Rows on which a pod was replaced by a version that counts the same (:meth:`replace_pod`)."""
    images: ImageIndex = field(factory=ImageIndex)
    tainted: dict[int, tuple[Taint, ...]] = field(factory=dict)
    """Taints of the rows whose node has any; equal ones are mostly one object. Read-only."""
    ports: dict[tuple[str, int], dict[int, dict[str, int]]] = field(factory=dict)
    """(protocol, port) → row → host IP → users."""
    _amounts: ResourceColumns = field(factory=ResourceColumns)
    _row_of: dict[str, int] = field(factory=dict)
    _names: list[str | None] = field(factory=list)
    _nodes: list[Node | None] = field(factory=list)
    _pods: list[dict[str, Pod] | None] = field(factory=list)
    _infos: list[NodeInfo | None] = field(factory=list)
    _free: list[int] = field(factory=list)
    _alive: npt.NDArray[np.bool_] = field(factory=lambda: np.zeros(FIRST_CAPACITY, np.bool_))
    _unschedulable: npt.NDArray[np.bool_] = field(factory=lambda: np.zeros(FIRST_CAPACITY, np.bool_))
    _listener: PodListener | None = None
    _trials: UndoLog = field(factory=UndoLog)

    def __attrs_post_init__(self) -> None:
        self.alive, self.unschedulable = read_only(self._alive), read_only(self._unschedulable)

    # ---- looking -----------------------------------------------------------------------------------------

    @property
    def layout(self) -> int:
        """Changes when columns are moved: arrays and memoryviews taken before show old values then."""
        return self._amounts.sparse.layout

    @property
    def pod_count(self) -> Column:
        """Number of pods on each row, int64 of shape ``(capacity,)``."""
        return self._amounts.pod_count

    @property
    def allowed_pods(self) -> Column:
        """How many pods each node allows, int64 of shape ``(capacity,)``."""
        return self._amounts.allowed_pods

    def row_of(self, name: str) -> int | None:
        """Return the row of that node, or of pods on a node of that name; ``None`` if there is neither."""
        return self._row_of.get(name)

    def live_row(self, name: str) -> int | None:
        """Return the row of that node, ``None`` if there is no such node."""
        row = self._row_of.get(name)
        return row if row is not None and self._nodes[row] is not None else None

    def name_of(self, row: int) -> str:
        """Return the node name of a row in use."""
        name = self._names[row]
        if name is None:
            raise InvariantError(f"row {row} is not in use")
        return name

    def names_of(self, rows: Iterable[int]) -> list[str]:
        """Return the node names of rows in use; O(rows)."""
        known = self._names
        names = [known[row] for row in rows]
        if None in names:
            raise InvariantError(f"a row of {rows} is not in use")
        return cast("list[str]", names)

    def node_at(self, row: int) -> Node | None:
        """Return the node of a row, ``None`` for a hole."""
        return self._nodes[row]

    def nodes(self) -> tuple[slice | Positions, list[Node]]:
        """Return the rows that have a node, and these nodes. Read-only."""
        if self.num_nodes == self.size:
            return slice(0, self.size), cast("list[Node]", self._nodes)
        rows = self.alive[: self.size].nonzero()[0]
        return rows, cast("list[Node]", [self._nodes[row] for row in rows.tolist()])

    def pods_at(self, row: int) -> dict[str, Pod]:
        """Return the pods of a row by uid. Read-only."""
        pods = self._pods[row]
        return {} if pods is None else pods

    def used_rows(self) -> Iterator[int]:
        """Return the rows that belong to a name."""
        return (row for row in range(self.size) if self._names[row] is not None)

    def info(self, row: int) -> NodeInfo:
        """Return the row as a :class:`NodeInfo`, kept in step with the table from now on."""
        info = self._infos[row]
        if info is None:
            pods = self._pods[row]
            if pods is None:
                pods = self._pods[row] = {}
            node = self._nodes[row] or NO_NODE
            info = NodeInfo(self.name_of(row), node, pods, row=row, images=self.images)
            for pod in pods.values():
                info.apply(pod, 1)
            self._infos[row] = info
        return info

    def resources(self) -> tuple[str, ...]:
        """Return all resources that any node has or any pod requests, and those that always have columns."""
        return self._amounts.names()

    def is_absent(self, resource: str) -> bool:
        """Return whether no node has any of *resource*; false for cpu, memory, storage and pods. O(1)."""
        return self._amounts.sparse.is_absent(resource)

    def allocatable(self, resource: str) -> Column:
        """Return allocatable amounts, int64 of shape ``(capacity,)``; zeros for an unknown resource."""
        return self._amounts.allocatable(resource)

    def requested(self, resource: str) -> Column:
        """Return sums of requests of the pods on each row, int64 of shape ``(capacity,)``."""
        return self._amounts.requested(resource)

    def non_zero_requested(self, resource: str) -> Column:
        """As :meth:`requested` for ``cpu``, ``memory``; a container without requests counts 100m, 200Mi."""
        column: Column = self._amounts.non_zero[0 if resource == "cpu" else 1]
        return column

    def row_state(self, row: int) -> tuple[Any, ...] | None:
        """Return all amounts of a row: rows with equal states do not differ in what there is and what is used
        of any resource, nor in whether there is room for another pod; only in the number of pods. ``None`` if
        there are too many resources to compare. O(resources).
        """
        return self._amounts.row_state(row)

    def state_columns(self) -> Iterator[Column]:
        """Return the columns whose values at a row are its :meth:`row_state`."""
        return self._amounts.state_columns()

    # ---- nodes -------------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> int:
        """Add a node, or replace the one of that name; return its row."""
        row = self._row_of.get(node.name)
        if row is None:
            row = self._take_row(node.name)
        old = self._nodes[row]
        if old is None:
            self.num_nodes += 1
            self._alive[row] = True
            self._membership_changed()
        self._nodes[row] = node
        had, images = () if old is None else old.status.images, node.status.images
        if images is not had and images != had:
            # Not at every heartbeat: readers of the index would process all rows again.
            if old is not None:
                self.images.remove(row, old)
            self.images.add(row, node)
        self._amounts.set_allocatable(row, node.allocatable, {} if old is None else old.allocatable)
        self._unschedulable[row] = node.spec.unschedulable
        if node.spec.taints:
            self.tainted[row] = node.spec.taints
        elif old is not None:
            self.tainted.pop(row, None)
        info = self._infos[row]
        if info is not None:
            info.node = node
        self._touch_node(row)
        return row

    def remove_node(self, name: str) -> bool:
        """Remove the node; its pods stay under its name. Return whether there was one."""
        row = self.live_row(name)
        if row is None:
            return False
        node = self._nodes[row]
        assert node is not None
        self.images.remove(row, node)
        self._nodes[row] = None
        self.num_nodes -= 1
        self._alive[row] = False
        self._membership_changed()
        self._amounts.set_allocatable(row, {}, node.allocatable)
        self._unschedulable[row] = False
        self.tainted.pop(row, None)
        info = self._infos[row]
        if info is not None:
            info.node = NO_NODE
        self._touch_node(row)
        self._release_if_empty(row)
        return True

    # ---- pods --------------------------------------------------------------------------------------------

    def add_pod(self, name: str, pod: Pod) -> int:
        """Count *pod* on node *name*, which may be added later; return the row.

        Raises :class:`InvariantError` if that pod (by uid) is there already.
        """
        row = self._row_of.get(name)
        if row is None:
            row = self._take_row(name)
        pods, uid = self._pods[row], pod.uid
        if pods is None:
            pods = self._pods[row] = {}
        elif uid in pods:
            raise InvariantError(f"pod {pod.key} ({uid}) counts on node {name} already")
        pods[uid] = pod
        self._apply(row, pod, 1)
        if self._trials.marks:
            self._trials.entries.append((row, pod, None))
        return row

    def remove_pod(self, name: str, uid: str) -> Pod:
        """Undo :meth:`add_pod` and return the pod. ``KeyError`` if it is not there."""
        row = self._row_of[name]
        pods = self._pods[row]
        if pods is None:
            raise KeyError(uid)
        order = tuple(pods) if self._trials.marks else ()
        pod = pods.pop(uid)
        self._apply(row, pod, -1)
        if order:
            self._trials.entries.append((row, pod, order if order[-1] != uid else ()))
        if not pods:
            self._release_if_empty(row)
        return pod

    def replace_pod(self, name: str, pod: Pod) -> None:
        """Replace the pod of that uid by a version that uses exactly as much. ``KeyError`` if there is none.

        O(1); the row counts as unchanged and is appended to ``replaced_log`` only.
        """
        row, uid = self._row_of[name], pod.uid
        pods = self._pods[row]
        if pods is None or uid not in pods:
            raise KeyError(uid)
        pods[uid] = pod
        self.replaced_log.append(row)

    def _apply(self, row: int, pod: Pod, sign: int) -> None:
        resources, spec, log = pod.resources, pod.spec, self.row_log
        room = self._amounts.count(row, resources, sign)
        for port in spec.host_ports:
            count_port_at(self.ports, row, port, sign)
        info = self._infos[row]
        if info is not None:
            info.apply(pod, sign)
        log.append(row)
        if room and sign > 0:
            self.last_assume = (log.version, row, resources)
        affinity = spec.affinity
        if affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity):
            self.pods_with_affinity += sign
            self.affinity_changes += 1
        if self._listener is not None:
            self._listener.count(row, pod, sign)

    # ---- trials ------------------------------------------------------------------------------------------

    def mark(self) -> int:
        """Begin a trial, or one within it; return the mark for :meth:`rollback` to the present pods."""
        return self._trials.begin()

    @property
    def on_trial(self) -> bool:
        """Whether a trial is under way, or is being undone."""
        return bool(self._trials.marks) or self._trials.undoing

    def rollback(self, mark: int) -> None:
        """End the trial that began with *mark* and those within it: undo their pod changes, order included.

        O(changes). Raises :class:`InvariantError` if that trial is over. Rows that became empty are given
        back when the outermost trial ends.
        """
        trials = self._trials
        entries, trials.undoing = trials.end(mark), True
        for row, pod, order in entries:
            pods = self.pods_at(row)
            if order is None:
                del pods[pod.uid]
                self._apply(row, pod, -1)
                trials.vacant.add(row)
            else:
                put_back(pods, pod, order)
                self._apply(row, pod, 1)
        trials.undoing = False
        if not trials.marks:
            for row in sorted(trials.vacant):
                self._release_if_empty(row)
            trials.vacant.clear()
            if self._listener is not None:
                self._listener.end_trial()

    # ---- rows --------------------------------------------------------------------------------------------

    def _take_row(self, name: str) -> int:
        if self._free:
            row = self._free.pop()
            self._names[row] = name
        else:
            row = self.size
            if row == self.capacity:
                self._grow(2 * self.capacity)
            self._names.append(name)
            self._nodes.append(None)
            self._pods.append(None)
            self._infos.append(None)
            self.size += 1
        self._row_of[name] = row
        self._membership_changed()
        return row

    def _release_if_empty(self, row: int) -> None:
        if self._nodes[row] is not None or self._pods[row]:
            return
        if self._trials.marks:
            self._trials.vacant.add(row)
            return
        name = self._names[row]
        if name is not None:
            del self._row_of[name]
            self._names[row] = self._pods[row] = self._infos[row] = None
            self._free.append(row)

    def _grow(self, capacity: int) -> None:
        self._alive = longer(self._alive, capacity)
        self._unschedulable = longer(self._unschedulable, capacity)
        self.alive, self.unschedulable = read_only(self._alive), read_only(self._unschedulable)
        self._amounts.grow(capacity)
        self.capacity = capacity
        for log in (self.row_log, self.node_log, self.replaced_log):
            log.fit(capacity)
        if self._listener is not None:
            self._listener.grow()

    def _membership_changed(self) -> None:
        """Called when a row is taken, and when a row gets or loses its node."""

    def _touch_node(self, row: int) -> None:
        self.row_log.append(row)
        self.node_log.append(row)
