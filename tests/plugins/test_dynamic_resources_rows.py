"""Claims filtered in columns: equal to a new plugin node by node, after any history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.args import DynamicResourcesArgs
from plugins_builtin.dynamic_resources import DynamicResources
from plugins_builtin.dynamic_resources.inventory.node_device_state import NodeDeviceStates
from schedframe.api import (
    ALL_DEVICES,
    AllocationResult,
    DeviceCapacity,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    ResourceClaim,
    ResourceSlice,
    parse_quantity,
)
from schedframe.framework import RECORDED, CycleState, Status
from schedframe.state import NodeTable, ObjectStore

from .agreement import OPEN, call, columnar_statuses, parts_of
from .devices import (
    DRIVER,
    DeviceHandle,
    attributes,
    capacity,
    claim,
    device,
    device_class,
    node,
    pod,
    selectors,
    slice_of,
)

ZONE = "zone"
GPU, NIC = "example.com/gpu", "example.com/nic"
CLASSES = (device_class("gpu", resource=GPU), device_class("nic", f"device.driver == '{DRIVER}'"))


def plugin_for(nodes: list[Node], objects: list[Any]) -> DynamicResources:
    table, store = NodeTable(), ObjectStore()
    for each in nodes:
        table.set_node(each)
    for each in objects:
        store.set(each)
    return DynamicResources(DynamicResourcesArgs(), DeviceHandle(table, store))


class World:
    """The current nodes and objects, and a plugin that has processed all their changes."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.objects: dict[tuple[str, str], Any] = {}
        self.warm = plugin_for([], [])

    def set_node(self, new: Node) -> None:
        self.nodes[new.name] = new
        self.table.set_node(new)

    def remove_node(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.table.remove_node(name)

    def set(self, obj: Any) -> None:
        self.objects[obj.KIND, obj.key] = obj
        self.warm.handle.objects.set(obj)

    def remove(self, kind: str, key: str) -> None:
        if self.objects.pop((kind, key), None) is not None:
            self.warm.handle.objects.remove(kind, key)

    @property
    def table(self) -> NodeTable:
        table = self.warm.handle.table
        assert isinstance(table, NodeTable)
        return table

    def check(self, wanting: Pod) -> None:
        """Statuses, scores and allocations of all rows, of some and of each alone."""
        state, rows = CycleState(), self.table.rows()
        if call(self.warm, "pre_filter", state=state, pod=wanting, nodes=rows) is not None or not len(rows):
            return
        verdicts = {name: cold_verdict(self, wanting, name) for name in rows.names()}
        for part in parts_of(rows):
            expected = [verdicts[name] for name in part.names()]
            statuses = columnar_statuses(self.warm, state, wanting, part)
            assert [said(status) for status in statuses] == [verdict[0] for verdict in expected]
            passing = part.select(np.array([status == OPEN for status in statuses], np.bool_))
            scores = self.warm.score_rows(state=state, rows=passing).tolist()
            feasible = [verdict for verdict in expected if verdict[0] == said(OPEN)]
            assert scores == [verdict[1] for verdict in feasible]
            records = recorded(state, passing.names())
            assert [records.get(name) for name in passing.names()] == [verdict[2] for verdict in feasible]
        self.states().check_invariants()

    def states(self) -> NodeDeviceStates:
        return self.warm._filter.states


def said(status: Status) -> tuple[Any, ...]:
    return status.code, status.reasons


def recorded(state: CycleState, names: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = state.read(RECORDED)["allocations"](names)
    return found


def cold_verdict(world: World, wanting: Pod, name: str) -> tuple[Any, int, Any]:
    """Return status, score and allocation of one node, by a new plugin."""
    plugin = plugin_for([world.nodes[name]], list(world.objects.values()))
    state, rows = CycleState(), plugin.handle.table.rows()
    assert call(plugin, "pre_filter", state=state, pod=wanting, nodes=rows) is None
    info = plugin.handle.table.info(0)
    status = plugin.filter(state=state, node_info=info) or OPEN
    if status != OPEN:
        return said(status), 0, None
    return said(status), plugin.score(state=state, node_info=info), recorded(state, [name]).get(name)


# ---- everything that may happen --------------------------------------------------------------------------

NAMES = ("n1", "n2", "n3", "n4")


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    amounts = draw(st.sampled_from([{}, {}, {GPU: "2"}, {NIC: "0"}, {GPU: "0", NIC: "1"}]))
    made = node(draw(st.sampled_from(NAMES)), **amounts)
    return evolve(made, metadata=evolve(made.metadata, labels={ZONE: draw(st.sampled_from("ab"))}))


@st.composite
def slices(draw: st.DrawFn) -> ResourceSlice:
    """Slices for one node, all nodes, a zone, or single devices; sometimes of an invalid pool."""
    number = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["one", "one", "one", "all", "zone", "each", "missing", "twice"]))
    big = draw(st.integers(0, 2))
    shared = draw(st.booleans())
    there = {"m": DeviceCapacity(parse_quantity(draw(st.integers(1, 2))))} if draw(st.booleans()) else {}
    devices = [
        device(
            f"d{i}",
            attributes=attributes(n=i % 2, big=i < big),
            capacity=there,
            allow_multiple_allocations=shared and i == 0,
        )
        for i in range(number)
    ]
    where = draw(st.sampled_from(NAMES))
    if kind in ("one", "missing", "twice"):
        devices += devices[:1] if kind == "twice" else []
        return slice_of(where, devices, slices=2 if kind == "missing" else 1)
    made = slice_of("", devices, pool=draw(st.sampled_from(["net", "fabric"])))
    if kind == "all":
        return made
    in_zone = NodeSelector((NodeSelectorTerm((NodeSelectorRequirement(ZONE, "In", ("a",)),)),))
    if kind == "zone":
        return evolve(made, spec=evolve(made.spec, all_nodes=None, node_selector=in_zone))
    chosen = [
        evolve(each, node_name=where) if i else evolve(each, all_nodes=True) for i, each in enumerate(devices)
    ]
    changes = {"devices": tuple(chosen), "all_nodes": None, "per_device_node_selection": True}
    return evolve(made, spec=evolve(made.spec, **changes))


