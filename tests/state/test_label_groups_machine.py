"""Counts of pods driven at random: after any changes they are what counting from nothing gives."""

from __future__ import annotations

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from schedframe.api import Node, Pod
from schedframe.state import ChangeLog, CountColumn, LabelGroup, NodeSubset, NodeTable

from . import strategies as s
from .build import make_node

NAMESPACES = ("default", "other")
KEYS = ("zone", "disk", "unknown")
SUBSETS = {
    "all": None,
    "with a disk": NodeSubset(
        "with a disk",
        lambda node: "disk" in node.labels,
        lambda rows: rows.table.label("disk").codes[rows.index] >= 0,
    ),
    "schedulable": NodeSubset(
        "schedulable",
        lambda node: not node.spec.unschedulable,
        lambda rows: ~rows.table.unschedulable[rows.index],
    ),
}


def matches(namespace: str, app: str | None, pod: Pod | LabelGroup, terminating: bool) -> bool:
    return pod.namespace == namespace and not terminating and app in (None, pod.labels.get("app"))


class PodGroupsMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.table = NodeTable()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[str, Pod]] = {}
        """Uid → node name, pod."""
        self.asked: dict[tuple[str, str | None], CountColumn] = {}
        self.trials: list[tuple[int, dict[str, Node], dict[str, tuple[str, Pod]]]] = []
        self.serial = 0

    @initialize(short=st.booleans(), early=st.booleans(), crowd=st.booleans())
    def begin(self, short: bool, early: bool, crowd: bool) -> None:
        """Logs that reach back a few changes; groups from the start; as many nodes as there is room for."""
        if short:
            self.table.node_log = ChangeLog(limit=2)
        if early:
            self.table.label_groups.groups()
        if crowd:
            for i in range(62):
                self.set_node(make_node(f"more{i}", labels={"zone": f"z{i % 3}"}))

    @rule(node=s.nodes)
    def set_node(self, node: Node) -> None:
        self.table.set_node(node)
        self.nodes[node.name] = node

    @rule(name=s.node_names)
    def remove_node(self, name: str) -> None:
        self.table.remove_node(name)
        self.nodes.pop(name, None)

    @rule(
        name=s.node_names,
        pod=s.pods,
        namespace=st.sampled_from(NAMESPACES),
        deleted=st.booleans(),
        like=st.none() | st.integers(0, 9),
    )
    def add_pod(self, name: str, pod: Pod, namespace: str, deleted: bool, like: int | None) -> None:
        """A new pod, perhaps with the spec (and so the memo) of an earlier one."""
        self.serial += 1
        metadata = evolve(
            pod.metadata,
            uid=f"uid{self.serial}",
            namespace=namespace,
            deletion_timestamp=1.0 if deleted else None,
        )
        earlier = list(self.pods.values())
        spec = earlier[like % len(earlier)][1].spec if earlier and like is not None else pod.spec
        pod = Pod(metadata, spec).with_node_name(name)
        self.table.add_pod(name, pod)
        self.pods[pod.uid] = (name, pod)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        name, _ = self.pods.pop(uid)
        self.table.remove_pod(name, uid)

    @rule()
    def mark(self) -> None:
        self.trials.append((self.table.mark(), dict(self.nodes), dict(self.pods)))

    @precondition(lambda self: self.trials)
    @rule()
    def rollback(self) -> None:
        mark, self.nodes, self.pods = self.trials.pop()
        self.table.rollback(mark)

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        app=st.sampled_from((None, "web", "db")),
        key=st.sampled_from(KEYS),
        subset=st.sampled_from(sorted(SUBSETS)),
    )
    def ask(self, namespace: str, app: str | None, key: str, subset: str) -> None:
        """A column, from now on kept in step, and its sums by domain."""
        column = self.asked[namespace, app] = self.table.label_groups.column(
            (namespace, app),
            lambda group: int(matches(namespace, app, group, group.terminating)),
            (namespace, None if app is None else ("app", app)),
        )
        self.compare_sums(column, namespace, app, key, SUBSETS[subset])

    def compare_sums(
        self, column: CountColumn, namespace: str, app: str | None, key: str, subset: NodeSubset | None
    ) -> None:
        expected: dict[str, int] = {}
        chosen = [n for n in self.nodes.values() if key in n.labels and (subset is None or subset.accepts(n))]
        for node in chosen:
            here = self.matching(namespace, app, node.name)
            expected[node.labels[key]] = expected.get(node.labels[key], 0) + here
        found = column.by_domain(key, subset)
        domains, values = found.domains, found.labels.values
        assert {
            value: int(found.sums[code]) for code, value in enumerate(values) if domains.nodes[code]
        } == expected
        assert (domains.count, domains.total) == (len(expected), len(chosen))

    def matching(self, namespace: str, app: str | None, name: str) -> int:
        pods = [pod for where, pod in self.pods.values() if where == name]
        return sum(matches(namespace, app, pod, pod.is_terminating) for pod in pods)

    @invariant()
    def counts(self) -> None:
        table = self.table
        for (namespace, app), column in self.asked.items():
            assert len(column.counts) == table.capacity
            for row in table.used_rows():
                assert column.counts[row] == self.matching(namespace, app, table.name_of(row))

    @invariant()
    def consistent(self) -> None:
        self.table.check_invariants()


TestPodGroups = PodGroupsMachine.TestCase
