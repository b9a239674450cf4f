"""The cluster against a naive model, and watchers of all makes against the cluster."""

from __future__ import annotations

from random import Random
from typing import Any

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from schedframe.api import ClusterObject, Node, ObjectMeta, Pod, PodCondition
from schedframe.cluster import (
    BindRefused,
    Conflict,
    FlakyWatch,
    InMemoryCluster,
    NotFound,
    OutcomeUnknown,
    WatchEvent,
)

NAMES = st.sampled_from(["a", "b", "c"])
NODES = st.sampled_from(["n1", "n2"])


class Believer:
    """A watcher's view, and the rules that its events keep."""

    def __init__(self) -> None:
        self.view: dict[tuple[str, str], Any] = {}

    def __call__(self, event: WatchEvent) -> None:
        key = (event.kind, (event.new or event.old).key)
        before = self.view.get(key)
        if event.type == "ADDED":
            assert (before, event.old) == (None, None)
        elif event.type == "MODIFIED":
            assert before is event.old
            assert event.new is not None
        else:
            assert before is not None
            assert event.new is None
            assert event.old.key == before.key
        if event.new is None:
            del self.view[key]
        else:
            self.view[key] = event.new


class ClusterMachine(RuleBasedStateMachine):
    """The model is a dict of what was last written: labels, node, and whether the object is being deleted."""

    stale = Bundle("objects read earlier")

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0
        self.cluster = InMemoryCluster(clock=self.tick)
        self.model: dict[tuple[str, str], dict[str, Any]] = {}
        self.direct: list[Believer] = []
        self.flaky: list[tuple[FlakyWatch, Believer]] = []

    def tick(self) -> float:
        self.time += 1.0
        return self.time

    @initialize()
    def watch_from_the_start(self) -> None:
        self.add_watch()
        self.add_flaky_watch()

    def build(self, kind: str, name: str, label: str, finalizers: tuple[str, ...] = ()) -> ClusterObject:
        if kind == "Node":
            return Node(ObjectMeta(name=name, labels={"l": label}, finalizers=finalizers))
        return Pod(ObjectMeta(name=name, namespace="default", labels={"l": label}, finalizers=finalizers))

    @rule(target=stale, kind=st.sampled_from(["Pod", "Node"]), name=NAMES, label=NAMES, held=st.booleans())
    def create(self, kind: str, name: str, label: str, held: bool) -> Any:
        obj = self.build(kind, name, label, ("f",) if held else ())
        key = (kind, obj.key)
        try:
            stored = self.cluster.create(obj)
        except Conflict:
            assert key in self.model
            return self.cluster.get(*key)
        assert key not in self.model
        self.model[key] = {"uid": stored.uid, "label": label, "node": "", "held": held, "leaving": False}
        return stored

    @rule(obj=stale, label=NAMES)
    def update(self, obj: Any, label: str) -> None:
        key = (obj.KIND, obj.key)
        present = self.cluster.get(*key)
        try:
            self.cluster.update(evolve(obj, metadata=evolve(obj.metadata, labels={"l": label})))
        except NotFound:
            assert key not in self.model
        except Conflict:
            assert present is not obj
        else:
            assert present is obj
            self.model[key]["label"] = label

    @rule(kind=st.sampled_from(["Pod", "Node"]), name=NAMES, label=NAMES)
    def apply_without_finalizers(self, kind: str, name: str, label: str) -> None:
        obj = self.build(kind, name, label)
        key = (kind, obj.key)
        stored = self.cluster.apply(obj)
        entry = self.model.get(key)
        if entry is not None and entry["leaving"]:
            del self.model[key]
            return
        if entry is not None:
            assert stored.uid == entry["uid"]
        self.model[key] = {"uid": stored.uid, "label": label, "node": "", "held": False, "leaving": False}

    @rule(obj=consumes(stale))
    def delete(self, obj: Any) -> None:
        key = (obj.KIND, obj.key)
        entry = self.model.get(key)
        try:
            self.cluster.delete(obj)
        except NotFound:
            assert entry is None
        except Conflict:
            assert entry is not None
            assert entry["uid"] != obj.uid
        else:
            assert entry is not None
            if entry["held"]:
                entry["leaving"] = True
            else:
                del self.model[key]

    @rule(obj=stale, node=NODES, lost=st.booleans())
    def bind(self, obj: Any, node: str, lost: bool) -> None:
        if obj.KIND != "Pod":
            return
        entry = self.model.get(("Pod", obj.key))
        same = entry is not None and entry["uid"] == obj.uid
        if lost:
            self.cluster.fail_next("bind", OutcomeUnknown, applied=True)
        try:
            self.cluster.bind(obj, node)
        except BindRefused:
            assert not same or entry is None or entry["leaving"] or entry["node"] not in ("", node)
            return
        except OutcomeUnknown:
            assert lost
        assert entry is not None
        assert same
        entry["node"] = node

    @rule(obj=stale)
    def evict(self, obj: Any) -> None:
        if obj.KIND != "Pod":
            return
        entry = self.model.get(("Pod", obj.key))
        try:
            self.cluster.evict(obj, condition=PodCondition("DisruptionTarget", "True"))
        except NotFound:
            assert entry is None
        except Conflict:
            assert entry is not None
            assert entry["uid"] != obj.uid
        else:
            assert entry is not None
            if entry["held"]:
                entry["leaving"] = True
            else:
                del self.model["Pod", obj.key]

    @rule()
    def add_watch(self) -> None:
        believer = Believer()
        self.direct.append(believer)
        self.cluster.watch(believer)

    @rule()
    def add_flaky_watch(self) -> None:
        believer = Believer()
        self.flaky.append((FlakyWatch(self.cluster, believer), believer))

    @rule(data=st.data())
    def disturb(self, data: st.DataObject) -> None:
        watch, _ = data.draw(st.sampled_from(self.flaky))
        if not watch.pending:
            return
        indexes = st.integers(0, len(watch.pending) - 1)
        match data.draw(st.sampled_from(["deliver", "drop", "duplicate", "move", "shuffle"])):
            case "deliver":
                watch.deliver(data.draw(indexes))
            case "drop":
                watch.drop(data.draw(indexes))
            case "duplicate":
                watch.duplicate(data.draw(indexes))
            case "move":
                watch.move(data.draw(indexes), data.draw(indexes))
            case "shuffle":
                watch.shuffle(Random(data.draw(st.integers(0, 9))))

    @rule(data=st.data(), resync=st.booleans())
    def relist(self, data: st.DataObject, resync: bool) -> None:
        watch, believer = data.draw(st.sampled_from(self.flaky))
        watch.relist(resync=resync)
        assert believer.view == self.stored()

    def stored(self) -> dict[tuple[str, str], Any]:
        return {(kind, obj.key): obj for kind in ("Pod", "Node") for obj in self.cluster.list(kind)}

    @invariant()
    def the_store_is_the_model(self) -> None:
        stored = self.stored()
        assert stored.keys() == self.model.keys()
        for key, entry in self.model.items():
            obj = stored[key]
            assert obj.uid == entry["uid"]
            assert obj.labels["l"] == entry["label"]
            assert (obj.metadata.deletion_timestamp is not None) == entry["leaving"]
            assert key[0] != "Pod" or obj.node_name == entry["node"]
        self.cluster.check_invariants()

    @invariant()
    def direct_watchers_know_the_store(self) -> None:
        stored = self.stored()
        assert all(believer.view == stored for believer in self.direct)

    @invariant()
    def flaky_watches_know_what_they_told(self) -> None:
        assert all(believer.view == watch.told for watch, believer in self.flaky)


TestClusterMachine = ClusterMachine.TestCase
