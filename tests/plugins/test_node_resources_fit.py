"""NodeResourcesFit, filter and hints: room for the pod."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.args import NodeResourcesFitArgs
from plugins_builtin.node_resources.device_classes import IMPLICIT_PREFIX
from plugins_builtin.node_resources.fit import NodeResourcesFit
from plugins_builtin.node_resources.shortage import ERR_TOO_MANY_PODS, err_insufficient
from schedframe.api import DeviceClass, DeviceClassSpec, ObjectMeta, Pod
from schedframe.framework import CycleState, CycleStateError, Status
from schedframe.queue import Action, ClusterEvent, EventResource
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import (
    StandInHandle,
    check_filter_agreement,
    check_pods_agreement,
    columnar_statuses,
    per_node_statuses,
)
from tests.plugins.events import hint_of
from tests.plugins.resources import Amount, make_node, make_pod, table_of
from tests.plugins.strategies import EXTENDED, pods, tables

GPU = "example.com/gpu"
POD_DELETED = ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE)
POD_SHRANK = ClusterEvent(EventResource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN)
SELF_SHRANK = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE_POD_SCALE_DOWN)
NODE_ADDED = ClusterEvent(EventResource.NODE, Action.ADD)
NODE_CHANGED = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_ALLOCATABLE)
NODE_UNCORDONED = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_TAINT)
CLASS_ADDED = ClusterEvent(EventResource.DEVICE_CLASS, Action.ADD)
CLASS_CHANGED = ClusterEvent(EventResource.DEVICE_CLASS, Action.UPDATE)


def fit(
    *classes: DeviceClass, ignored: tuple[str, ...] = (), groups: tuple[str, ...] = ()
) -> NodeResourcesFit:
    handle = StandInHandle()
    for device_class in classes:
        handle.objects.set(device_class)
    return NodeResourcesFit(NodeResourcesFitArgs(ignored, groups), handle)


def device_class(name: str = "gpus", resource: str | None = GPU) -> DeviceClass:
    return DeviceClass(ObjectMeta(name=name), DeviceClassSpec(extended_resource_name=resource))


def verdict(pod: Pod, info: NodeInfo, plugin: NodeResourcesFit | None = None) -> Status | None:
    """What both forms say of the node."""
    plugin = plugin or fit()
    state = CycleState()
    plugin.pre_filter(state, pod)
    rows = table_of(info).rows()
    columnar = columnar_statuses(plugin, state, pod, rows)
    assert columnar == per_node_statuses(plugin, state, pod, rows)
    return None if columnar == [Status()] else columnar[0]


def on(values: Mapping[str, Amount], *running: Mapping[str, Amount], pods: int = 110) -> NodeInfo:
    """A node with a pod for each of *running*."""
    others = (make_pod(requests, name=f"other-{i}", node="n") for i, requests in enumerate(running))
    return NodeInfo.of(make_node(values, pods=pods), others)


# ---- filter ----------------------------------------------------------------------------------------------


def test_a_pod_may_take_all_that_is_left_and_no_more() -> None:
    node = on({"cpu": "2", "memory": "1Gi"}, {"cpu": "1500m"})
    assert verdict(make_pod({"cpu": "500m", "memory": "1Gi"}), node) is None
    assert verdict(make_pod({"cpu": "501m"}), node) == Status.unschedulable(err_insufficient("cpu"))


def test_all_shortages_are_listed() -> None:
    node = on(
        {"cpu": 1, "memory": 100, "ephemeral-storage": 10, GPU: 1}, {"cpu": 1, "memory": 1, GPU: 1}, pods=1
    )
    status = verdict(make_pod({"cpu": 1, "memory": 100, "ephemeral-storage": 10, GPU: 1}), node)
    reasons = (ERR_TOO_MANY_PODS, err_insufficient("cpu"), err_insufficient("memory"), err_insufficient(GPU))
    assert status == Status.unschedulable(*reasons)


def test_a_request_beyond_the_whole_node_cannot_be_helped() -> None:
    node = on({"cpu": 2, "memory": 100}, {"cpu": 2})
    both = (err_insufficient("cpu"), err_insufficient("memory"))
    assert verdict(make_pod({"cpu": 1, "memory": 101}), node) == Status.unresolvable(*both)


def test_one_more_pod_is_too_many_whatever_it_requests() -> None:
    assert verdict(make_pod(), on({}, {}, pods=2)) is None
    assert verdict(make_pod(), on({}, {}, pods=1)) == Status.unschedulable(ERR_TOO_MANY_PODS)
    assert verdict(make_pod(), on({}, pods=0)) == Status.unschedulable(ERR_TOO_MANY_PODS)


def test_an_overcommitted_node_takes_pods_that_request_nothing_of_it() -> None:
    node = on({"cpu": 1, "memory": 100}, {"cpu": 3})
    assert verdict(make_pod({"cpu": 0, "memory": 100}), node) is None


def test_huge_pages_and_extended_resources_are_counted() -> None:
    node = on({"hugepages-2Mi": "4Mi", GPU: 1}, {"hugepages-2Mi": "2Mi"})
    assert verdict(make_pod({"hugepages-2Mi": "2Mi", GPU: 1}), node) is None
    assert verdict(make_pod({"hugepages-2Mi": "4Mi"}), node) == Status.unschedulable(
        err_insufficient("hugepages-2Mi")
    )
    assert verdict(make_pod({"vendor.io/fpga": 1}), node) == Status.unresolvable(
        err_insufficient("vendor.io/fpga")
    )


@pytest.mark.parametrize("requested", [3, 10, 70])
def test_any_number_of_resources_may_be_short(requested: int) -> None:
    names = [f"example.com/r{i:02}" for i in range(requested)]
    node = on(dict.fromkeys(names[1:], 1), {names[1]: 1})
    absent, taken = err_insufficient(names[0]), err_insufficient(names[1])
    assert verdict(make_pod(dict.fromkeys(names, 1)), node) == Status.unresolvable(absent, taken)


def test_rows_are_told_apart_by_what_they_lack() -> None:
    plugin, state = fit(), CycleState()
    pod = make_pod(dict.fromkeys([f"example.com/r{i}" for i in range(8)], 1))
    plugin.pre_filter(state, pod)
    table = NodeTable()
    for i in range(9):
        have = {f"example.com/r{j}": 1 for j in range(8) if j != i}
        table.set_node(make_node(have, name=f"n{i}"))
    expected = [Status.unresolvable(err_insufficient(f"example.com/r{i}")) for i in range(8)] + [Status()]
    assert columnar_statuses(plugin, state, pod, table.rows()) == expected


def test_without_pre_filter_it_fails() -> None:
    table = table_of(on({}))
    with pytest.raises(CycleStateError, match="NodeResourcesFit"):
        fit().filter(CycleState(), table.info(0))
    with pytest.raises(CycleStateError, match="NodeResourcesFit"):
        fit().filter_rows(CycleState(), table.rows())


# ---- resources that are not its business -----------------------------------------------------------------


@pytest.mark.parametrize("plugin", [fit(ignored=(GPU,)), fit(groups=("example.com",))])
def test_ignored_extended_resources_are_not_looked_at(plugin: NodeResourcesFit) -> None:
    assert verdict(make_pod({GPU: 5}), on({}), plugin) is None
    other = Status.unresolvable(err_insufficient("vendor.io/fpga"))
    assert verdict(make_pod({GPU: 5, "vendor.io/fpga": 1}), on({}), plugin) == other


def test_only_extended_resources_can_be_ignored() -> None:
    names = ("cpu", "hugepages-2Mi", "node.kubernetes.io/slots")
    plugin = fit(ignored=names, groups=("hugepages-2Mi", "node.kubernetes.io"))
    assert verdict(make_pod(dict.fromkeys(names, 1)), on({}), plugin) == Status.unresolvable(
        *(err_insufficient(name) for name in names)
    )


@pytest.mark.parametrize("resource", [GPU, f"{IMPLICIT_PREFIX}gpus"])
def test_a_device_class_answers_for_a_resource_that_the_node_has_not(resource: str) -> None:
    plugin, pod = fit(device_class()), make_pod({resource: 2})
    assert verdict(pod, on({}), plugin) is None
    assert verdict(pod, on({resource: 0}), plugin) is None
    assert verdict(pod, on({resource: 1}), plugin) == Status.unresolvable(err_insufficient(resource))


def test_a_device_class_counts_from_when_it_is_known() -> None:
    plugin, pod = fit(), make_pod({GPU: 1})
    short = Status.unresolvable(err_insufficient(GPU))
    assert verdict(pod, on({}), plugin) == short
    plugin.handle.objects.set(device_class())
    assert verdict(pod, on({}), plugin) is None
    plugin.handle.objects.set(device_class(resource="example.com/other"))
    assert verdict(pod, on({}), plugin) == short


# ---- signature -------------------------------------------------------------------------------------------


def test_the_signature_is_what_filter_and_score_read() -> None:
    plugin = fit()
    requests = {"cpu": "100m", "memory": "200Mi"}
    one, same = make_pod(requests, name="a"), make_pod(requests, name="b")
    assert plugin.pod_signature(one) == plugin.pod_signature(same)
    # The same requests in all, but in scoring the second container counts 100m.
    assert plugin.pod_signature(one) != plugin.pod_signature(make_pod(requests, {}))


def test_requests_of_the_whole_pod_are_part_of_the_signature() -> None:
    plugin = fit()
    whole = make_pod({"cpu": "1"}, {}, whole={"memory": "1Gi"})
    assert plugin.pod_signature(whole) == plugin.pod_signature(evolve(whole, metadata=ObjectMeta(name="b")))
    assert plugin.pod_signature(whole) != plugin.pod_signature(
        make_pod({"cpu": "1"}, whole={"memory": "1Gi"})
    )


# ---- hints -----------------------------------------------------------------------------------------------


def test_any_placed_or_promised_pod_that_goes_helps() -> None:
    pod, other = make_pod({"cpu": 1}), make_pod(name="other")
    assert not hint_of(fit(), POD_DELETED, pod, other, None)
    assert hint_of(fit(), POD_DELETED, pod, make_pod(name="other", node="n"), None)
    assert hint_of(fit(), POD_DELETED, pod, other.with_status(nominated_node_name="n"), None)


def test_a_pod_that_shrinks_helps_if_it_is_placed_and_shares_a_resource() -> None:
    big, small = ({"cpu": amount, "memory": 1} for amount in (2, 1))
    before, after = (make_pod(one, name="other", node="n") for one in (big, small))
    assert hint_of(fit(), POD_SHRANK, make_pod({"cpu": 1}), before, after)
    assert not hint_of(fit(), POD_SHRANK, make_pod({"cpu": 1}), after, before)
    assert not hint_of(fit(), POD_SHRANK, make_pod({"cpu": 0, "memory": 1}), before, after)
    pending = (make_pod(one, name="other") for one in (big, small))
    assert not hint_of(fit(), SELF_SHRANK, make_pod({"cpu": 1}), *pending)


def test_the_waiting_pod_itself_shrank() -> None:
    assert hint_of(fit(), SELF_SHRANK, make_pod({"cpu": 1}), make_pod({"cpu": 2}), make_pod({"cpu": 1}))


def test_a_new_node_helps_if_the_pod_fits_when_it_is_empty() -> None:
    pod = make_pod({"cpu": 2})
    assert hint_of(fit(), NODE_ADDED, pod, None, make_node({"cpu": 2}))
    assert not hint_of(fit(), NODE_ADDED, pod, None, make_node({"cpu": 1}))
    assert not hint_of(fit(), NODE_ADDED, pod, None, make_node({"cpu": 2}, pods=0))


def test_a_node_must_have_more_of_something_requested() -> None:
    pod = make_pod({"cpu": 2, "memory": 0})
    old = make_node({"cpu": 2, "memory": 1})
    assert not hint_of(fit(), NODE_CHANGED, pod, old, make_node({"cpu": 2, "memory": 5}))
    assert hint_of(fit(), NODE_CHANGED, pod, old, make_node({"cpu": 3, "memory": 1}))
    assert hint_of(fit(), NODE_CHANGED, pod, old, make_node({"cpu": 2}, pods=111))
    assert hint_of(fit(), NODE_UNCORDONED, pod, old, old)


def test_a_resource_backed_by_a_class_counts_as_more_where_the_node_has_none() -> None:
    pod, plugin = make_pod({"cpu": 1, GPU: 1}), fit(device_class())
    assert hint_of(plugin, NODE_CHANGED, pod, make_node({"cpu": 1}), make_node({"cpu": 1}))
    assert not hint_of(fit(), NODE_CHANGED, pod, make_node({"cpu": 1}), make_node({"cpu": 2}))
    has = make_node({"cpu": 1, GPU: 1})
    assert not hint_of(plugin, NODE_CHANGED, pod, has, has)


def test_a_class_helps_that_now_stands_for_a_named_resource() -> None:
    by_name, implicit = make_pod({GPU: 0}), make_pod({f"{IMPLICIT_PREFIX}gpus": 0})
    gpus, others = device_class(), device_class(resource="example.com/other")
    assert hint_of(fit(), CLASS_ADDED, by_name, None, gpus)
    assert hint_of(fit(), CLASS_ADDED, implicit, None, others)
    assert not hint_of(fit(), CLASS_ADDED, by_name, None, others)
    assert hint_of(fit(), CLASS_CHANGED, by_name, others, gpus)
    assert not hint_of(fit(), CLASS_CHANGED, by_name, gpus, gpus)
    assert not hint_of(fit(), CLASS_CHANGED, implicit, others, gpus)
    assert not hint_of(fit(), CLASS_CHANGED, by_name, gpus, device_class(resource=None))


# ---- both forms ------------------------------------------------------------------------------------------


@given(tables(), pods(), st.sets(st.sampled_from(EXTENDED)), st.sets(st.sampled_from(EXTENDED)))
def test_both_forms_of_filter_agree(table: NodeTable, pod: Pod, ignored: set[str], backed: set[str]) -> None:
    classes = (device_class(f"class-{i}", name) for i, name in enumerate(sorted(backed)))
    check_filter_agreement(fit(*classes, ignored=tuple(ignored)), table, pod)


def made_up(count: int) -> list[str]:
    return [f"example.com/none-{i:03}" for i in range(count)]


@pytest.mark.parametrize("count", [1, 5, 100])
@pytest.mark.parametrize("backed", [(), ("example.com/none-000",), tuple(made_up(100))])
def test_both_forms_agree_about_resources_that_no_node_has(count: int, backed: tuple[str, ...]) -> None:
    classes = [device_class(f"class-{i}", name) for i, name in enumerate(backed)]
    table = NodeTable()
    some_of_each = [{"cpu": 2, GPU: 1}, {"cpu": 8, "vendor.io/fpga": 1}, {"cpu": 8, GPU: 0}, {}]
    for i, have in enumerate(some_of_each):
        table.set_node(make_node(have, name=f"n{i}", pods=i % 3))
    # A pod that was placed by its node name may request what its node has not.
    table.add_pod("n1", make_pod(dict.fromkeys(made_up(3), 1), name="there", node="n1"))
    for more in ({}, {"cpu": 4}, {GPU: 1}, {"cpu": 1, GPU: 1, "vendor.io/fpga": 1}):
        check_filter_agreement(fit(*classes), table, make_pod({**dict.fromkeys(made_up(count), 1), **more}))


def test_resources_that_no_node_has_take_no_pass_over_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    table = NodeTable()
    for i in range(3):
        table.set_node(make_node({"cpu": i}, name=f"n{i}"))
    table.add_pod("n1", make_pod(dict.fromkeys(made_up(1000), 1), name="there", node="n1"))
    read: list[str] = []
    allocatable = NodeTable.allocatable
    monkeypatch.setattr(
        NodeTable, "allocatable", lambda self, name: read.append(name) or allocatable(self, name)
    )
    plugin, state = fit(), CycleState()
    plugin.pre_filter(state, make_pod({"cpu": 1, **dict.fromkeys(made_up(1000), 1)}))
    verdicts = plugin.filter_rows(state, table.rows())
    assert set(read) == {"cpu"}
    lacking = tuple(map(err_insufficient, made_up(1000)))
    reasons = [status.reasons for status in verdicts.statuses]
    assert sorted(reasons) == sorted([lacking, (err_insufficient("cpu"), *lacking)])
    assert np.bincount(verdicts.codes).tolist() in ([0, 1, 2], [0, 2, 1])


@given(
    tables(),
    st.lists(pods(), min_size=1, max_size=4),
    st.sets(st.sampled_from(EXTENDED)),
    st.sets(st.sampled_from(EXTENDED)),
)
def test_several_pods_get_the_verdicts_of_each(
    table: NodeTable, some: list[Pod], ignored: set[str], backed: set[str]
) -> None:
    classes = (device_class(f"class-{i}", name) for i, name in enumerate(sorted(backed)))
    check_pods_agreement(fit(*classes, ignored=tuple(ignored)), table, some)


def test_one_of_several_pods_may_lack_something() -> None:
    some = [make_pod({"cpu": cpu, "memory": "1Gi"}, name=f"p{cpu}") for cpu in (1, 2, 4, 5)]
    running = make_pod({"cpu": 2}, name="there")
    infos = [NodeInfo.of(make_node({"cpu": 4, "memory": "2Gi"}, f"n{n}", pods=n), [running]) for n in (1, 2)]
    table, plugin, states = table_of(*infos), fit(), [CycleState() for _ in some]
    for state, each in zip(states, some, strict=True):
        plugin.pre_filter(state, each)
    check_pods_agreement(plugin, table, some)
    lacks = ("Insufficient cpu",)
    prepared = plugin.prepare_filter(states, table)
    full, roomy = map(prepared, (0, 1))
    assert [prepared.rejects(row).tolist() for row in (0, 1)] == [[True] * 4, [False, False, True, True]]
    assert (roomy.codes.tolist(), roomy.statuses[0].reasons) == ([0, 0, 1, 2], lacks)
    assert [full.statuses[code - 1].reasons[0] for code in full.codes] == ["Too many pods"] * 4
    few = plugin.prepare_filter(states[:2], table)
    assert few(1) is None is few.rejects(1)
