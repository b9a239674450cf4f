"""The queue against :mod:`tests.queue.model`, step by step."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from schedframe import Action, ClusterEvent, QueuedPodInfo
from schedframe.api import Pod
from schedframe.queue import ASSIGNED_POD_DELETE, WILDCARD, Pool, PriorityQueue, with_implied

from .model import Entry, Model
from .support import NODE_ADD, NODE_LABEL, NODE_TAINT, ManualClock, node, on, pod, queue

POD_LABEL = ClusterEvent("Pod", Action.UPDATE_POD_LABEL)
POD_DELETE = ClusterEvent("Pod", Action.DELETE)


def by_label(waiting: Pod, old: Any, new: Any) -> bool:
    if new.labels.get("ok") == "err":
        raise ValueError("the node says so")
    return bool(new.labels.get("ok") == "yes")


def its_own(waiting: Pod, old: Any, new: Any) -> bool:
    return bool(new.uid == waiting.uid)


EVENTS = {
    "Always": (on(NODE_ADD), on(NODE_LABEL)),
    "Label": (on(ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL), by_label),),
    "Deletion": (on(POD_DELETE),),
    "Silent": (),
    "Gate": (on(POD_LABEL, its_own), on(NODE_ADD)),
    "Wild": (on(WILDCARD),),
}
GATES = {
    "Gate": lambda subject: "shut" if subject.labels.get("gate") == "shut" else None,
    "Quiet": lambda subject: "quiet" if subject.labels.get("gate") == "quiet" else None,
}
PLUGINS = st.sets(st.sampled_from(["Always", "Label", "Deletion", "Silent", "Wild"]), max_size=2)
NAMES = st.sampled_from(["a", "b", "c", "d"])
PODS = st.builds(
    lambda name, priority, gate, nominated, app: pod(
        name, priority=priority, labels={"gate": gate, "app": app}, nominated=nominated
    ),
    NAMES,
    st.integers(0, 2),
    st.sampled_from(["open", "open", "shut", "quiet"]),
    st.sampled_from(["", "", "n"]),
    st.sampled_from("xy"),
)
NODE_LABELS = st.sampled_from(["yes", "no", "err"])


class QueueMachine(RuleBasedStateMachine):
    """Every operation of the queue, in any order."""

    pending: PriorityQueue

    @initialize(maximum=st.sampled_from([0.0, 2.0, 10.0]), by_less=st.booleans())
    def start(self, maximum: float, by_less: bool) -> None:
        self.clock = ManualClock()
        order: dict[str, Any] = {}
        if by_less:
            order["less"] = _goes_first
        self.pending = queue(
            self.clock,
            EVENTS,
            GATES,
            max_backoff=maximum,
            max_in_unschedulable=5.0,
            on_fault=lambda plugin, error, subject: None,
            **order,
        )
        events = {plugin: with_implied(registrations) for plugin, registrations in EVENTS.items()}
        self.model = Model(self.clock, events, GATES, maximum, 5.0)
        self.cluster: dict[str, Pod] = {}
        self.versions = 1
        self.popped: dict[str, tuple[QueuedPodInfo, Entry]] = {}

    def stamped(self, subject: Pod, uid: str | None = None) -> Pod:
        self.versions += 1
        return pod(
            subject.name,
            uid=uid or f"uid{self.versions}",
            version=str(self.versions),
            priority=subject.priority,
            labels=subject.labels,
            nominated=subject.status.nominated_node_name,
        )

    @rule(subject=PODS)
    def create_or_replace(self, subject: Pod) -> None:
        old, new = self.cluster.get(subject.key), self.stamped(subject)
        self.cluster[new.key] = new
        if old is None:
            self.pending.add(new)
            self.model.add(new)
        else:
            self.pending.update(old, new)
            self.model.update(old, new)

    @rule(subject=PODS)
    def update(self, subject: Pod) -> None:
        old = self.cluster.get(subject.key)
        if old is None:
            return
        new = self.cluster[old.key] = self.stamped(subject, old.uid)
        self.pending.update(old, new)
        self.model.update(old, new)

    @rule(subject=PODS)
    def tell_again(self, subject: Pod) -> None:
        old = self.cluster.get(subject.key)
        if old is None:
            return
        new = self.cluster[old.key] = self.stamped(subject, old.uid)
        self.pending.add(new)
        self.model.add(new)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        old = self.cluster.pop(f"default/{name}", None)
        if old is not None:
            self.pending.delete(old)
            self.model.delete(old)

    @rule()
    def pop(self) -> None:
        info, entry = self.pending.pop(), self.model.pop()
        assert (info is None) == (entry is None)
        if info is not None and entry is not None:
            assert (info.pod, info.attempts) == (entry.pod, entry.attempts)
            self.popped[info.uid] = (info, entry)

    @precondition(lambda self: bool(getattr(self, "popped", None)))
    @rule(data=st.data(), rejectors=PLUGINS, waits=PLUGINS)
    def fail(self, data: st.DataObject, rejectors: set[str], waits: set[str]) -> None:
        uid = data.draw(st.sampled_from(sorted(self.popped)))
        info, entry = self.popped.pop(uid)
        latest = self.cluster.get(info.key)
        outcome = self.pending.add_unschedulable(
            info, latest, unschedulable_plugins=rejectors, pending_plugins=waits
        )
        mine = latest if latest is not None and latest.uid == uid else None
        self.model.fail(entry, mine, rejectors, waits)
        queued = self.model.find(info.key) if mine is not None else None
        assert outcome.pool == (None if queued is None else queued.pool)

    @precondition(lambda self: bool(getattr(self, "popped", None)))
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.popped)))
        info, _ = self.popped.pop(uid)
        self.cluster.pop(info.key, None)
        for side in (self.pending, self.model):
            side.done(uid)
            side.delete(info.pod)

    @rule(
        event=st.sampled_from([NODE_ADD, NODE_LABEL, NODE_TAINT, ASSIGNED_POD_DELETE, WILDCARD]),
        ok=NODE_LABELS,
        max_priority=st.sampled_from([None, None, 1]),
        rolled_back=st.one_of(st.none(), st.integers(0, 12)),
    )
    def something_happens(
        self, event: ClusterEvent, ok: str, max_priority: int | None, rolled_back: int | None
    ) -> None:
        old: Any = None if event == NODE_ADD else node()
        new: Any = node(labels={"ok": ok})
        if event in (ASSIGNED_POD_DELETE, WILDCARD):
            old, new = (pod("gone", node_name="n"), None) if event == ASSIGNED_POD_DELETE else (None, None)
        self.pending.move_all(event, old, new, max_priority=max_priority, rolled_back=rolled_back)
        self.model.move(event, old, new, max_priority, rolled_back)

    @rule(name=NAMES)
    def activate(self, name: str) -> None:
        subject = self.cluster.get(f"default/{name}")
        if subject is not None:
            self.pending.activate([subject])
            self.model.activate(subject)

    @rule(name=NAMES, node_name=st.sampled_from(["", "n", "m"]))
    def nominate(self, name: str, node_name: str) -> None:
        subject = self.cluster.get(f"default/{name}")
        if subject is not None:
            self.pending.nominator.add(subject, node_name)
            self.model.nominate(subject, node_name)

    @rule(milliseconds=st.sampled_from([1, 250, 999, 1000, 3000, 5001]))
    def time_passes(self, milliseconds: int) -> None:
        self.clock.advance(milliseconds / 1000)

    @rule()
    def flush_backoff(self) -> None:
        self.pending.flush_backoff()
        self.model.flush_backoff()

    @rule()
    def flush_unschedulable(self) -> None:
        self.pending.flush_unschedulable()
        self.model.flush_unschedulable()

    @rule()
    def wake_up(self) -> None:
        """At the deadline something is due that was not before, and afterwards the deadline lies ahead."""
        deadline = self.pending.next_deadline()
        if deadline is None:
            return
        self.clock.go_to(deadline)
        self.pending.flush()
        self.model.flush_backoff()
        waiting = [entry for entry in self.model.entries if entry.pool == "unschedulable"]
        if any(self.clock() - entry.timestamp > 5.0 + 1e-9 for entry in waiting):
            self.model.flush_unschedulable()
        later = self.pending.next_deadline()
        assert later is None or later > self.clock()

    @invariant()
    def agree(self) -> None:
        if not hasattr(self, "model"):
            return
        self.pending.check_invariants()
        for pool in ("active", "backoff", "error_backoff"):
            ours = [info.key for info in self.pending.in_pool(Pool(pool))]
            assert ours == [entry.pod.key for entry in self.model.order(pool)], pool
        queued = [info for pool in list(Pool)[:5] for info in self.pending.in_pool(pool)]
        assert {info.key: _state(info) for info in queued} == {
            entry.pod.key: _model_state(entry) for entry in self.model.entries
        }
        log = [entry if isinstance(entry, str) else tuple(entry) for entry in self.pending.in_flight.log()]
        assert log == self.model.log
        assert self.pending.scheduling_cycle == self.model.cycle
        nominated = [
            (name, held)
            for name in sorted(self.pending.nominator.node_names)
            for held in self.pending.nominator.nominated_pods_for_node(name)
        ]
        assert nominated == sorted(self.model.nominations, key=lambda entry: entry[0])


def _goes_first(one: QueuedPodInfo, other: QueuedPodInfo) -> bool:
    return (-one.pod.priority, one.timestamp) < (-other.pod.priority, other.timestamp)


def _state(info: QueuedPodInfo) -> tuple[Any, ...]:
    return (
        info.pod,
        info.pool,
        info.timestamp,
        info.attempts,
        info.unschedulable_count,
        info.error_count,
        info.unschedulable_plugins,
        info.pending_plugins,
        info.gating_plugin,
        info.flushed,
    )


def _model_state(entry: Entry) -> tuple[Any, ...]:
    return (
        entry.pod,
        entry.pool,
        entry.timestamp,
        entry.attempts,
        entry.unschedulable_count,
        entry.error_count,
        entry.rejectors,
        entry.pending,
        entry.gate,
        entry.flushed,
    )


TestQueueMachine = QueueMachine.TestCase
