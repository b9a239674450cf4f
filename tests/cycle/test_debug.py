"""Debug mode: a plugin that changes what it only may read is named, and nothing is corrupted."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Handle, NodeInfo, Pod, Rows, hookimpl
from schedframe.cycle import Watchdog
from schedframe.state import NodeTable
from schedframe.state.read_only_table import ReadOnlyInfoTable, ReadOnlyNodeInfo

from .build import World, make_node, make_pod, plugin_class


def _clear(info: NodeInfo) -> None:
    info.pods.clear()


def _overwrite(info: NodeInfo) -> None:
    info.requested["cpu"] = 10**9


def _set(info: NodeInfo) -> None:
    info.non_zero_cpu = 0


def _add(info: NodeInfo) -> None:
    info.add_pod(make_pod("more", uid="more"))


def _use_ports(info: NodeInfo) -> None:
    info.used_ports[("TCP", 80)]["0.0.0.0"] = 5


CHANGES = (_clear, _overwrite, _set, _add, _use_ports)


def _world(plugin: type[Any], *, debug: bool = True) -> World:
    world = World({"Changing": plugin}, options={"debug": debug})
    world.create(make_node("n1"), make_pod("there", cpu=1, node_name="n1", host_port=80))
    world.create(make_pod("p", cpu=1))
    world.settle()
    return world


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("hook", ["filter", "score"])
def test_a_plugin_that_changes_a_node_info_is_named(change: Any, hook: str) -> None:
    def call(self: Any, node_info: NodeInfo) -> Any:
        change(node_info)
        return 0 if hook == "score" else None

    # A score is needed only if there is a choice.
    world = World({"Changing": plugin_class("Changing", **{hook: call})}, options={"debug": True})
    there = make_pod("there", cpu=1, node_name="n1", host_port=80)
    world.create(make_node("n1"), make_node("n2"), there, make_pod("p", cpu=1))
    world.settle()
    assert {status.plugin for status, _ in world.faults} == {"Changing"}
    assert all("is read-only for plugins; change a clone()" in status.message for status, _ in world.faults)
    assert world.node_of("p") == ""
    world.scheduler.core.cache.table.check_invariants()


@pytest.mark.parametrize("change", CHANGES)
def test_node_infos_from_rows_and_from_the_handle_are_read_only(change: Any) -> None:
    class Looking:
        def __init__(self, args: object, handle: Handle) -> None:
            self.handle = handle

        @hookimpl
        def pre_filter(self, nodes: Rows) -> None:
            for info in nodes:
                with pytest.raises((TypeError, AttributeError)):
                    change(info)
            with pytest.raises((TypeError, AttributeError)):
                change(self.handle.table.info(0))

    world = _world(Looking)
    assert not world.faults
    assert world.node_of("p") == "n1"


def test_a_plugin_that_changes_the_table_is_named() -> None:
    class Changing:
        @hookimpl
        def pre_filter(self, nodes: Rows, pod: Pod) -> None:
            nodes.table.add_pod("n1", make_pod("more", uid=f"more-{pod.name}"))

    world = World({"Changing": Changing}, options={"debug": True})
    world.create(make_node("n1"), make_pod("p", cpu=1))
    world.scheduler.run_until_idle()  # without the checks of settle(): the change itself stays
    (fault, _), *_ = world.faults
    assert fault.plugin == "Changing"
    assert "pre_filter of plugin Changing changed the node table; plugins only read it" in fault.message


@pytest.mark.parametrize("debug", [False, True])
def test_columns_are_read_only_in_any_mode(debug: bool) -> None:
    class Changing:
        @hookimpl
        def filter_rows(self, rows: Rows) -> None:
            rows.table.requested("cpu")[:] = 10**9

    (fault, _), *_ = _world(Changing, debug=debug).faults
    assert fault.plugin == "Changing"
    assert "read-only" in fault.message


def test_a_copy_may_be_changed() -> None:
    table = ReadOnlyInfoTable()
    table.set_node(make_node("n1"))
    table.add_pod("n1", make_pod("p", cpu=1, uid="p", host_port=80))
    info = table.info(0)
    assert isinstance(info, ReadOnlyNodeInfo)
    copy = info.clone()
    copy.add_pod(make_pod("q", cpu=2, uid="q", host_port=80))
    assert (copy.requested["cpu"], info.requested["cpu"]) == (3000, 1000)
    assert copy.used_ports != info.used_ports
    table.add_pod("n1", make_pod("r", cpu=2, uid="r"))
    assert table.info(0).non_zero_cpu == 3000
    table.check_invariants()


def test_without_debug_nothing_is_wrapped() -> None:
    world = World({"Plain": plugin_class("Plain", filter=lambda self, state, pod, node_info: None)})
    core = world.scheduler.core
    assert type(core.cache.table) is NodeTable
    assert not world.scheduler.core.observers.guards_of("default-scheduler")
    assert core.observers.find(Watchdog) is None
    (plain,) = [e for e in core.frameworks["default-scheduler"].plan.filter if e.name == "Plain"]
    assert plain.filter is not None
    assert plain.filter.__name__ == "<lambda>"
