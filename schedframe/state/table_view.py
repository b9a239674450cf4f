"""View of the rows of a node table, whose parts are made here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.undo import UndoLog
from .._base.value import record
from ..api import Node, Pod, PodResources, Taint
from ..errors import InvariantError
from .change_log import ChangeLog
from .images import ImageIndex
from .node_info import NO_NODE, NodeInfo
from .read_only import read_only
from .resource_columns import FIRST_CAPACITY, ResourceColumns

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
class TableView:
    """The parts of a table, and methods that change nothing. See :class:`.TableStore` for rows."""

    size: int = 0
    """Rows in use, holes included: columns are valid on ``[:size]``. A trial gives back the rows it took."""
    extent: int = 0
    """Rows that were ever in use: the rows of the change logs are below it. Those from ``size`` on have no
    node and no pods.
    """
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
    undo: UndoLog = field(factory=UndoLog)
    """The log of all trials on this table, and on what is kept beside it."""
    _vacant: dict[int, None] = field(factory=dict)
    """Rows left empty in a trial, to be released when the outermost one ends."""

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
        """Number of pods that each node allows, int64 of shape ``(capacity,)``."""
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

    def row_names(self) -> list[str | None]:
        """Return the node name of each row, ``None`` for one that is not in use; O(rows)."""
        return self._names[: self.size]

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
            nodes = self._nodes if self.extent == self.size else self._nodes[: self.size]
            return slice(0, self.size), cast("list[Node]", nodes)
        rows = self.alive[: self.size].nonzero()[0]
        return rows, cast("list[Node]", [self._nodes[row] for row in rows.tolist()])

    def pods_at(self, row: int) -> dict[str, Pod]:
        """Return the pods of a row by uid. Read-only."""
        pods = self._pods[row]
        return {} if pods is None else pods

    def free_rows(self) -> list[int]:
        """Return the rows that belong to no name, in the order in which they become free; O(rows)."""
        return list(self._free)

    def all_pods(self) -> list[dict[str, Pod]]:
        """Return the pods of each row by uid; O(rows). Read-only."""
        return [pods or {} for pods in self._pods[: self.size]]

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
