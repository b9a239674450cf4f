"""The cluster in columns: one row a node, one array a quantity, changed in place as pods come and go."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ..api import Node, Pod, PodResources, Taint
from ..errors import InvariantError
from .change_log import ChangeLog
from .columns import DerivedColumn, DictionaryColumn
from .following import Following, KeptColumns
from .images import ImageIndex
from .node_info import NodeInfo
from .pod_groups import PodGroups
from .ports import count_port_at
from .resource_columns import FIRST_CAPACITY, ResourceColumns, longer
from .rows import Rows, read_only
from .trial import UndoLog, put_back

Column = npt.NDArray[np.int64]
Positions = npt.NDArray[np.intp]


@define(eq=False)
class NodeTable:
    """Rows of nodes with their sums of requests; the one truth about how full the cluster is.

    A row belongs to a node name from the first node or pod of that name until the node is gone and its last
    pod too; then it is reused. Adding and removing a pod is O(resources of the pod), a node O(its
    resources), growth is amortised. Node infos are made when somebody asks for one, and kept in step from
    then on.
    """

    size: int = 0
    """Rows in use, holes included: columns are valid on ``[:size]``."""
    capacity: int = FIRST_CAPACITY
    alive: npt.NDArray[np.bool_] = field(init=False)
    """Rows that have a node; read-only, as all arrays that the table hands out."""
    num_nodes: int = 0
    unschedulable: npt.NDArray[np.bool_] = field(init=False)
    pods_with_affinity: int = 0
    """Pods with pod affinity or anti-affinity terms: as long as there are none, nobody needs their groups."""
    affinity_changes: int = 0
    """How often such a pod came or went."""
    row_log: ChangeLog = field(factory=ChangeLog)
    """Every change of a row."""
    node_log: ChangeLog = field(factory=ChangeLog)
    """Only changes of the node itself: added, replaced, removed."""
    last_assume: tuple[int, int, PodResources] | None = None
    """The last time a pod came and left room for one more: version of ``row_log`` then, row and requests."""
    replaced_log: ChangeLog = field(factory=ChangeLog)
    """Rows on which a pod was exchanged for one that counts the same (:meth:`replace_pod`)."""
    images: ImageIndex = field(factory=ImageIndex)
    tainted: dict[int, tuple[Taint, ...]] = field(factory=dict)
    """The taints of rows whose node has any; equal ones are mostly one object. Not to be changed."""
    ports: dict[tuple[str, int], dict[int, dict[str, int]]] = field(factory=dict)
    """(protocol, port) → row → host IP → users."""
    _amounts: ResourceColumns = field(factory=ResourceColumns)
    _row_of: dict[str, int] = field(factory=dict)
    _names: list[str | None] = field(factory=list)
    _nodes: list[Node | None] = field(factory=list)
    _pods: list[dict[str, Pod] | None] = field(factory=list)
    _infos: list[NodeInfo | None] = field(factory=list)
    _free: list[int] = field(factory=list)
    _columns: dict[Hashable, DictionaryColumn[Any] | DerivedColumn] = field(factory=dict)
    _following: KeptColumns = field(init=False)
    _alive: npt.NDArray[np.bool_] = field(factory=lambda: np.zeros(FIRST_CAPACITY, np.bool_))
    _unschedulable: npt.NDArray[np.bool_] = field(factory=lambda: np.zeros(FIRST_CAPACITY, np.bool_))
    _all: Rows | None = None
    _groups: PodGroups | None = None
    _trials: UndoLog = field(factory=UndoLog)

    def __attrs_post_init__(self) -> None:
        self._following = KeptColumns(self)
        self.alive, self.unschedulable = read_only(self._alive), read_only(self._unschedulable)

    # ---- looking -----------------------------------------------------------------------------------------

    @property
    def layout(self) -> int:
        """Changes when columns are laid anew: arrays and memoryviews taken before show old values then."""
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
        """Row of that node, or of pods that run on a node of that name; ``None`` if there is neither."""
        return self._row_of.get(name)

    def live_row(self, name: str) -> int | None:
        """Row of that node, ``None`` if there is no such node."""
        row = self._row_of.get(name)
        return row if row is not None and self._nodes[row] is not None else None

    def name_of(self, row: int) -> str:
        """Node name of a row in use."""
        name = self._names[row]
        if name is None:
            raise InvariantError(f"row {row} is not in use")
        return name

    def node_at(self, row: int) -> Node | None:
        """The node of a row, ``None`` for a hole."""
        return self._nodes[row]

    def nodes(self) -> tuple[slice | Positions, list[Node]]:
        """Rows that have a node, and these nodes. Not to be changed."""
        if self.num_nodes == self.size:
            return slice(0, self.size), cast("list[Node]", self._nodes)
        rows = self.alive[: self.size].nonzero()[0]
        return rows, cast("list[Node]", [self._nodes[row] for row in rows.tolist()])

    def pods_at(self, row: int) -> dict[str, Pod]:
        """Pods of a row by uid. Not to be changed."""
        pods = self._pods[row]
        return {} if pods is None else pods

    def info(self, row: int) -> NodeInfo:
        """The row as a :class:`NodeInfo`, kept in step with the table from now on."""
        info = self._infos[row]
        if info is None:
            pods = self._pods[row]
            if pods is None:
                pods = self._pods[row] = {}
            info = NodeInfo(self.name_of(row), self._nodes[row], pods, row=row, images=self.images)
            for pod in pods.values():
                info.apply(pod, 1)
            self._infos[row] = info
        return info

    def rows(self) -> Rows:
        """All rows that have a node."""
        if self._all is None:
            if self.num_nodes == self.size:
                self._all = Rows(self, slice(0, self.size), self.size)
            else:
                self._all = Rows.at(self, np.flatnonzero(self.alive[: self.size]))
        return self._all

    def allocatable(self, resource: str) -> Column:
        """Allocatable amounts, int64 of shape ``(capacity,)``; zeros for a resource that nobody has."""
        return self._amounts.allocatable(resource)

    def requested(self, resource: str) -> Column:
        """Sums of requests of the pods on each row, int64 of shape ``(capacity,)``."""
        return self._amounts.requested(resource)

    def non_zero_requested(self, resource: str) -> Column:
        """As :meth:`requested` for ``cpu`` and ``memory``; containers that do not say count 100m, 200Mi."""
        column: Column = self._amounts.non_zero[0 if resource == "cpu" else 1]
        return column

    def amounts_at(self, row: int) -> tuple[Any, ...] | None:
        """All amounts of a row: two rows for which this is equal do not differ in what there is and what is
        used of anything, nor in whether they have room for another pod; only in how many pods they have and
        allow. ``None`` if there are too many resources to look at all.
        """
        return self._amounts.amounts_at(row)

    def packed_amounts(self) -> Column | None:
        """A matrix, good for one :attr:`layout`, of which a column is what :meth:`amounts_at` tells of a row;
        ``None`` if there are resources that few nodes have.
        """
        return self._amounts.packed_amounts()

    def quantities(self) -> Iterator[Column]:
        """The columns of what :meth:`amounts_at` tells of a row."""
        return self._amounts.quantities()

    def label(self, key: str) -> DictionaryColumn[str]:
        """The values of a node label, up to date."""
        return self.distinct(("label", key), lambda node: node.labels.get(key))

    def distinct(
        self,
        key: Hashable,
        value_of: Callable[[Node], Any],
        among: Mapping[int, object] | None = None,
    ) -> DictionaryColumn[Any]:
        """A dictionary-encoded property of nodes, made at first use and up to date.

        *key* names it for good: the same key must always come with an equivalent *value_of*. *among*: the
        rows that may have such a property at all, each with the part of its node that alone decides, kept
        in step by the table (:attr:`tainted`).
        """
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = DictionaryColumn(self, value_of, among)
        assert isinstance(column, DictionaryColumn)
        return column.sync()

    def derived(
        self, key: Hashable, value_of: Callable[[NodeInfo], float], dtype: npt.DTypeLike = np.int64
    ) -> npt.NDArray[Any]:
        """A number per row computed from node and pods, made at first use and up to date."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = DerivedColumn(self, value_of, dtype)
        assert isinstance(column, DerivedColumn)
        return column.sync().array

    def following(self, key: Hashable, make: Callable[[NodeTable], Following]) -> Following:
        """The columns of somebody's own known as *key*, made at first use and up to date.

        The same key must always come with an equivalent *make*. Of many, the oldest are dropped.
        """
        return self._following.get(key, make)

    def following_if_busy(
        self, key: Hashable, make: Callable[[NodeTable], Following], rows: int
    ) -> Following | None:
        """As :meth:`following`, but ``None`` until more rows were asked about in all than the table has.

        For what costs about as much to make as to do without once: *rows* is how many are asked about now.
        """
        return self._following.if_busy(key, make, rows)

    # ---- nodes -------------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> int:
        """Add a node, or replace the one of that name; its row."""
        row = self._row_of.get(node.name)
        if row is None:
            row = self._take_row(node.name)
        old = self._nodes[row]
        if old is None:
            self.num_nodes += 1
            self._alive[row] = True
            self._all = None
        self._nodes[row] = node
        had, images = () if old is None else old.status.images, node.status.images
        if images is not had and images != had:
            # Not at every heartbeat: whoever reads of images would look at all rows anew.
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
        """Take the node away; its pods stay under its name. Whether there was one."""
        row = self.live_row(name)
        if row is None:
            return False
        node = self._nodes[row]
        assert node is not None
        self.images.remove(row, node)
        self._nodes[row] = None
        self.num_nodes -= 1
        self._alive[row] = False
        self._all = None
        self._amounts.set_allocatable(row, {}, node.allocatable)
        self._unschedulable[row] = False
        self.tainted.pop(row, None)
        info = self._infos[row]
        if info is not None:
            info.node = None
        self._touch_node(row)
        self._release_if_empty(row)
        return True

    # ---- pods --------------------------------------------------------------------------------------------

    def add_pod(self, name: str, pod: Pod) -> int:
        """Count *pod* as running on node *name*, which need not be known yet; its row.

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
        """Undo :meth:`add_pod`; ``KeyError`` if that pod is not there."""
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
        """Exchange the pod of that uid for one that uses exactly as much; ``KeyError`` if there is none.

        O(1); the row counts as unchanged, only ``replaced_log`` tells.
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
        if self._groups is not None:
            self._groups.count(row, pod, sign)

    @property
    def pod_groups(self) -> PodGroups:
        """Pods counted by what selectors see of them; O(pods) at first use, kept in step from then on."""
        if self._groups is None:
            self._groups = PodGroups.of(self)
        return self._groups

    # ---- trials ------------------------------------------------------------------------------------------

    def mark(self) -> int:
        """Begin a trial, or one within it; what takes :meth:`rollback` back to the pods of now."""
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
            if self._groups is not None:
                self._groups.end_trial()

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
        self._all = None
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
        for column in self._columns.values():
            column.grow()
        if self._groups is not None:
            self._groups.grow()

    def _touch_node(self, row: int) -> None:
        self.row_log.append(row)
        self.node_log.append(row)

    def resources(self) -> tuple[str, ...]:
        """All resources that some node has or some pod requests, and those that always have a column."""
        return self._amounts.names()

    # ---- self-check --------------------------------------------------------------------------------------

    def used_rows(self) -> Iterator[int]:
        """Rows that belong to a name."""
        return (row for row in range(self.size) if self._names[row] is not None)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless every column equals what nodes and pods say; O(everything)."""
        from .invariants import check_table

        check_table(self)
