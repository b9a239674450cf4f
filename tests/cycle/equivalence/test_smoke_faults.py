"""A fault of the cache drops the class, is reported, and changes no decision."""

from __future__ import annotations

import re
from asyncio import CancelledError
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from attrs import define, field

from schedframe import (
    CycleState,
    InMemoryCluster,
    NodeTable,
    Pod,
    Rows,
    RowVerdicts,
    Scheduler,
    Status,
    hookimpl,
)
from schedframe.cycle import Tuning, observing
from schedframe.cycle.equivalence.cache import EquivalenceCache
from schedframe.cycle.equivalence.equivalence_class import EquivalenceClass
from schedframe.cycle.equivalence.evaluate.rowwise import RowwiseEvaluator
from schedframe.errors import CacheFault, VerificationError
from schedframe.framework import GroupScores, GroupVerdicts

from ..build import World, config_with, make_node, make_pod
from .comparison import lowered


def test_a_node_that_joins_while_slots_of_the_matrix_are_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered(monkeypatch, rows_per_class=1 << 20, matrix_min_classes=2)
    faults: list[Status] = []
    cluster = InMemoryCluster()
    scheduler = Scheduler(
        cluster, seed=0, observers=[observing(faulted=lambda status, pod: faults.append(status))]
    )
    numbers = iter(range(10_000))

    def create(*sizes: str) -> None:
        for size in sizes:
            container = {"name": "c", "resources": {"requests": {"cpu": size}}}
            metadata = {"name": f"p{next(numbers)}", "namespace": "default"}
            cluster.create({"kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}})
        scheduler.run_until_idle()

    cluster.create(make_node("n0", cpu="100m"))
    create("1", "2")  # There is no room, so the classes begin with columns.
    for i in range(1, 21):
        cluster.create(make_node(f"n{i}", cpu=64))
    create(*["1", "2"] * 30)
    for key in [pod.key for pod in cluster.list("Pod") if pod.node_name][:40]:
        cluster.delete("Pod", key)
    create("2")  # More rows changed than the matrix evaluates for all its classes.
    cluster.create(make_node("n99", cpu=64))
    create("1")
    assert not faults


def break_(monkeypatch: pytest.MonkeyPatch, cls: type[Any], method: str) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise IndexError("out of step")

    monkeypatch.setattr(cls, method, broken)


def placed(world: World, pods: int = 6) -> list[str]:
    for i in range(8):
        world.cluster.create(make_node(f"n{i}"))
    for i in range(pods):
        world.cluster.create(make_pod(f"p{i}", cpu="100m"))
    world.scheduler.run_until_idle()
    return [world.pod(f"p{i}").node_name for i in range(pods)]


@pytest.mark.parametrize(
    ("cls", "method"),
    [
        (EquivalenceClass, "refresh"),
        (EquivalenceClass, "find_best"),
        (EquivalenceClass, "__init__"),
        (EquivalenceCache, "lookup"),
    ],
)
def test_a_fault_is_reported_and_the_full_search_decides(
    cls: type[Any], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = placed(World(options={"tuning": Tuning(remember=0)}))
    lowered(monkeypatch, index_only_classes=0 if method == "refresh" else 32)
    break_(monkeypatch, cls, method)
    world = World()
    assert placed(world) == expected
    status, pod = world.faults[0]
    assert isinstance(status.error, CacheFault)
    assert isinstance(status.error.__cause__, IndexError)
    assert pod is not None
    for told in ("IndexError: out of step", "pod default/p0", "8 nodes in 8 rows", "row log", "class "):
        assert told in status.message


def test_the_class_is_not_made_again_for_some_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered(monkeypatch, retry_after=4)
    world = World()
    with pytest.MonkeyPatch.context() as patch:
        break_(patch, EquivalenceClass, "find_best")
        assert all(placed(world, 4))
        assert len(world.faults) == 1
    fast = world.scheduler.core.search.fast
    assert fast is not None
    assert not len(fast.cache)
    for i in range(4):
        world.cluster.create(make_pod(f"q{i}", cpu="100m"))
        world.scheduler.run_until_idle()
    assert len(fast.cache) == 1
    assert len(world.faults) == 1


# ---- what plugins see --------------------------------------------------------------------------------------


@define(eq=False)
class Counting:
    """Asked for every pod; counts, and rejects those that say so."""

    calls: list[str] = field(factory=list)

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | None:
        self.calls.append(pod.name)
        code = pod.labels.get("reject")
        return getattr(Status, code)("no") if code else None


@define(eq=False)
class Called(Counting):
    """As its base, and notes what post_filter sees."""

    seen: list[Any] = field(factory=list)

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> None:
        return None

    @hookimpl
    def post_filter(self, state: CycleState) -> None:
        self.seen.append((sorted(key.name for key in state._entries), state.skip_filter_plugins))


def calls_and_state(memory: int | None, only: dict[str, list[str]], code: str) -> tuple[list[str], list[Any]]:
    world = World({"Called": Called}, only=only, options={"tuning": Tuning(remember=memory)})
    world.cluster.create(make_node("n0"))
    for i in range(4):
        world.cluster.create(make_pod(f"p{i}", cpu="100m", host_port=80, labels={"reject": code}))
    world.scheduler.run_until_idle()
    plugin = world.plugin("Called")
    return plugin.calls, plugin.seen


@pytest.mark.parametrize("code", ["unschedulable", "unresolvable", "error"])
@pytest.mark.parametrize("place", range(4))
def test_pre_filter_is_called_once_where_a_live_plugin_rejects(place: int, code: str) -> None:
    order = ["NodeAffinity", "NodePorts", "NodeResourcesFit"]
    order.insert(place, "Called")
    only = {"preFilter": order, "postFilter": ["Called"]}
    calls, seen = calls_and_state(None, only, code)
    assert sorted(calls) == sorted(set(calls))
    assert (calls, seen) == calls_and_state(0, only, code)


def test_pre_filter_is_called_once_where_the_cache_fails_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    break_(monkeypatch, EquivalenceClass, "refresh")
    calls, _ = calls_and_state(None, {}, "")
    assert sorted(calls) == sorted(set(calls))


@define(eq=False)
class Scores(Counting):
    """As its base, and scores each node."""

    @hookimpl
    def score_rows(self, rows: Rows) -> npt.NDArray[np.int64]:
        return np.zeros(len(rows), np.int64)


def test_pre_filter_is_called_once_where_the_columns_fail_after_the_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The index has the best rows, and the columns to add the scores of the plugin to cannot be made."""
    world = World({"Scores": Scores})
    world.create(make_node("n0"), make_node("n1"))
    monkeypatch.setattr(EquivalenceClass, "refresh", lambda eq_class: False)
    for i in range(4):
        world.create(make_pod(f"p{i}", cpu="100m"))
    world.settle()
    assert not world.faults
    assert all(world.node_of(f"p{i}") for i in range(4))
    assert world.plugin("Scores").calls == [f"p{i}" for i in range(4)]


@pytest.mark.parametrize("memory", [None, 0])
def test_pre_filter_is_called_once_where_all_filters_run(memory: int | None) -> None:
    """The cache keeps the first rejection of a node, so the filters run again for the others."""
    config = config_with("Called")
    config["profiles"][0]["runAllFilters"] = True
    world = World({"Called": Called}, config=config, options={"tuning": Tuning(remember=memory)})
    world.create(make_node("n0", unschedulable=True))
    for i in range(4):
        world.create(make_pod(f"p{i}", cpu=9, labels={"own": str(i)}))
    world.settle()
    assert world.plugin("Called").calls == [f"p{i}" for i in range(4)]
    for i in range(4):
        (condition,) = world.pod(f"p{i}").status.conditions
        assert "Insufficient cpu" in condition.message
        assert "unschedulable" in condition.message


# ---- verify ------------------------------------------------------------------------------------------------


def test_verify_reports_a_difference_and_the_full_search_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = placed(World(options={"tuning": Tuning(remember=0)}))
    assert placed(World(options={"tuning": Tuning(verify=1.0)})) == expected
    monkeypatch.setattr(
        "schedframe.cycle.equivalence.fast_search.FastSearch._draw_indexed",
        lambda fast, eq_class, decision: setattr(decision, "node_name", "n0") or decision,
    )
    world = World(options={"tuning": Tuning(verify=1.0)})
    assert placed(world) == expected
    assert {type(status.error) for status, _ in world.faults} == {VerificationError}
    assert "node 'n0' instead of" in world.faults[0][0].message
    wrong = World()
    assert set(placed(wrong)) == {"n0"}
    assert not wrong.faults


class ScoresRows:
    """Called for every pod; scores each row."""

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        return np.zeros(len(rows), np.int64)


class ScoresGroups(ScoresRows):
    """As its base, and scores the rows by group."""

    @hookimpl
    def score_groups(self, pod: Pod, table: NodeTable) -> GroupScores:
        return GroupScores((table.allowed_pods,), lambda keys: [0] * len(keys))


class FiltersRows:
    """Called for every pod; rejects the node that is first in the table."""

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts:
        return RowVerdicts.where(rows.positions == 0, Status.unschedulable("the first node"))


def sized(world: World, pods: int) -> list[str]:
    """Place *pods* on four nodes, of which the last one is by far the largest, hence the best."""
    if not world.cluster.list("Node"):
        world.create(*[make_node(f"n{i}", cpu=4 + i) for i in range(3)], make_node("n3", cpu=64))
    there = len(world.cluster.list("Pod"))
    names = [f"p{there + i}" for i in range(pods)]
    world.create(*[make_pod(name, cpu="100m") for name in names])
    world.scheduler.run_until_idle()
    return [world.node_of(name) for name in names]


@pytest.mark.parametrize("plugin", [None, ScoresRows, ScoresGroups, FiltersRows])
def test_verify_reports_a_wrong_total_that_changes_no_placement(
    plugin: type[Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered(monkeypatch, index_only_classes=0)
    plugins = {} if plugin is None else {plugin.__name__: plugin}
    world = World(plugins, options={"tuning": Tuning(verify=1.0)})
    assert set(sized(world, 5)) == {"n3"}
    assert not world.faults
    (eq_class,) = world.scheduler.core.search.fast.cache.classes()
    groupings = list(eq_class.groupings._ways.values())
    assert any(group_max.columns for group_max in groupings) == (plugin is ScoresGroups)
    for scores in [eq_class.columns.totals, *[group_max._values for group_max in groupings]]:
        scores[1] -= 1
    assert sized(world, 1) == ["n3"]
    (fault,) = [status for status, _ in world.faults]
    assert isinstance(fault.error, VerificationError)
    assert re.search(r"decided scores \{'n1': -\d+\} instead of \{'n1': -\d+\}\. To", fault.message)


class CannotScoreGroups(ScoresRows):
    """Its scores of groups raise what a loop raises that the plugin cancelled itself."""

    @hookimpl
    def score_groups(self, pod: Pod, table: NodeTable) -> GroupScores:
        return GroupScores((table.allowed_pods,), cancelled)


class CannotFilterGroups(FiltersRows):
    """As above for verdicts."""

    @hookimpl
    def filter_groups(self, pod: Pod, table: NodeTable) -> GroupVerdicts:
        return GroupVerdicts((table.allowed_pods,), cancelled)


def cancelled(keys: Any) -> Any:
    raise CancelledError


@pytest.mark.parametrize("plugin", [CannotScoreGroups, CannotFilterGroups])
def test_cancelled_error_in_an_answer_for_groups_leaves_the_form_for_rows(
    plugin: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered(monkeypatch, index_only_classes=0)
    world = World({plugin.__name__: plugin}, options={"tuning": Tuning(verify=1.0)})
    assert set(sized(world, 5)) == {"n3"}
    assert not world.faults


def test_verify_reports_a_wrong_score_of_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(options={"tuning": Tuning(verify=1.0)})
    assert set(sized(world, 5)) == {"n3"}
    assert not world.faults
    evaluate = RowwiseEvaluator.evaluate
    monkeypatch.setattr(RowwiseEvaluator, "evaluate", lambda self, row: evaluate(self, row) + 1)
    assert sized(world, 1) == ["n3"]
    assert "decided scores {'n0': " in world.faults[0][0].message


@pytest.mark.parametrize(("share", "twice"), [(0.0, 0), (0.25, 2), (0.5, 4), (1.0, 8)])
def test_a_share_of_the_pods_is_verified(share: float, twice: int) -> None:
    world = World({"Called": Called}, options={"tuning": Tuning(verify=share)})
    placed(world, 8)
    assert len(world.plugin("Called").calls) == 8 + twice


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_is_from_0_to_1(share: float) -> None:
    with pytest.raises(ValueError, match="is not a share; give a number from 0 to 1"):
        World(options={"tuning": Tuning(verify=share)})