def exact(**fields: Any) -> st.SearchStrategy[DeviceRequest]:
    parts = st.sampled_from(
        [
            {},
            {},
            {"count": 2},
            {"allocation_mode": ALL_DEVICES},
            {"admin_access": True},
            {"selectors": selectors(f"device.attributes['{DRIVER}'].big")},
            {"capacity": capacity(m=1)},
        ]
    )
    classes = st.sampled_from(["gpu", "nic"])
    return st.builds(lambda c, p: DeviceRequest("r", ExactDeviceRequest(c, **p)), classes, parts)


CHOICE = DeviceRequest(
    "r", first_available=(DeviceSubRequest("two", "gpu", count=2), DeviceSubRequest("one", "nic"))
)


@st.composite
def claims(draw: st.DrawFn) -> ResourceClaim:
    """Claims to allocate, or allocated ones, some for one node or zone only."""
    name = draw(st.sampled_from(["x", "y", "z"]))
    constraints = draw(st.sampled_from([(), (DeviceConstraint(match_attribute=f"{DRIVER}/n"),)]))
    if draw(st.booleans()):
        return claim(name, draw(st.one_of(exact(), st.just(CHOICE))), constraints=constraints)
    place = f"{draw(st.sampled_from([*NAMES, 'net', 'fabric']))}/d{draw(st.integers(0, 2))}"
    made = claim(name, CHOICE, allocated=[place])
    assert made.status.allocation is not None
    here = NodeSelectorTerm(match_fields=(NodeSelectorRequirement("metadata.name", "In", ("n1", "n2")),))
    zone = NodeSelectorTerm((NodeSelectorRequirement(ZONE, "In", ("a",)),))
    chosen = draw(st.sampled_from([None, NodeSelector((here,)), NodeSelector((zone,))]))
    allocation = AllocationResult(made.status.allocation.devices, chosen)
    return evolve(made, status=evolve(made.status, allocation=allocation))


Step = Callable[[World], None]


def steps() -> st.SearchStrategy[Step]:
    slice_keys = st.sampled_from([*(f"slice-{name}" for name in NAMES), "slice-net", "slice-fabric"])
    return st.one_of(
        nodes().map(lambda each: lambda world: world.set_node(each)),
        st.sampled_from(NAMES).map(lambda name: lambda world: world.remove_node(name)),
        slices().map(lambda each: lambda world: world.set(each)),
        slices().map(lambda each: lambda world: world.set(each)),
        slice_keys.map(lambda key: lambda world: world.remove("ResourceSlice", key)),
        claims().map(lambda each: lambda world: world.set(each)),
        claims().map(lambda each: lambda world: world.set(each)),
    )


def pods() -> st.SearchStrategy[Pod]:
    requests = st.sampled_from([{}, {}, {GPU: "1"}, {GPU: "1", NIC: "1"}])
    named = st.lists(st.sampled_from(["x", "y", "z"]), max_size=2, unique=True)
    return st.builds(lambda names, wanted: pod("p", *names, requests=wanted), named, requests)


@given(
    first=st.lists(steps(), min_size=5, max_size=8),
    later=st.lists(st.tuples(pods(), steps()), min_size=2, max_size=4),
)
def test_columns_agree_with_a_new_plugin_node_by_node(
    first: list[Step], later: list[tuple[Pod, Step]]
) -> None:
    world = World()
    for each in CLASSES:
        world.set(each)
    for name in ("n1", "n2", "n3"):
        world.set_node(node(name))
    for step in first:
        step(world)
    for wanting, step in later:
        world.check(wanting)
        step(world)
        world.check(wanting)
