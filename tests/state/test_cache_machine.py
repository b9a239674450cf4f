"""Cache driven by an unreliable world: events late, twice or never, nodes that come and go."""

from __future__ import annotations

import pytest
from attrs import define, evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from schedframe.api import Node, Pod
from schedframe.errors import InvariantError
from schedframe.state import Cache, Snapshot, compare

from . import strategies as s
from .model import NaiveTable, assert_info_agrees, assert_table_agrees

TTL = 30.0


@define
class Entry:
    pod: Pod
    assumed: bool = False
    deadline: float | None = None


class CacheMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.entries: dict[str, Entry] = {}
        self.nodes: dict[str, Node] = {}
        self.gone: list[Pod] = []
        self.now = 1000.0
        self.serial = 0
        self.taken: list[tuple[Snapshot, NaiveTable]] = []

    @initialize(expiring=st.booleans(), ordered=st.booleans())
    def begin(self, expiring: bool, ordered: bool) -> None:
        self.cache = Cache(assume_ttl=TTL if expiring else None, ordered=ordered)

    def _some(self, data: st.DataObject, *, assumed: bool | None = None) -> Entry | None:
        found = [e for e in self.entries.values() if assumed is None or e.assumed == assumed]
        return data.draw(st.sampled_from(found)) if found else None

    # ---- what the scheduler does

    @rule(pod=s.pods, node=s.node_names)
    def assume(self, pod: Pod, node: str) -> None:
        self.serial += 1
        pod = evolve(pod, metadata=evolve(pod.metadata, uid=f"uid{self.serial}")).with_node_name(node)
        self.cache.assume_pod(pod)
        self.entries[pod.uid] = Entry(pod, assumed=True)

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def assume_again(self, data: st.DataObject) -> None:
        entry = self._some(data)
        assert entry is not None
        with pytest.raises(InvariantError, match="cannot be assumed again"):
            self.cache.assume_pod(entry.pod)

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def finish_binding(self, data: st.DataObject) -> None:
        """Possibly twice, possibly after the confirmation."""
        entry = self._some(data)
        assert entry is not None
        self.cache.finish_binding(entry.pod, self.now)
        if entry.assumed and self.cache.assume_ttl is not None:
            entry.deadline = self.now + self.cache.assume_ttl

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        entry = self._some(data)
        assert entry is not None
        assert self.cache.forget_pod(entry.pod) == entry.assumed
        if entry.assumed:
            self._lose(entry)

    # ---- events of the cluster

    def _pod_arrives(self, pod: Pod) -> None:
        """An addition or an update arrives."""
        self.cache.add_pod(pod)
        self.entries[pod.uid] = Entry(pod)

    def _lose(self, entry: Entry) -> None:
        del self.entries[entry.pod.uid]
        self.gone = [*self.gone[-5:], entry.pod]

    @rule(pod=s.pods, node=s.node_names)
    def pod_of_another_scheduler(self, pod: Pod, node: str) -> None:
        self.serial += 1
        self._pod_arrives(
            evolve(pod, metadata=evolve(pod.metadata, uid=f"uid{self.serial}")).with_node_name(node)
        )

    @precondition(lambda self: self.entries)
    @rule(data=st.data(), node=st.none() | s.node_names)
    def confirm(self, data: st.DataObject, node: str | None) -> None:
        """Where it was assumed, or elsewhere; a confirmation may come twice."""
        entry = self._some(data)
        assert entry is not None
        pod = entry.pod if node is None else entry.pod.with_node_name(node)
        self._pod_arrives(pod.with_resource_version(str(self.serial)))

    @precondition(lambda self: self.entries)
    @rule(data=st.data(), other=s.pods)
    def update(self, data: st.DataObject, other: Pod) -> None:
        """Anything may change, also what the pod uses."""
        entry = self._some(data)
        assert entry is not None
        metadata = evolve(other.metadata, uid=entry.pod.uid, name=entry.pod.name)
        pod = evolve(other, metadata=metadata).with_node_name(entry.pod.node_name)
        self.cache.update_pod(pod)
        self.entries[pod.uid] = Entry(pod)

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def late_event(self, data: st.DataObject) -> None:
        """For a pod that is deleted already, or that was forgotten and runs nevertheless."""
        pod = data.draw(st.sampled_from(self.gone))
        if pod.uid not in self.entries:
            self._pod_arrives(pod)

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        entry = self._some(data)
        assert entry is not None
        assert self.cache.remove_pod(entry.pod.uid)
        self._lose(entry)
        assert not self.cache.remove_pod(entry.pod.uid)

    @rule(node=s.nodes)
    def set_node(self, node: Node) -> None:
        self.cache.set_node(node)
        self.nodes[node.name] = node

    @rule(name=s.node_names)
    def remove_node(self, name: str) -> None:
        assert self.cache.remove_node(name) == (self.nodes.pop(name, None) is not None)

    # ---- time

    @rule(seconds=st.sampled_from((0.0, 1.0, TTL / 2, TTL)))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        due = [e for e in self.entries.values() if e.deadline is not None and e.deadline <= self.now]
        due.sort(key=lambda e: (e.deadline, e.pod.uid))
        assert list(self.cache.expire(self.now)) == [e.pod for e in due]
        for entry in due:
            self._lose(entry)

    # ---- looking

    def model(self) -> NaiveTable:
        pods: dict[str, dict[str, Pod]] = {}
        for row in self.cache.table.used_rows():
            # The order of pods on a node is the table's own business, see the machine of the table.
            here = self.cache.table.pods_at(row)
            pods[self.cache.table.name_of(row)] = {uid: self.entries[uid].pod for uid in here}
        return NaiveTable(dict(self.nodes), pods)

    @rule()
    def take_snapshot(self) -> None:
        self.taken = [*self.taken[-2:], (self.cache.snapshot(), self.model())]

    @invariant()
    def consistent(self) -> None:
        cache = self.cache
        cache.check_invariants()
        states = {state.pod.uid: state for state in cache.pods()}
        assert cache.pod_count == len(states) == len(self.entries)
        for uid, entry in self.entries.items():
            state = states[uid]
            assert state.pod is entry.pod is cache.get_pod(uid)
            assert state.node_name == entry.pod.node_name
            assert (state.assumed, state.deadline) == (entry.assumed, entry.deadline)
            assert cache.is_assumed(uid) == entry.assumed
            row = cache.table.row_of(entry.pod.node_name)
            assert row is not None
            assert cache.table.pods_at(row)[uid] is entry.pod
        deadlines = [e.deadline for e in self.entries.values() if e.deadline is not None]
        assert cache.next_deadline() == min(deadlines, default=None)
        assert cache.get_pod("unknown") is None
        assert not cache.is_assumed("unknown")

    @invariant()
    def counts(self) -> None:
        assert_table_agrees(self.cache.table, self.model())

    @invariant()
    def snapshots(self) -> None:
        for snapshot, model in self.taken:
            assert snapshot.infos.keys() == model.nodes.keys()
            for info in snapshot:
                assert_info_agrees(info, model)

    @invariant()
    def nothing_missed(self) -> None:
        """Compared with the objects of its own events, the cache has no difference."""
        confirmed = [entry.pod for entry in self.entries.values() if not entry.assumed]
        assert not compare(self.cache, self.nodes.values(), confirmed)


TestCache = CacheMachine.TestCase
