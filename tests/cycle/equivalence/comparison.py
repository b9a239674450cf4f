"""The same workload with a large, a small and no equivalence cache; any difference is a mistake."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, ClassVar

import numpy as np
import pytest
from attrs import define, evolve, field

from schedframe import (
    Code,
    Decision,
    Depends,
    GroupScores,
    GroupVerdicts,
    Node,
    NodeInfo,
    NodeTable,
    Normalization,
    Pod,
    PodSpec,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
    load_config,
)
from schedframe.cycle.equivalence import policy
from schedframe.cycle.equivalence.columns import ClassColumns
from schedframe.cycle.equivalence.equivalence_class import EquivalenceClass
from schedframe.cycle.equivalence.index.base import ScoreIndex
from schedframe.cycle.equivalence.index.score_matrix import MatrixSlot
from schedframe.cycle.equivalence.index.state_index import StateIndex
from schedframe.cycle.equivalence.node_columns import NodeColumns
from schedframe.cycle.equivalence.shared import SharedIndexes
from schedframe.cycle.equivalence.status_codes import NO_NODE
from schedframe.errors import CacheFault
from schedframe.framework.hookspecs import Scores

from ..build import World

MEMORIES = (0, 1, None)
"""How many classes to remember: none, one at a time, as many as there are."""


def _digest(*parts: object) -> int:
    return zlib.crc32(repr(parts).encode())


# ---- plugins of all the kinds that there can be ----------------------------------------------------------


@define(eq=False)
class Middle:
    """Asked for every pod, node by node, and keeps a list of whom it was asked about; fails now and then."""

    calls: list[tuple[str, str]] = field(factory=list)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        self.calls.append((pod.name, node_info.name))
        chance = _digest(pod.labels.get("zone"), node_info.name) % 5
        if chance == 0:
            return Status.unschedulable("not in the middle")
        if chance == 1 and pod.labels.get("disk") == "12":
            raise LookupError(f"nothing is stored for {node_info.name}")
        return None

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        return _digest(pod.labels.get("disk"), node_info.name) % 101


@define(eq=False)
class Sieve:
    """Nothing but a filter by node: called for the best rows until enough pass."""

    calls: list[tuple[str, str]] = field(factory=list)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        self.calls.append((pod.name, node_info.name))
        chance = _digest(pod.labels.get("app"), node_info.name, len(node_info.pods)) % 4
        return (None, None, COARSE, Status.unresolvable(f"{len(node_info.pods)} stones"))[chance]


COARSE = Status.unschedulable("coarse")


@define(eq=False)
class FineSieve:
    """A second one, with a pre_filter that skips some pods, and a status that names another plugin."""

    calls: list[tuple[str, str]] = field(factory=list)

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | None:
        return Status.skip() if pod.labels.get("app") == "c" else None

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        self.calls.append((pod.name, node_info.name))
        busy = len(node_info.pods) % 3 == 2
        return Status(Code.UNSCHEDULABLE, ("fine",), "Somewhere") if busy else None


@define(eq=False)
class Columns:
    """Asked for every pod, by columns."""

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        if "cores" not in pod.labels:
            return None
        if pod.labels["cores"] == "5":
            raise LookupError("columns are not there")
        busy = rows.take(rows.table.pod_count) > 1
        return RowVerdicts(busy.astype(np.int8) * 2, (BUSY, BUSIER)) if busy.any() else None

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> Scores:
        return rows.take(rows.table.pod_count) * 3

    @hookimpl
    def normalize_scores(self, scores: Scores) -> None:
        np.minimum(scores, 100, out=scores)


BUSY = Status.unschedulable("busy")
BUSIER = Status.unresolvable("busier")


@define(eq=False)
class Local:
    """Looks at one row, and has no columns: cached."""

    depends_on: ClassVar[Depends] = Depends.ROW

    @hookimpl
    def pod_signature(self, pod: Pod) -> Any:
        return pod.labels.get("zone"), pod.priority

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        if pod.labels.get("zone") == "a" and len(node_info.pods) > 2:
            return Status.unschedulable(f"{len(node_info.pods)} pods")
        return None

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        return min(100, 10 * len(node_info.pods) + pod.priority)


@define(eq=False)
class Peak:
    """Remembered, with scores that depend on the highest of them; by node and by columns."""

    depends_on: ClassVar[Depends] = Depends.ROW
    normalization: ClassVar[Normalization] = Normalization.BY_MAX_REVERSED

    @hookimpl
    def pod_signature(self, pod: Pod) -> Any:
        return pod.labels.get("disk")

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        return len(node_info.pods) * (3 if pod.labels.get("disk") == "7" else 1)

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> Scores:
        return rows.take(rows.table.pod_count) * (3 if pod.labels.get("disk") == "7" else 1)


@define(eq=False)
class Groups:
    """Live; gives nodes with as many pods the same answer; fails now and then."""

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        busy = rows.take(rows.table.pod_count) % _factor(pod) == 2
        return RowVerdicts.where(busy, BUSY) if busy.any() else None

    @hookimpl
    def filter_groups(self, pod: Pod, table: NodeTable) -> GroupVerdicts | None:
        if pod.labels.get("zone") == "b":
            raise LookupError("groups are not there")
        return GroupVerdicts((table.pod_count,), lambda keys: [n % _factor(pod) != 2 for (n,) in keys])

    @hookimpl
    def pre_score(self, pod: Pod) -> Status | None:
        return Status.skip() if pod.labels.get("app") == "a" else None

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> Scores:
        return rows.take(rows.table.pod_count) * _factor(pod) % 101

    @hookimpl
    def score_groups(self, pod: Pod, table: NodeTable) -> GroupScores | None:
        if pod.labels.get("zone") == "a":
            raise LookupError("groups are not there")
        wrong = 200 if pod.labels.get("cores") == "5" else 0
        columns = (table.pod_count, table.allowed_pods)
        return GroupScores(columns, lambda keys: [wrong + n * _factor(pod) % 101 for n, _ in keys])


def _factor(pod: Pod) -> int:
    return 40 if pod.labels.get("disk") == "7" else 3


PLUGINS: dict[str, type[Any]] = {
    "Middle": Middle,
    "Sieve": Sieve,
    "FineSieve": FineSieve,
    "Columns": Columns,
    "Local": Local,
    "Peak": Peak,
    "Groups": Groups,
}
SIEVES = ("Sieve", "FineSieve")
ALONE = ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit")
"""Filters that can be cached whole, in the default order."""


def orders(plugins: Sequence[str], alone: bool) -> dict[str, list[str]]:
    """Which filters run in which order: out-of-tree ones in the middle. *alone*: few of the others."""
    profile = load_config(None).profiles[0]
    names = [name for name, _ in profile.plugins["filter"] if not alone or name in ALONE]
    ours = [name for name in plugins if name != "Peak"]
    middle = len(names) // 2
    found = {"filter": [*names[:middle], *ours, *names[middle:]]}
    if alone:
        fine = [name for name in plugins if name == "FineSieve"]
        found["preFilter"] = [*fine, "NodeAffinity", "NodePorts", "NodeResourcesFit"]
        groups = [name for name in plugins if name == "Groups"]
        found["preScore"] = [*groups, "TaintToleration", "NodeAffinity", "NodeResourcesFit"]
        scoring = [name for name in plugins if name not in SIEVES]
        found["score"] = [*scoring, "TaintToleration", "NodeAffinity", "NodeResourcesFit", "ImageLocality"]
        found |= {"postFilter": [], "reserve": [], "preBind": []}
    return found


# ---- worlds in step --------------------------------------------------------------------------------------


@define(eq=False)
class Triplets:
    """Three worlds that differ in what their schedulers remember."""

    plugins: Sequence[str]
    alone: bool = False
    seed: int = 0
    worlds: list[World] = field(init=False)
    faulty: bool = False
    """Whether faults of the cache are expected."""
    numbers: Iterator[int] = field(factory=count)
    """For names of pods."""
    _specs: dict[tuple[int, int], tuple[PodSpec, PodSpec]] = field(factory=dict)
    """(index of a world, id of a spec) → the spec, which keeps its id, and its copy for that world."""

    def __attrs_post_init__(self) -> None:
        only = orders(self.plugins, self.alone)
        self.worlds = [
            World(
                {name: PLUGINS[name] for name in self.plugins},
                only=only,
                options={
                    "remember": memory,
                    "seed": self.seed,
                    "verify": 1.0 if memory == 1 else 0.0,
                    # Without a cache no attempt is skipped: the worlds would not stay in step.
                    "wait_together": False,
                },
            )
            for memory in MEMORIES
        ]

    def put_node(self, node: Node) -> None:
        """Add or replace a node."""
        for world in self.worlds:
            world.cluster.apply(node)

    def drop_node(self, node: Node) -> None:
        """Remove a node if it is there."""
        for world in self.worlds:
            if world.find("Node", node.name) is not None:
                world.cluster.delete(node)

    def create(self, pod: Pod) -> None:
        """Create a pod unless its name is taken; pods that share a spec share it within each world."""
        for index, world in enumerate(self.worlds):
            if world.find("Pod", pod.key) is None:
                spec = self._specs.setdefault((index, id(pod.spec)), (pod.spec, evolve(pod.spec)))[1]
                world.cluster.create(Pod(pod.metadata, spec, pod.status))

    def delete(self, name: str) -> None:
        """Delete a pod if it is there."""
        for world in self.worlds:
            if world.find("Pod", f"default/{name}") is not None:
                world.delete(name)

    def relabel(self, name: str, labels: dict[str, str]) -> None:
        """Change the labels of a pod if it is there."""
        for world in self.worlds:
            if world.find("Pod", f"default/{name}") is not None:
                world.change_pod(name, labels=labels)

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        for world in self.worlds:
            world.clock.advance(seconds)

    def step(self) -> bool:
        """One cycle in each world; whether there was one. Raises ``AssertionError`` if they differ."""
        decisions = [world.scheduler.schedule_one() for world in self.worlds]
        if not self.faulty:
            faults = [status for world in self.worlds for status, _ in world.faults]
            assert not [status.message for status in faults if isinstance(status.error, CacheFault)]
        first, *others = [
            _outcome(world, decision) for world, decision in zip(self.worlds, decisions, strict=True)
        ]
        for memory, other in zip(MEMORIES[1:], others, strict=True):
            for name, wanted in first.items():
                if name == "calls" and memory == 1:
                    continue  # verify calls plugins twice
                if name in SIEVES:
                    assert wanted >= other[name], f"{name} with remember={memory} is called for other rows"
                    continue
                assert other[name] == wanted, f"{name} with remember={memory}: {other[name]} for {wanted}"
        return decisions[0] is not None

    def run(self, most: int = 30) -> None:
        """Cycles until nothing is ready, and then the comparison of what is cached with a new build."""
        for _ in range(most):
            if not self.step():
                break
        self.check()

    def check(self) -> None:
        """What is cached is what a new build gives."""
        for world in self.worlds:
            world.check()
            fast = world.scheduler.core.search.fast
            for eq_class in fast.cache.classes() if fast is not None else ():
                assert_up_to_date(eq_class)


def _outcome(world: World, decision: Decision | None) -> dict[str, Any]:
    """All that anybody can see of a cycle."""
    core = world.scheduler.core
    found: dict[str, Any] = {
        "random state": core.rng.getstate(),
        "faults": [
            (status.plugin, status.message)
            for status, _ in world.faults
            if not isinstance(status.error, CacheFault)
        ],
        "queue": core.queue.pending(),
        "pods": [
            (pod.key, pod.spec.node_name, pod.status.nominated_node_name, pod.status.conditions)
            for pod in world.cluster.list("Pod")
        ],
    }
    middle = world.plugin("Middle")
    if middle is not None:
        found["calls"] = middle.calls[-200:]
    # Before the feasible rows are read, which calls lazy filters for the rest.
    for name in SIEVES:
        found[name] = set(sieve.calls) if (sieve := world.plugin(name)) is not None else set()
    if decision is not None:
        feasible, diagnosis = decision.feasible, decision.diagnosis
        found |= {
            "pod": decision.pod.key,
            "node": decision.node_name,
            "evaluated": decision.evaluated,
            "error": decision.error,
            "feasible": feasible.names() if feasible is not None and decision.error is None else None,
            "message": diagnosis.message() if diagnosis is not None else None,
            "statuses": dict(diagnosis) if diagnosis is not None else None,
            "rejectors": (diagnosis.unschedulable_plugins, diagnosis.pending_plugins)
            if diagnosis is not None
            else None,
        }
    return found


def fresh_class(eq_class: EquivalenceClass) -> EquivalenceClass:
    """A class of the same pods that knows nothing of what happened so far."""
    columns = NodeColumns(eq_class.table, eq_class.plan, eq_class.pod, eq_class._objects)
    shared = SharedIndexes(columns, eq_class.policy)
    return EquivalenceClass(
        eq_class.framework, eq_class.plan, eq_class.pod, eq_class._objects, shared, index_only=False
    )


def assert_up_to_date(eq_class: EquivalenceClass) -> None:
    """The columns of a class equal those of one that is built now, and its index fits."""
    fresh = fresh_class(eq_class)
    fresh.refresh()
    if eq_class.index_only and eq_class.find_best():
        assert fresh.cacheable
        assert_index_fits(eq_class, fresh)
        eq_class.check_invariants()
        return
    usable = eq_class.refresh()
    if not usable:
        # Not using a class is always right; a class that fails now must not be used.
        return
    assert fresh.cacheable
    mine, other, size = eq_class.columns, fresh.columns, eq_class.table.size
    assert mine is not None
    assert other is not None
    assert _by_row(mine, size) == _by_row(other, size)
    assert mine.feasible == other.feasible
    assert dict(mine.rejections()) == dict(other.rejections())
    assert np.array_equal(mine.totals[:size], other.totals[:size])
    eq_class.check_invariants()
    assert_index_fits(eq_class, eq_class)
    assert [column.counts for column in mine.normalized] == [c.counts for c in other.normalized]
    assert [column.highest for column in mine.normalized] == [c.highest for c in other.normalized]


def assert_index_fits(eq_class: EquivalenceClass, built: EquivalenceClass) -> None:
    """What the index of a class says is what an equal class with columns, *built*, says of each row."""
    if not eq_class.find_best():
        return
    index, columns = eq_class.index, built.columns
    assert columns is not None
    if isinstance(index, MatrixSlot):
        assert_slot_fits(index, eq_class, columns)
        return
    assert isinstance(index, StateIndex)
    rows = index.rows
    rows.check_invariants(eq_class.node_columns.codes)
    for state, score in index.scores().items():
        for row in rows.rows_of([state]).tolist():
            code = columns.codes[row]
            if code:
                assert score < 0
                assert eq_class.node_columns.status_codes.statuses[-score - 1] == columns.statuses[code - 1]
            else:
                assert score == columns.totals[row] - columns.node_scores[row]
    best = (columns.totals == columns.totals.max()).nonzero()[0].tolist()
    assert rows.rows_of([state for state in index.found if state.count]).tolist() == best
    assert_feasible(index, columns)


def assert_slot_fits(slot: MatrixSlot, eq_class: EquivalenceClass, columns: ClassColumns) -> None:
    """The scores of a slot are those of the *columns* of an equal class."""
    scores, alive = slot.values(), columns.table.alive
    assert len(scores) == columns.table.size
    statuses = eq_class.node_columns.status_codes.statuses
    for row, (score, code) in enumerate(zip(scores, columns.codes.tolist(), strict=False)):
        if code:
            assert score < 0
            named = alive[row] and not columns.node_columns.codes[row]
            assert not named or statuses[-score - 1] == columns.statuses[code - 1]
        else:
            assert score == columns.totals[row] - columns.node_scores[row]
    assert_feasible(slot, columns)


def assert_feasible(index: ScoreIndex, columns: ClassColumns) -> None:
    """The rows that an index finds feasible are those of *columns*; scores differ by one number at most."""
    feasible = index.feasible_rows()
    positions = feasible.positions
    assert positions.tolist() == columns.feasible_rows().positions.tolist()
    assert len(feasible) == columns.feasible
    assert len(set((columns.totals[positions] - index.scores_at(positions)).tolist())) <= 1


def lowered(patch: pytest.MonkeyPatch, **limits: Any) -> None:
    """Schedulers made from now on have other thresholds."""
    patch.setattr(policy, "DEFAULT", evolve(policy.DEFAULT, **limits))


def _by_row(columns: ClassColumns, size: int) -> list[Status | str | None]:
    return [
        "no node" if code == NO_NODE else columns.statuses[code - 1] if code else None
        for code in columns.codes[:size].tolist()
    ]


def renamed(pod: Pod, name: str, **status: Any) -> Pod:
    """A pod of that name with the very same spec."""
    return Pod(
        evolve(pod.metadata, name=name, uid=""),
        pod.spec,
        evolve(pod.status, **status) if status else pod.status,
    )
