"""What the resource plugins keep about rows from one pod to the next stays true whatever happens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ScoringStrategy,
)
from plugins_builtin.node_resources import usage
from plugins_builtin.node_resources.arithmetic import EXACT
from plugins_builtin.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from plugins_builtin.node_resources.fit import NodeResourcesFit
from schedframe.api import Pod
from schedframe.state import NodeTable, policy
from tests.plugins.agreement import StandInHandle, check_filter_agreement, check_score_agreement
from tests.plugins.resources import make_node, make_pod

LEAST, MOST = (
    NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type=kind)), StandInHandle())
    for kind in (LEAST_ALLOCATED, MOST_ALLOCATED)
)
BALANCED = NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs(), StandInHandle())

NAMES = [f"n{i}" for i in range(70)]
"""More than a table has room for at first."""
nodes = st.builds(
    lambda name, cpu, memory, pods: make_node({"cpu": cpu, "memory": memory}, name, pods),
    st.sampled_from(NAMES[:6]),
    st.sampled_from((0, 1, 4, 4, 4)),
    st.sampled_from((0, 1000, 1000, 1000, EXACT)),
    st.integers(1, 4),
)
requests = st.fixed_dictionaries(
    {}, optional={"cpu": st.integers(0, 5), "memory": st.integers(0, 1500), "example.com/gpu": st.just(1)}
)
steps = st.one_of(
    st.tuples(st.just("node"), nodes),
    st.tuples(st.just("gone"), st.sampled_from(NAMES[:6])),
    st.tuples(st.just("pod"), st.tuples(st.sampled_from(NAMES[:6]), requests)),
    st.tuples(st.just("done"), st.integers(0, 99)),
    st.tuples(st.just("ask"), requests),
)


def ask(table: NodeTable, pod: Pod) -> None:
    """All forms agree; columns of the plugins' own are kept from the second time on at the latest."""
    for _ in range(2 if table.num_nodes else 0):
        check_filter_agreement(LEAST, table, pod)
        for plugin in (LEAST, MOST, BALANCED):
            check_score_agreement(plugin, table, pod)


@given(st.lists(steps, max_size=25))
def test_forms_agree_at_any_time(happening: list[tuple[str, Any]]) -> None:
    table = NodeTable()
    running: list[tuple[str, str]] = []
    for number, (kind, what) in enumerate(happening):
        if kind == "node":
            table.set_node(what)
        elif kind == "gone":
            table.remove_node(what)
        elif kind == "pod":
            name, wanted = what
            pod = make_pod(wanted, name=f"p{number}", node=name)
            table.add_pod(name, pod)
            running.append((name, pod.uid))
        elif kind == "done":
            if running:
                table.remove_pod(*running.pop(what % len(running)))
        else:
            ask(table, make_pod(what, name="asked"))
    ask(table, make_pod({"cpu": "700m", "memory": 300}, name="asked"))


def test_many_changes_at_once_and_growth() -> None:
    table = NodeTable()
    pod = make_pod({"cpu": 1, "memory": 100}, name="asked")
    for name in NAMES[:30]:
        table.set_node(make_node({"cpu": 4, "memory": 1000}, name))
    ask(table, pod)
    for i, name in enumerate(NAMES):
        table.set_node(make_node({"cpu": 4, "memory": 1000 + i}, name))
        table.add_pod(name, make_pod({"cpu": i % 3, "memory": 3 * i}, name=f"p{i}", node=name))
    ask(table, pod)


@pytest.mark.parametrize("changed", [1, 60])
def test_nodes_that_were_all_equal_and_are_not_any_more(changed: int) -> None:
    table = NodeTable()
    pod = make_pod({"cpu": 1, "memory": 100}, name="asked")
    for name in NAMES:
        table.set_node(make_node({"cpu": 4, "memory": 1000}, name))
        table.add_pod(name, make_pod({"cpu": 1, "memory": 300}, name=f"p-{name}", node=name))
    ask(table, pod)
    for name in NAMES[:changed]:
        table.set_node(make_node({"cpu": 16, "memory": 5000}, name))
    ask(table, pod)
    table.remove_node(NAMES[-1])
    ask(table, pod)


def test_what_is_surely_left_everywhere() -> None:
    table = NodeTable()
    for name in NAMES[:4]:
        table.set_node(make_node({"cpu": 4, "memory": 1000}, name, 2))
    kept = table.derived_arrays("room", lambda table: usage.Room(table, names=("cpu", "memory")))
    assert kept.fits([4000, 1000])
    assert not kept.fits([4001, 0])
    table.add_pod("n1", make_pod({"cpu": 1}, name="p0", node="n1"))
    assert table.derived_arrays("room", type(kept)).fits([3000, 1000])
    assert not kept.fits([3001, 1000])
    table.add_pod("n1", make_pod({}, name="p1", node="n1"))
    assert not table.derived_arrays("room", type(kept)).fits([0, 0])
    # What was freed is known when all rows are looked at again; until then less is promised.
    table.remove_pod("n1", list(table.pods_at(1))[-1])
    assert not table.derived_arrays("room", type(kept)).fits([0, 0])
    table.row_log.forget()
    assert table.derived_arrays("room", type(kept)).fits([3000, 1000])


def test_a_trial_that_is_rolled_back_leaves_nothing() -> None:
    table = NodeTable()
    pod = make_pod({"cpu": 1, "memory": 100}, name="asked")
    for name in NAMES[:3]:
        table.set_node(make_node({"cpu": 4, "memory": 1000}, name))
    ask(table, pod)
    mark = table.mark()
    table.add_pod("n1", make_pod({"cpu": 4}, name="tried", node="n1"))
    ask(table, pod)
    table.rollback(mark)
    ask(table, pod)


def test_more_rows_than_are_worked_on_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "PORTION", 4)
    table = NodeTable()
    for i, name in enumerate(NAMES[:11]):
        table.set_node(make_node({"cpu": 4, "memory": 1000 + i}, name))
        table.add_pod(name, make_pod({"cpu": i % 5, "memory": 90 * i}, name=f"p{i}", node=name))
    ask(table, make_pod({"cpu": 1, "memory": 100}, name="asked"))
    table.remove_node("n3")
    ask(table, make_pod({"cpu": "100m", "memory": 1}, name="asked"))
