"""NodeTable driven at random, against a model that computes everything from nothing."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from schedframe.api import Node, Pod
from schedframe.errors import InvariantError
from schedframe.state import ChangeLog, NodeInfo, NodeTable, Snapshot
from schedframe.state.pod_counts import Weigh
from schedframe.state.resource_columns import LARGEST_SUM

from . import strategies as s
from .build import make_node, make_pod
from .model import NaiveTable, assert_info_agrees, assert_table_agrees

HEADROOM = "headroom"
COUNTED: dict[str, Weigh] = {
    "all": lambda group: 1,
    "web": lambda group: int(group.labels.get("app") == "web"),
}


def headroom(info: NodeInfo) -> int:
    """Something that depends on the node and on its pods."""
    requested = min(info.requested.get("cpu", 0), LARGEST_SUM)
    return info.allocatable.get("cpu", 0) - requested + 1000 * len(info.pods)


def rows_of(table: NodeTable) -> tuple[object, ...]:
    """Return all that a revert has to set back: rows, numbers and order, free rows, sizes of images."""
    rows = [
        (name, table.node_at(row), tuple(table.pods_at(row).items()))
        for row, name in enumerate(table._names[: table.size])
    ]
    images = {name: (state.size, state.rows) for name, state in table.images._states.items()}
    return rows, list(table._free), table.size, images


class NodeTableMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.table = NodeTable()
        self.model = NaiveTable()
        self.trials: list[tuple[int, NaiveTable, tuple[object, ...]]] = []
        self.snapshots: list[tuple[Snapshot, NaiveTable]] = []
        self.latest: Snapshot | None = None
        self.occupied: set[str] = set()
        self.most_occupied = 0
        self.serial = 0
        self.counted: set[str] = set()
        self.read_version, self.read_rows = 0, {}

    @initialize(short=st.booleans(), many=st.sampled_from((False, False, True)))
    def begin(self, short: bool, many: bool) -> None:
        """Logs that reach back only a few changes; more nodes than the first columns have room for."""
        if short:
            self.table.row_log, self.table.node_log = ChangeLog(limit=2), ChangeLog(limit=1)
            self.table.replaced_log = ChangeLog(limit=1)
        if many:
            for i in range(62):
                self._set_node(make_node(f"more{i}", {"cpu": i}))

    def _set_node(self, node: Node) -> None:
        assert self.table.set_node(node) == self.table.live_row(node.name)
        self.model.nodes[node.name] = node

    @rule(node=s.nodes)
    def set_node(self, node: Node) -> None:
        self._set_node(node)

    @rule(name=s.node_names)
    def remove_node(self, name: str) -> None:
        assert self.table.remove_node(name) == (name in self.model.nodes)
        self.model.nodes.pop(name, None)

    @rule(name=s.node_names, pod=s.pods)
    def add_pod(self, name: str, pod: Pod) -> None:
        """Each time a new uid; the node may be unknown."""
        self.serial += 1
        pod = evolve(pod, metadata=evolve(pod.metadata, uid=f"uid{self.serial}")).with_node_name(name)
        assert self.table.add_pod(name, pod) == self.table.row_of(name)
        self.model.add_pod(name, pod)

    @precondition(lambda self: self.model.located())
    @rule(data=st.data())
    def add_pod_again(self, data: st.DataObject) -> None:
        name, pod = data.draw(st.sampled_from(self.model.located()))
        with pytest.raises(InvariantError, match="already"):
            self.table.add_pod(name, pod)

    @precondition(lambda self: self.model.located())
    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        name, pod = data.draw(st.sampled_from(self.model.located()))
        assert self.table.remove_pod(name, pod.uid) is pod
        self.model.remove_pod(name, pod.uid)

    @rule(name=s.node_names)
    def remove_unknown_pod(self, name: str) -> None:
        with pytest.raises(KeyError):
            self.table.remove_pod(name, "unknown")
        with pytest.raises(KeyError):
            self.table.replace_pod(name, make_pod("unknown", name))

    @precondition(lambda self: self.model.located())
    @rule(data=st.data())
    def replace_pod(self, data: st.DataObject) -> None:
        name, pod = data.draw(st.sampled_from(self.model.located()))
        self.serial += 1
        other = pod.with_resource_version(str(self.serial))
        self.table.replace_pod(name, other)
        self.model.pods[name][pod.uid] = other

    @rule(name=s.node_names)
    def make_info(self, name: str) -> None:
        """From here on the table has to keep the node info in step."""
        row = self.table.row_of(name)
        if row is not None:
            assert_info_agrees(self.table.info(row), self.model)
            assert self.table.info(row).row == row

    @precondition(lambda self: len(self.trials) < 3)
    @rule()
    def mark(self) -> None:
        model = NaiveTable(dict(self.model.nodes), self.model.copy_of_pods())
        self.trials.append((self.table.mark(), model, rows_of(self.table)))

    @precondition(lambda self: self.trials)
    @rule()
    def keep(self) -> None:
        """What is tried in the innermost trial becomes part of the one around it."""
        self.table.undo.keep(self.trials.pop()[0])

    @precondition(lambda self: self.trials)
    @rule(data=st.data())
    def rollback(self, data: st.DataObject) -> None:
        depth = data.draw(st.integers(0, len(self.trials) - 1))
        mark, self.model, before = self.trials[depth]
        del self.trials[depth:]
        self.table.rollback(mark)
        assert rows_of(self.table) == before
        with pytest.raises(InvariantError, match="trials are under way"):
            self.table.rollback(mark)

    @rule(key=st.sampled_from(sorted(COUNTED)))
    def count_pods(self, key: str) -> None:
        """From here on the table has to keep the count in step."""
        self.table.label_groups.column(key, COUNTED[key]).by_domain("zone")
        self.counted.add(key)

    @invariant()
    def counts_in_step(self) -> None:
        if not self.counted:
            return
        table, groups = self.table, self.table.label_groups
        groups.check_invariants()
        for key in self.counted:
            column = groups.column(key, COUNTED[key])
            rows = table.rows()
            counts = rows.take(column.counts).tolist()
            pods = [self.model.pods.get(name, {}).values() for name in rows.names()]
            assert counts == [sum(key in ("all", pod.labels.get("app")) for pod in here) for here in pods]
            sums = column.by_domain("zone")
            for code, zone in enumerate(sums.labels.values):
                members = [
                    node.labels.get("zone") == zone for node in map(table.node_at, rows.positions.tolist())
                ]
                assert sums.sums[code] == sum(n for n, member in zip(counts, members, strict=True) if member)

    @rule()
    def take_snapshot(self) -> None:
        self.latest = Snapshot.take(self.table, self.latest)
        model = NaiveTable(dict(self.model.nodes), self.model.copy_of_pods())
        self.snapshots = [*self.snapshots[-3:], (self.latest, model)]
        assert Snapshot.take(self.table, self.latest) is self.latest
        fresh = Snapshot.take(self.table)
        assert fresh.generation == self.latest.generation
        for snapshot in (self.latest, fresh):
            assert snapshot.infos.keys() == model.nodes.keys()
            assert len(snapshot) == len(list(snapshot)) == len(model.nodes)

    @rule()
    def catch_up(self) -> None:
        """A reader of the log learns of every row that is not as it was."""
        log, table = self.table.row_log, self.table
        rows = log.since(self.read_version)
        now = {
            row: (table.name_of(row), table.node_at(row), tuple(p.uid for p in table.pods_at(row).values()))
            for row in table.used_rows()
            if table.node_at(row) is not None or table.pods_at(row)  # not those that a trial only holds
        }
        if rows is not None:
            changed = {row for row in {*now, *self.read_rows} if now.get(row) != self.read_rows.get(row)}
            assert changed <= set(rows)
        self.read_version, self.read_rows = log.version, now

    @invariant()
    def consistent(self) -> None:
        self.table.check_invariants()
        assert_table_agrees(self.table, self.model)

    @invariant()
    def columns_in_step(self) -> None:
        table = self.table
        zones = table.label("zone")
        free = table.derived(HEADROOM, headroom)
        assert len(zones.codes) == len(free) == table.capacity
        for row in range(table.size):
            node = table.node_at(row)
            zone = node.labels.get("zone") if node is not None else None
            code = int(zones.codes[row])
            assert (zones.values[code] if code >= 0 else None) == zone
            assert free[row] == (headroom(table.info(row)) if node is not None else 0)
        wanted = {"east", "north", "nowhere"}
        rows = table.rows()
        mask = zones.mask_of(wanted, rows.index)
        assert mask.tolist() == [
            table.node_at(row).labels.get("zone") in wanted for row in rows.positions.tolist()
        ]

    @invariant()
    def rows_are_reused(self) -> None:
        """The table never has more rows than names were in use at a time; a trial gives none back."""
        names = self.model.names()
        self.occupied = names | (self.occupied if self.trials else set())
        self.most_occupied = max(self.most_occupied, len(self.occupied))
        assert self.table.size <= self.most_occupied
        rows = self.table.rows().positions
        assert np.all(np.diff(rows) > 0)

    @invariant()
    def images(self) -> None:
        for image in ("nginx", "redis"):
            names = self.model.nodes_with_image(image)
            state = self.table.images.get(image)
            assert (set() if state is None else {self.table.name_of(row) for row in state.rows}) == names
            if state is not None:
                mask = state.present(self.table.capacity)
                assert {self.table.name_of(row) for row in mask.nonzero()[0].tolist()} == names

    @invariant()
    def snapshots_stay(self) -> None:
        for snapshot, model in self.snapshots:
            for info in snapshot:
                assert_info_agrees(info, model)


TestNodeTable = NodeTableMachine.TestCase
