"""States of nodes and memos of claims: equal ones are shared, and neither grows without bounds."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import fields

from plugins_builtin.dynamic_resources.allocation_memo import UNKNOWN, AllocationMemo, AllocationMemos
from plugins_builtin.dynamic_resources.claims.tracker import ClaimTracker, tracker_of
from plugins_builtin.dynamic_resources.cycle_state import PodClaims
from plugins_builtin.dynamic_resources.filtering import ClaimFilter
from plugins_builtin.dynamic_resources.inventory.change_log import ChangeLog
from plugins_builtin.dynamic_resources.inventory.device_usage import Holding
from plugins_builtin.dynamic_resources.inventory.node_device_state import NodeDeviceStates
from schedframe.api import DeviceClaim, DeviceRequest, DeviceToleration, ExactDeviceRequest
from schedframe.errors import InvariantError
from schedframe.state import NodeTable, ObjectStore

from .devices import DRIVER, DeviceHandle, attributes, claim, device, device_class, node, pod, slice_of


def world(*objects: Any, nodes: int = 3) -> tuple[ClaimTracker, NodeDeviceStates]:
    table, store = NodeTable(), ObjectStore()
    for number in range(1, nodes + 1):
        table.set_node(node(f"n{number}"))
    for each in objects:
        store.set(each)
    tracker = tracker_of(store)
    tracker.sync()
    states = tracker.states_of(table)
    states.sync()
    return tracker, states


def numbers(states: NodeDeviceStates) -> list[int]:
    states.sync()
    states.check_invariants()
    found: list[int] = states.of_rows(states.table.rows()).tolist()
    return found


def offered(name: str, *sizes: int) -> Any:
    devices = [device(f"{name}-{i}", attributes=attributes(size=size)) for i, size in enumerate(sizes)]
    return slice_of(name, devices)


def test_nodes_with_equal_devices_and_usage_have_one_state() -> None:
    tracker, states = world(offered("n1", 1, 2), offered("n2", 1, 2), offered("n3", 2, 1))
    one, same, other = numbers(states)
    assert one == same != other
    tracker.usage.hold("other-claim", (Holding((DRIVER, "n1", "n1-0")),))
    changed, *rest = numbers(states)
    assert changed not in (same, other)
    assert rest == [same, other]
    tracker.usage.hold("another", (Holding((DRIVER, "n2", "n2-0")),))
    used, as_used, _ = numbers(states)
    assert used == as_used
    tracker.usage.hold("other-claim", ())
    tracker.usage.hold("another", ())
    assert numbers(states) == [one, same, other]


def test_devices_for_all_nodes_are_part_of_the_state_of_all_nodes() -> None:
    network = slice_of("", [device("a"), device("b")])
    tracker, states = world(network, offered("n1", 1))
    with_own, without, also_without = numbers(states)
    assert with_own != without == also_without
    tracker.usage.hold("other-claim", (Holding((DRIVER, "net", "a")),))
    assert not {with_own, without} & set(numbers(states))


def test_views_follow_slices_nodes_and_labels() -> None:
    tracker, states = world(offered("n1", 1))
    store, table = tracker._objects, states.table
    empty = numbers(states)[1]
    store.set(offered("n2", 1))
    tracker.sync()
    assert numbers(states) == [numbers(states)[1], numbers(states)[0], empty]
    store.remove("ResourceSlice", "slice-n1")
    tracker.sync()
    assert numbers(states)[0] == empty
    table.remove_node("n2")
    assert len(numbers(states)) == 2
    table.set_node(node("n4"))
    assert numbers(states)[-1] == empty


def test_states_are_renumbered_beyond_their_limit() -> None:
    tracker, states = world(slice_of("n1", [device("a", allow_multiple_allocations=True)]), nodes=1)
    for amount in range(1, 1100):
        shared = Holding((DRIVER, "n1", "a"), "share", (("memory", amount),))
        tracker.usage.hold("other-claim", (shared,))
        states.sync()
    assert states.epoch == 1
    assert states.count < 100
    numbers(states)


def entries(*parts: Any) -> int:
    """Number of entries of all containers that are fields of *parts*."""
    values = [getattr(part, field.name) for part in parts for field in fields(type(part))]
    return sum(len(value) for value in values if isinstance(value, dict | list | set))


@pytest.mark.parametrize("node_goes_first", [False, True])
def test_nodes_and_pools_that_are_gone_leave_nothing_behind(node_goes_first: bool) -> None:
    tracker, states = world(slice_of("", [device("a")]), nodes=1)
    store, table, sizes = tracker._objects, states.table, list[int]()

    def remove_node(name: str) -> None:
        table.remove_node(name)
        numbers(states)

    def remove_slice(name: str) -> None:
        store.remove("ResourceSlice", f"slice-{name}")
        tracker.sync()
        numbers(states)

    for step in range(400):
        name = f"gone-{step}"
        for each in (name, f"only-shared-{step}"):
            table.set_node(node(each))
        store.set(offered(name, 1))
        tracker.sync()
        tracker.usage.hold("claim", (Holding((DRIVER, name, f"{name}-0")),))
        numbers(states)
        tracker.usage.hold("claim", ())
        for remove in (remove_node, remove_slice) if node_goes_first else (remove_slice, remove_node):
            remove(name)
        remove_node(f"only-shared-{step}")
        tracker.usage.check_invariants()
        sizes.append(entries(tracker.pools, tracker.usage, states))
    assert max(sizes) < 200, "at least one entry would be left by each step"


def test_a_wrong_state_is_noticed() -> None:
    _, states = world(offered("n1", 1))
    states._states[:] = states._states[::-1].copy()
    with pytest.raises(InvariantError, match="is in another state than its row says"):
        states.check_invariants()


# ---- memos ------------------------------------------------------------------------------------------------


def asking(name: str = "r", **fields: Any) -> tuple[DeviceClaim, ...]:
    return (DeviceClaim((DeviceRequest(name, ExactDeviceRequest("gpu", **fields)),)),)


def tolerating(number: int) -> tuple[DeviceClaim, ...]:
    return asking(tolerations=(DeviceToleration(f"key-{number}"),))


def test_claims_with_equal_requests_share_a_memo() -> None:
    memos = AllocationMemos()
    first = memos.of(asking(), 1)
    assert memos.of(asking(), 1) is first
    others = [memos.of(asking("s"), 1), memos.of(asking(), 2), memos.of(asking(admin_access=True), 1)]
    assert len({id(memo) for memo in (first, *others)}) == 4


def test_memos_are_dropped_beyond_their_limit() -> None:
    memos = AllocationMemos()
    first = memos.of(asking(), 1)
    for number in range(200):
        memos.of(asking(count=number), 1)
    assert len(memos._memos) <= 129
    assert memos.of(asking(), 1) is not first
    alike = [memos.of(tolerating(number), 1) for number in range(20)]
    assert memos.of(tolerating(19), 1) is alike[-1]
    assert memos.of(tolerating(0), 1) is not alike[0]


def test_a_memo_is_cleared_when_states_are_renumbered() -> None:
    memo = AllocationMemo((), 1)
    memo.fit(0, 4)
    memo.codes[2] = 1
    memo.fit(0, 400)
    assert (memo.codes[2], memo.codes[399]) == (1, UNKNOWN)
    memo.fit(1, 4)
    assert memo.codes[2] == UNKNOWN


def test_a_timed_out_search_is_repeated_for_the_next_pod() -> None:
    """The clock does not advance; a limit in the past is exceeded."""
    many = slice_of("n1", [device(f"d{i}") for i in range(20)])
    wants = (ExactDeviceRequest("gpu", count=10), ExactDeviceRequest("gpu", count=11))
    asked = claim("x", *(DeviceRequest(f"r{i}", exact) for i, exact in enumerate(wants)))
    tracker, states = world(many, device_class("gpu"), asked, nodes=1)
    claims = ClaimFilter(DeviceHandle(states.table, tracker._objects), -1.0, 600.0)
    found = claims.read(pod("p", "x"))
    assert isinstance(found, PodClaims)
    status = claims.filter(found, states.table.info(0))
    assert status is not None
    assert status.reasons == ("timed out trying to allocate devices",)
    memo = next(iter(found.requests.values())).memo
    assert memo.codes[states.of_row(0)] > 0
    memo.forget_timeouts()
    assert memo.codes[states.of_row(0)] == UNKNOWN


# ---- trails ------------------------------------------------------------------------------------------------


def test_a_change_log_keeps_a_limited_number_of_changes() -> None:
    change_log = ChangeLog[str]()
    for number in range(9000):
        change_log.append(str(number))
    assert change_log.since(9000) == []
    assert change_log.since(8998) == ["8998", "8999"]
    assert change_log.since(0) is None
