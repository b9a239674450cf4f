"""The scheduler's cache of the cluster: nodes and pods from events, and its own assumptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import field
from sortedcontainers import SortedList

from .._base.brief import brief_of
from .._base.undo import UndoLog
from .._base.value import record
from ..api import Node, Pod
from ..errors import InvariantError
from .node_order import NodeOrder
from .node_table import NodeTable
from .snapshot import Snapshot


@record(eq=False)
class PodState:
    """A pod that counts on a node."""

    pod: Pod
    node_name: str
    assumed: bool = False
    """Placed by this scheduler and not yet confirmed by an event."""
    deadline: float | None = None
    """When the assumption expires; only set after binding finished and only if assumptions expire at all."""


@record(eq=False)
class Cache:
    """Nodes and the pods on them, in a :class:`NodeTable`.

    Life of a pod: ``assume_pod`` → ``finish_binding`` → ``add_pod`` (confirmed by an event) →
    ``update_pod`` → ``remove_pod``; ``forget_pod`` takes an assumption back. Events may come in any order and
    twice; each method is O(resources of the pod) unless it says otherwise. Times are seconds of the injected
    clock.
    """

    assume_ttl: float | None = None
    """Seconds after which an assumption that no event confirmed expires; ``None``: never."""
    ordered: bool = False
    """Whether to keep the zone-interleaved order of nodes, which only sampling needs."""
    table: NodeTable = field(factory=NodeTable)
    order: NodeOrder = field(factory=NodeOrder)
    states: dict[str, PodState] = field(factory=dict)
    """All pods that count on a node, by uid; read-only. Their order means nothing."""
    _deadlines: SortedList[tuple[float, str]] = field(factory=SortedList)
    _snapshot: Snapshot | None = None
    undo: UndoLog = field(init=False)
    """The log of all trials, that of the table."""

    def __attrs_post_init__(self) -> None:
        self.undo = self.order.undo = self.table.undo

    # ---- pods --------------------------------------------------------------------------------------------

    def assume_pod(self, pod: Pod) -> None:
        """Count *pod*, with its ``spec.node_name`` set, before an event confirms it.

        Raises :class:`InvariantError` if the cache already has that pod.
        """
        uid, states = pod.uid, self.states
        if uid in states:
            raise InvariantError(f"pod {pod.key} ({uid}) is in the cache already, it cannot be assumed again")
        name = pod.spec.node_name
        states[uid] = PodState(pod, name, True)
        if self.undo.marks:
            self.undo.entries.append((self._undo_addition, uid))
        self.table.add_pod(name, pod)

    def finish_binding(self, pod: Pod, now: float) -> None:
        """Record that binding is over: from now on the assumption expires, if assumptions do."""
        state = self.states.get(pod.uid)
        if self.assume_ttl is None or state is None or not state.assumed:
            return
        self._note(state)
        self._cancel_deadline(state)
        state.deadline = now + self.assume_ttl
        self._deadlines.add((state.deadline, pod.uid))

    def forget_pod(self, pod: Pod) -> bool:
        """Take an assumption back; return whether there was one. A confirmed pod stays."""
        state = self.states.get(pod.uid)
        if state is None or not state.assumed:
            return False
        self._remove(state)
        return True

    def add_pod(self, pod: Pod) -> Pod | None:
        """Process the event that *pod* was added to its node, or changed; confirm or correct an assumption.

        Return the pod as it counted before, ``None`` if it did not. An update of a pod that the cache lacks
        adds it, because the event of the addition may have been missed.
        """
        state = self.states.get(pod.uid)
        if state is None:
            self.states[pod.uid] = PodState(pod, pod.spec.node_name)
            if self.undo.marks:
                self.undo.entries.append((self._undo_addition, pod.uid))
            self.table.add_pod(pod.spec.node_name, pod)
            return None
        if self.undo.marks:
            self._note(state)
        if state.deadline is not None:
            self._cancel_deadline(state)
        state.assumed = False
        old = state.pod
        state.pod = pod
        if state.node_name == pod.spec.node_name and _same_usage(old, pod):
            self.table.replace_pod(state.node_name, pod)
        else:
            self.table.remove_pod(state.node_name, old.uid)
            state.node_name = pod.spec.node_name
            self.table.add_pod(state.node_name, pod)
        return old

    update_pod = add_pod

    def remove_pod(self, uid: str) -> bool:
        """Remove a deleted pod, assumed or not; return whether it was here."""
        state = self.states.get(uid)
        if state is None:
            return False
        self._remove(state)
        return True

    def __contains__(self, uid: object) -> bool:
        return uid in self.states

    def get_pod(self, uid: str) -> Pod | None:
        """Return the pod of that uid as it counts here, ``None`` if it does not."""
        state = self.states.get(uid)
        return None if state is None else state.pod

    def is_assumed(self, uid: str) -> bool:
        """Return whether that pod was placed by this scheduler and is not confirmed."""
        state = self.states.get(uid)
        return state is not None and state.assumed

    def pods(self) -> Iterator[PodState]:
        """Iterate over all pods that count on a node."""
        return iter(self.states.values())

    @property
    def pod_count(self) -> int:
        """Number of pods that count on a node."""
        return len(self.states)

    def next_deadline(self) -> float | None:
        """Return when the next assumption expires, ``None`` if none does."""
        return self._deadlines[0][0] if self._deadlines else None

    def expire(self, now: float) -> Iterator[Pod]:
        """Take back the expired assumptions, one by one, and yield their pods; O(log n) each."""
        while self._deadlines and self._deadlines[0][0] <= now:
            state = self.states[self._deadlines[0][1]]
            self._remove(state)
            yield state.pod

    def _remove(self, state: PodState) -> None:
        if self.undo.marks:
            self._note(state)
        self._cancel_deadline(state)
        del self.states[state.pod.uid]
        self.table.remove_pod(state.node_name, state.pod.uid)

    # ---- trials ------------------------------------------------------------------------------------------

    def _note(self, state: PodState) -> None:
        """Let a trial take back the change of *state* that follows."""
        if self.undo.marks:
            former = (state.pod, state.node_name, state.assumed, state.deadline)
            self.undo.entries.append((self._undo_change, state, *former))

    def _undo_addition(self, uid: str) -> None:
        del self.states[uid]
        self._undone()

    def _undo_change(
        self, state: PodState, pod: Pod, node_name: str, assumed: bool, deadline: float | None
    ) -> None:
        self._cancel_deadline(state)
        state.pod, state.node_name, state.assumed, state.deadline = pod, node_name, assumed, deadline
        if deadline is not None:
            self._deadlines.add((deadline, pod.uid))
        self.states[pod.uid] = state
        self._undone()

    def _undone(self) -> None:
        """Called when a trial has taken back a change of nodes or their pods."""

    def _cancel_deadline(self, state: PodState) -> None:
        if state.deadline is not None:
            self._deadlines.remove((state.deadline, state.pod.uid))
            state.deadline = None

    # ---- nodes -------------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> None:
        """Add a node, or replace the one of that name."""
        self.table.set_node(node)
        if self.ordered:
            self.order.add(node)

    def keep_order(self) -> None:
        """Keep the order of nodes from now on. O(nodes)."""
        self.ordered = True
        for node in self.table.nodes()[1]:
            self.order.add(node)

    def set_nodes(self, nodes: Iterable[Node]) -> None:
        """Add or replace many nodes."""
        for node in nodes:
            self.set_node(node)

    def remove_node(self, name: str) -> bool:
        """Remove a node; its pods still count under its name. Return whether it was here."""
        if self.ordered:
            self.order.remove(name)
        return self.table.remove_node(name)

    # ---- snapshot ----------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return an immutable snapshot for code off the core; O(nodes), and O(pods) of changed nodes."""
        self._snapshot = Snapshot.take(self.table, self._snapshot)
        return self._snapshot

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if pods, table and deadlines disagree; O(everything)."""
        self.table.check_invariants()
        self.order.check_invariants()
        if self.ordered and self.order.members() != set(self.table.rows().names()):
            raise InvariantError("the search order has other nodes than the table")
        on_rows = {uid: row for row in self.table.used_rows() for uid in self.table.pods_at(row)}
        if on_rows.keys() != self.states.keys():
            raise InvariantError(
                f"pods of cache and table differ: {sorted(on_rows.keys() ^ self.states.keys())}"
            )
        for uid, state in self.states.items():
            row = self.table.row_of(state.node_name)
            if row != on_rows[uid]:
                raise InvariantError(f"pod {state.pod.key} is in row {on_rows[uid]}, not {row}")
            if self.table.pods_at(on_rows[uid])[uid] is not state.pod:
                raise InvariantError(f"pod {state.pod.key}: cache and table have different objects")
        timed = sorted(
            (state.deadline, uid) for uid, state in self.states.items() if state.deadline is not None
        )
        if timed != list(self._deadlines):
            raise InvariantError(f"deadlines {list(self._deadlines)} are not those of the pods {timed}")

    def __repr__(self) -> str:
        return brief_of(self, nodes=self.table.num_nodes, pods=len(self.states))


def _same_usage(old: Pod, new: Pod) -> bool:
    """Return whether the two count the same for every plugin that reads the pods of a row."""
    if old.labels is not new.labels and old.labels != new.labels:
        return False
    if (old.metadata.deletion_timestamp is None) != (new.metadata.deletion_timestamp is None):
        return False
    if old.spec is new.spec and old.status is new.status:
        return True
    if old.resources is not new.resources:
        return False
    return old.spec is new.spec or (
        old.host_ports == new.host_ports
        and (old.spec.affinity is new.spec.affinity or old.spec.affinity == new.spec.affinity)
    )
