"""The rows of the node table: nodes, their pods and sums of requests, maintained change by change."""

from __future__ import annotations

from collections.abc import Mapping

from .._base.value import record
from ..api import Node, Pod
from ..errors import InvariantError
from .images import NO_IMAGES, ImageState
from .node_info import NO_NODE
from .ports import count_port_at
from .read_only import read_only
from .resource_columns import longer
from .table_view import TableView


@record(eq=False)
class TableStore(TableView):
    """Rows of nodes with their pods: the base of :class:`.NodeTable`, without what is derived from rows.

    A row belongs to a node name from the first node or pod of that name until its node and its last pod are
    gone; then it is reused. A pod costs O(its resources), a node too; growth is amortised. Node infos are
    made at first use and kept in step from then on.
    """

    def __attrs_post_init__(self) -> None:
        TableView.__attrs_post_init__(self)
        self.undo.when_over.append(self._end_trials)

    # ---- nodes -------------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> int:
        """Add a node, or replace the one of that name; return its row."""
        row = self._row_of.get(node.name)
        if row is None:
            row = self._take_row(node.name)
        old = self._nodes[row]
        if self.undo.marks:
            self.undo.entries.append((self._undo_node, row, old, self._images_of(old)))
        self._put_node(row, node)
        return row

    def remove_node(self, name: str) -> bool:
        """Remove the node; its pods stay under its name. Return whether there was one."""
        row = self.live_row(name)
        if row is None:
            return False
        if self.undo.marks:
            node = self._nodes[row]
            self.undo.entries.append((self._undo_node, row, node, self._images_of(node)))
        self._drop_node(row)
        self._release_if_empty(row)
        return True

    def _images_of(self, node: Node | None) -> dict[str, ImageState]:
        return {} if node is None else self.images.states_of(node)

    def _undo_node(self, row: int, node: Node | None, images: dict[str, ImageState]) -> None:
        if node is None:
            self._drop_node(row)
        else:
            self._put_node(row, node, images)

    def _put_node(self, row: int, node: Node, images: Mapping[str, ImageState] = NO_IMAGES) -> None:
        """Let *node* be that of a row; *images*: their former entries in the index, which come back."""
        old = self._nodes[row]
        if old is None:
            self.num_nodes += 1
            self._alive[row] = True
            self._membership_changed()
        self._nodes[row] = node
        had, has = () if old is None else old.status.images, node.status.images
        if has is not had and has != had:
            # Not at every heartbeat: readers of the index would process all rows again.
            if old is not None:
                self.images.remove(row, old)
            self.images.add(row, node, images)
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

    def _drop_node(self, row: int) -> None:
        """Take the node of a row away."""
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
        if self.undo.marks:
            self.undo.entries.append((self._undo_add, row, pod))
        return row

    def remove_pod(self, name: str, uid: str) -> Pod:
        """Undo :meth:`add_pod` and return the pod. ``KeyError`` if it is not there."""
        row = self._row_of[name]
        pods = self._pods[row]
        if pods is None:
            raise KeyError(uid)
        order = tuple(pods) if self.undo.marks else ()
        pod = pods.pop(uid)
        self._apply(row, pod, -1)
        if order:
            self.undo.entries.append((self._undo_removal, row, pod, order if order[-1] != uid else ()))
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
        if self.undo.marks:
            self.undo.entries.append((self._undo_replacement, row, pods[uid]))
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
        """Begin a trial, or one within it; return the mark for :meth:`rollback` to the present rows."""
        return self.undo.begin()

    @property
    def on_trial(self) -> bool:
        """Return whether a trial is under way, or is being undone."""
        return bool(self.undo.marks)

    def rollback(self, mark: int) -> None:
        """End the trial that began with *mark* and those within it: undo their changes, order included.

        O(changes). Raises :class:`InvariantError` if that trial is over. Rows that it took are given back.
        """
        self.undo.revert(mark)

    def _undo_add(self, row: int, pod: Pod) -> None:
        del self.pods_at(row)[pod.uid]
        self._apply(row, pod, -1)

    def _undo_removal(self, row: int, pod: Pod, order: tuple[str, ...]) -> None:
        """Insert a removed pod again at its old position."""
        pods = self.pods_at(row)
        pods[pod.uid] = pod
        if order:
            before = {uid: pods[uid] for uid in order}
            pods.clear()
            pods.update(before)
        self._apply(row, pod, 1)

    def _undo_replacement(self, row: int, pod: Pod) -> None:
        self.pods_at(row)[pod.uid] = pod
        self.replaced_log.append(row)

    def _end_trials(self) -> None:
        vacant, self._vacant = self._vacant, {}
        for row in vacant:
            self._release_if_empty(row)
        if self._listener is not None:
            self._listener.end_trial()

    # ---- rows --------------------------------------------------------------------------------------------

    def _take_row(self, name: str) -> int:
        is_free = bool(self._free)
        if is_free:
            row = self._free.pop()
        else:
            row = self.size
            if row == self.extent:
                self._add_row()
            self.size += 1
        self._names[row] = name
        self._row_of[name] = row
        self._membership_changed()
        if self.undo.marks:
            self.undo.entries.append((self._give_back, row, name, is_free))
        return row

    def _add_row(self) -> None:
        if self.extent == self.capacity:
            self._grow(2 * self.capacity)
        self._names.append(None)
        self._nodes.append(None)
        self._pods.append(None)
        self._infos.append(None)
        self.extent += 1

    def _give_back(self, row: int, name: str, was_free: bool) -> None:
        """Undo :meth:`_take_row`: ties are drawn among ``size`` rows, so it has to be what it was."""
        del self._row_of[name]
        self._names[row] = self._pods[row] = self._infos[row] = None
        if was_free:
            self._free.append(row)
        else:
            self.size -= 1
        self._membership_changed()

    def _release_if_empty(self, row: int) -> None:
        if self._nodes[row] is not None or self._pods[row]:
            return
        if self.undo.marks:
            self._vacant[row] = None
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
