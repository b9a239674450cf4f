"""A per-node filter that declares nothing: the decisions of a search of all rows, with few calls."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from schedframe import NodeInfo, Pod, Rows, Status, hookimpl
from schedframe.cycle import Tuning
from schedframe.cycle.search import tie_breaking as ties
from schedframe.cycle.search.lazy_filter import LazyFilter
from schedframe.cycle.search.tie_breaking import INFEASIBLE
from schedframe.framework import CycleState
from schedframe.framework.plan import FilterEntry
from schedframe.state import NodeTable
from tests.profiles import many

from .. import workload
from ..build import World, make_node, make_pod
from .comparison import Triplets, renamed
from .test_same_decisions import WAYS, Way, catching_up

NO = Status.unschedulable("no")


# ---- the same decisions --------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    way=st.sampled_from(WAYS),
    plugins=st.sampled_from(
        (["Sieve"], ["FineSieve"], ["Sieve", "FineSieve"], ["Sieve", "Columns"], ["Sieve", "Peak", "Local"])
    ),
    alone=st.booleans(),
)
def test_no_decision_changes(seed: int, way: Way, plugins: list[str], alone: bool) -> None:
    """Node, statuses, feasible rows, ties and draws, with preferences that are normalised."""
    random = Random(seed)
    templates = [workload.template(random, f"t{i}", others=not alone) for i in range(random.choice((1, 3)))]
    with catching_up(way):
        worlds = Triplets(plugins, alone, seed % 3)
        for i in range(random.choice((3, 12, 40))):
            worlds.put_node(workload.node(random, f"n{i}", images=False))
        for _ in range(40):
            chance = random.random()
            if chance < 0.8:
                worlds.create(renamed(random.choice(templates), f"p{next(worlds.numbers) % 30}"))
            elif chance < 0.95:
                worlds.delete(f"p{random.randrange(30)}")
            else:
                worlds.put_node(workload.node(random, f"n{random.randrange(12)}", images=False))
            worlds.step()
        worlds.run()


# ---- few calls -----------------------------------------------------------------------------------------


@define(eq=False)
class Labelled:
    """Rejects nodes by a label, and counts its calls."""

    calls: list[str] = field(factory=list)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        self.calls.append(node_info.name)
        assert node_info.node is not None
        return NO if node_info.node.labels.get("no") == pod.labels.get("app") else None


def _world(plugins: dict[str, type[Any]], nodes: int, cpu: Any = lambda i: 4) -> World:
    world = World(plugins, only={"postFilter": []}, options={"seed": 1})
    for i in range(nodes):
        world.cluster.create(make_node(f"n{i:04}", cpu=cpu(i), labels={"no": "web"} if i % 10 == 3 else {}))
    return world


def _schedule(world: World, pods: int) -> list[str]:
    for i in range(pods):
        world.cluster.create(make_pod(f"p{i}", cpu=1, labels={"app": "web"}))
    world.scheduler.run_until_idle()
    return [pod.spec.node_name for pod in world.cluster.list("Pod")]


def test_rows_below_the_chosen_one_are_not_decided() -> None:
    world = _world({"Labelled": Labelled}, 300, lambda i: 4 + i)
    names = _schedule(world, 20)
    calls = world.plugin("Labelled").calls
    assert set(names) <= set(calls)
    # The smallest nodes are always fuller than others would be.
    assert min(calls) > "n0040"


def test_of_tied_rows_no_more_are_decided_than_tie_breaking_counts() -> None:
    world = _world({"Labelled": Labelled}, 800)
    _schedule(world, 3)
    # 800 rows tie, and from 800 / 16 on the number of ties does not matter.
    assert len(world.plugin("Labelled").calls) < 3 * 70


def test_the_other_plugins_are_not_called_for_each_pod() -> None:
    """That they skip is kept although the filter by node never skips."""

    @define(eq=False)
    class Skipping:
        calls: list[str] = field(factory=list)

        @hookimpl
        def pre_filter(self, pod: Pod) -> Status | None:
            self.calls.append(pod.name)
            return Status.skip()

        @hookimpl
        def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
            raise AssertionError("it skips")

        @hookimpl
        def skip_reads(self, pod: Pod) -> Sequence[str]:
            return ()

    world = _world({"Skipping": Skipping, "Labelled": Labelled}, 50)
    pod = make_pod("first", cpu=1)
    for i in range(20):
        world.cluster.create(renamed(pod, f"p{i}"))
    world.scheduler.run_until_idle()
    assert len(world.plugin("Skipping").calls) < 5


def test_all_feasible_rows_are_known_when_they_are_read() -> None:
    world = _world({"Labelled": Labelled}, 200)
    world.cluster.create(make_pod("p", cpu=1, labels={"app": "web"}))
    decision = world.scheduler.schedule_one()
    assert decision is not None
    assert len(world.plugin("Labelled").calls) < 60
    assert decision.feasible is not None
    assert len(decision.feasible) == 180
    assert len(set(world.plugin("Labelled").calls)) == 200 == len(world.plugin("Labelled").calls)


def test_a_pod_without_a_node_has_the_status_of_every_node_and_each_is_decided_once() -> None:
    @define(eq=False)
    class Never:
        calls: list[str] = field(factory=list)

        @hookimpl
        def filter(self, node_info: NodeInfo) -> Status | None:
            self.calls.append(node_info.name)
            return NO

    world = _world({"Never": Never}, 100, lambda i: 4 if i % 2 else 1)
    world.cluster.create(make_pod("p", cpu=2))
    decision = world.scheduler.schedule_one()
    assert decision is not None
    assert decision.diagnosis is not None
    assert decision.diagnosis.message() == "0/100 nodes are available: 50 Insufficient cpu, 50 no."
    assert len(world.plugin("Never").calls) == 50


# ---- what the live plugins see -------------------------------------------------------------------------


@pytest.mark.parametrize("reads", [False, True])
def test_pre_score_gets_all_feasible_rows(reads: bool) -> None:
    """Filters are called for them when they are first read."""

    @define(eq=False)
    class Reading:
        seen: list[int] = field(factory=list)

        @hookimpl
        def pre_score(self, nodes: Rows) -> Status | None:
            self.seen.append(len(nodes) if reads else -1)
            return Status.skip()

        @hookimpl
        def score(self, node_info: NodeInfo) -> int:
            raise AssertionError("it skips")

    world = _world({"Labelled": Labelled, "Reading": Reading}, 400)
    _schedule(world, 3)
    assert world.plugin("Reading").seen == [360 if reads else -1] * 3
    assert (len(world.plugin("Labelled").calls) < 400) is not reads


def test_a_plugin_that_scores_gets_all_feasible_rows() -> None:
    @define(eq=False)
    class Scoring:
        calls: list[str] = field(factory=list)

        @hookimpl
        def pre_score(self, pod: Pod) -> None:
            """Does not skip."""

        @hookimpl
        def score(self, node_info: NodeInfo) -> int:
            self.calls.append(node_info.name)
            return 1

    world = _world({"Labelled": Labelled, "Scoring": Scoring}, 60)
    _schedule(world, 1)
    assert len(world.plugin("Scoring").calls) == 54
    assert len(world.plugin("Labelled").calls) == 60


# ---- faults --------------------------------------------------------------------------------------------


def _failing(names: frozenset[str]) -> type[Any]:
    @define(eq=False)
    class Failing:
        @hookimpl
        def filter(self, node_info: NodeInfo) -> Status | None:
            if node_info.name in names:
                raise LookupError(f"nothing is known of {node_info.name}")
            return None

    return Failing


@pytest.mark.parametrize("first", ["n0002", "n0099"])
def test_a_fault_that_is_met_is_that_of_the_first_node_by_name(first: str) -> None:
    """The best node fails, and perhaps the first one by name: a search of all rows reports that."""
    world = _world({"Failing": _failing(frozenset({"n0099", first}))}, 100, lambda i: 4 + i)
    world.cluster.create(make_pod("p", cpu=1))
    decision = world.scheduler.schedule_one()
    assert decision is not None
    assert decision.error is not None
    text = f'running "Failing" filter plugin: LookupError: nothing is known of {first} (pod default/p, '
    assert decision.error.message.startswith(f"{text}node {first}, ")


@pytest.mark.parametrize("verify", [0.0, 1.0])
def test_a_fault_on_a_row_that_is_not_decided_does_not_end_the_cycle(verify: float) -> None:
    """Verify mode, which decides all rows, meets it: no difference is reported, and the fault counts."""
    plugins = {"Failing": _failing(frozenset({"n0002"}))}
    world = World(plugins, options={"seed": 1, "tuning": Tuning(verify=verify)})
    for i in range(100):
        world.cluster.create(make_node(f"n{i:04}", cpu=4 + i))
    world.cluster.create(make_pod("p", cpu=1))
    decision = world.scheduler.schedule_one()
    assert decision is not None
    assert (decision.error is None) is not bool(verify)
    assert {status.plugin for status, _ in world.faults} == ({"Failing"} if verify else set())


# ---- the structure itself ------------------------------------------------------------------------------


class _Table:
    """A stand-in: a row is its own node info."""

    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def num_nodes(self) -> int:
        return self.size

    def info(self, row: int) -> int:
        return row

    def rows(self) -> Rows:
        table: Any = self
        return _rows(table)


def _lazy(totals: Sequence[int], passing: set[int], calls: list[int]) -> LazyFilter:
    def filter_node(state: Any, pod: Any, row: int) -> Status | None:
        calls.append(row)
        return None if row in passing else NO

    column = np.array([*totals, 7, 7], np.int64)  # longer than the table, as columns are
    table: Any = _Table(len(totals))
    pod: Any = None
    return LazyFilter([FilterEntry("F", filter_node, None)], CycleState(), pod, table, column)


@given(
    totals=st.lists(st.sampled_from((INFEASIBLE, 0, 1, 2, 5, 9, 12, 13)) | st.integers(0, 300), min_size=1),
    seed=st.integers(0, 99),
    share=st.sampled_from((0.0, 0.1, 0.5, 0.9, 1.0)),
    draws=st.sampled_from((0, 2, 16)),
)
@many
def test_the_choice_is_that_of_all_rows(totals: list[int], seed: int, share: float, draws: int) -> None:
    random, calls = Random(seed), list[int]()
    passing = {row for row in range(len(totals)) if random.random() < share}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ties, "MOST_DRAWS", draws)
        lazy, feasible = _lazy(totals, passing, calls), {row for row in passing if totals[row] != INFEASIBLE}
        mine, other = Random(seed), Random(seed)
        row = lazy.choose(mine)
        best = max((totals[each] for each in feasible), default=INFEASIBLE)
        if feasible:
            tied = np.array([row in feasible and total == best for row, total in enumerate(totals)])
            assert row == ties.one_of(_rows(lazy.table), tied, other)
        else:
            assert row is None
        assert mine.getstate() == other.getstate()
        assert all(totals[each] >= best for each in calls)
        assert lazy.several_pass() == (len(feasible) > 1)
        assert set(lazy.feasible_rows().positions.tolist()) == feasible
        assert len(calls) == len(set(calls))


def _rows(table: NodeTable) -> Rows:
    return Rows(table, slice(0, table.size), table.size)
