"""The search for devices: its solutions are valid, and it finds one wherever there is one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.dynamic_resources.inventory.device_usage import DeviceUsage, Holding
from plugins_builtin.dynamic_resources.inventory.node_pools import PoolIndex
from plugins_builtin.dynamic_resources.search.demand import AllocationError, demand_of
from plugins_builtin.dynamic_resources.search.device_search import (
    DeviceSearch,
    InvalidPools,
    Pick,
    SearchTimeout,
)
from schedframe.api import (
    ALL_DEVICES,
    Device,
    DeviceCapacity,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    parse_quantity,
)
from schedframe.state import ObjectStore

from .device_checker import Checker, Given
from .devices import DRIVER, attributes, capacity, claim, device, device_class, node, selectors, slice_of

NODE = node("n1")
CLASSES = {"gpu": device_class("gpu")}


def exactly(name: str = "r", **fields: Any) -> DeviceRequest:
    return DeviceRequest(name, ExactDeviceRequest("gpu", **fields))


def alternatives(name: str, *parts: dict[str, Any]) -> DeviceRequest:
    subs = tuple(DeviceSubRequest(f"s{i}", "gpu", **part) for i, part in enumerate(parts))
    return DeviceRequest(name, first_available=subs)


def search(slices: Sequence[Any], claims: Sequence[Any], usage: DeviceUsage | None = None) -> DeviceSearch:
    store = ObjectStore()
    for each in slices:
        store.set(each)
    index = PoolIndex(store)
    index.sync()
    demands = [demand_of(each, CLASSES.get) for each in claims]
    return DeviceSearch(demands, NODE, index.of_node(NODE), usage or DeviceUsage(), lambda: False)


def found(slices: Sequence[Any], *claims: Any, usage: DeviceUsage | None = None) -> list[list[str]] | None:
    """Return request and device of each pick."""
    picks = search(slices, claims, usage).run()
    if picks is None:
        return None
    return [[f"{pick.query.name}:{pick.offered.device.name}" for pick in part] for part in picks]


def held(*names: str) -> DeviceUsage:
    usage = DeviceUsage()
    usage.hold("other-claim", tuple(Holding((DRIVER, "n1", name)) for name in names))
    return usage


# ---- examples --------------------------------------------------------------------------------------------


def test_the_first_free_devices_are_taken_in_order() -> None:
    slices = [slice_of("n1", [device("a"), device("b"), device("c")])]
    assert found(slices, claim("x", exactly(count=2)), usage=held("a")) == [["r:b", "r:c"]]
    assert found(slices, claim("x", exactly(count=3)), usage=held("a")) is None


def test_an_earlier_pick_is_undone_if_the_rest_does_not_fit() -> None:
    slices = [slice_of("n1", [device("a", attributes=attributes(big=True)), device("b")])]
    wanted = (exactly("any"), exactly("big", selectors=selectors(f"has(device.attributes['{DRIVER}'].big)")))
    assert found(slices, claim("x", *wanted)) == [["any:b", "big:a"]]


def test_alternatives_are_tried_in_their_order() -> None:
    slices = [slice_of("n1", [device("a"), device("b")])]
    assert found(slices, claim("x", alternatives("r", {"count": 3}, {"count": 2}))) == [
        ["r/s1:a", "r/s1:b"],
    ]


def test_a_request_for_all_devices_fails_if_one_is_in_use() -> None:
    slices = [slice_of("n1", [device("a"), device("b")])]
    everything = claim("x", exactly(allocation_mode=ALL_DEVICES))
    assert found(slices, everything) == [["r:a", "r:b"]]
    assert found(slices, everything, usage=held("b")) is None
    assert found([], everything) is None


def test_an_incomplete_pool_offers_no_devices() -> None:
    slices = [slice_of("n1", [device("a")], slices=2)]
    assert found(slices, claim("x", exactly())) is None
    with pytest.raises(
        AllocationError, match=r"resource pool gpu\.example\.com/n1 is currently being updated"
    ):
        found(slices, claim("x", exactly(allocation_mode=ALL_DEVICES)))


def test_a_pool_with_a_duplicate_name_is_reported_if_there_is_no_solution() -> None:
    twice = slice_of("n1", [device("a"), device("a")])
    with pytest.raises(InvalidPools):
        found([twice], claim("x", exactly()))
    assert found([twice, slice_of("", [device("z")])], claim("x", exactly())) == [["r:z"]]


def test_a_newer_generation_elsewhere_makes_the_pool_obsolete() -> None:
    old = slice_of("n1", [device("a")], pool="p", name="old", slices=2)
    new = slice_of("n2", [device("b")], pool="p", name="new", generation=2)
    assert found([old, new], claim("x", exactly())) is None


def test_pools_with_binding_conditions_come_last() -> None:
    slow = slice_of("n1", [device("a", binding_conditions=("Ready",))], pool="a")
    assert found([slow, slice_of("n1", [device("z")], pool="z")], claim("x", exactly(count=2))) == [
        ["r:z", "r:a"],
    ]


def test_more_devices_than_a_claim_may_have() -> None:
    slices = [slice_of("n1", [device(f"d{i:02}") for i in range(40)])]
    with pytest.raises(AllocationError, match="number of requested devices 33 exceeds the claim limit of 32"):
        found(slices, claim("x", exactly(count=33)))
    choice = alternatives("b", {"count": 30}, {"count": 2})
    assert found(slices, claim("x", exactly("a", count=30), choice)) is not None
    both = found(slices, claim("x", alternatives("a", {"count": 20}, {"count": 1}), exactly("b", count=20)))
    assert both is not None
    assert both[0][:2] == ["a/s1:d00", "b:d01"]


def test_a_constraint_that_all_devices_break_is_an_error() -> None:
    slices = [
        slice_of("n1", [device("a", attributes=attributes(n=0)), device("b", attributes=attributes(n=1))])
    ]
    constraint = DeviceConstraint(match_attribute=f"{DRIVER}/n")
    with pytest.raises(AllocationError, match=r"cannot add device gpu\.example\.com/n1/b"):
        found(slices, claim("x", exactly(allocation_mode=ALL_DEVICES), constraints=[constraint]))


def test_counters_are_shared_by_the_devices_of_a_pool() -> None:
    parts = [device("whole", counters={"mem": 4}), device("half", counters={"mem": 2})]
    slices = [
        slice_of("n1", [], counters={"mem": 4}, name="counters", slices=2),
        slice_of("n1", parts, name="devices", slices=2),
    ]
    assert found(slices, claim("x", exactly())) == [["r:whole"]]
    assert found(slices, claim("x", exactly()), usage=held("whole")) is None
    assert found(slices, claim("x", exactly(count=2))) is None


def test_a_device_that_is_passed_over_takes_no_counters() -> None:
    """In v1.36 such a device counts as taken for the rest of the search on the node."""
    tainted = device("tainted", counters={"mem": 3}, taints=(DeviceTaint("k", "", "NoSchedule"),))
    other = device("other", counters={"mem": 3}, attributes=attributes(n=1))
    first, second = (
        device(name, counters={"mem": 2}, attributes=attributes(n=0)) for name in ("first", "second")
    )
    slices = [
        slice_of("n1", [], counters={"mem": 4}, name="counters", slices=2),
        slice_of("n1", [tainted, first, other, second], name="devices", slices=2),
    ]
    alike = DeviceConstraint(match_attribute=f"{DRIVER}/n")
    wanted = claim("x", exactly(count=2), constraints=(alike,))
    assert found(slices, wanted) == [["r:first", "r:second"]]


def test_a_shared_device_serves_until_its_capacity_is_gone() -> None:
    shared = device("a", allow_multiple_allocations=True, capacity={"m": DeviceCapacity(parse_quantity(3))})
    want = {"capacity": capacity(m=2)}
    slices = [slice_of("n1", [shared])]
    assert found(slices, claim("x", exactly(**want))) == [["r:a"]]
    assert found(slices, claim("x", exactly(**want)), claim("y", exactly(**want))) is None
    one = {"capacity": capacity(m=1)}
    assert found(slices, claim("x", exactly(**want)), claim("y", exactly(**one))) == [["r:a"], ["r:a"]]


def test_no_claims_need_no_devices() -> None:
    assert found([]) == []


def test_twenty_claims_of_32_devices() -> None:
    slices = [slice_of("n1", [device(f"d{i}") for i in range(640)])]
    wanted = [claim(f"c{i}", exactly(count=32)) for i in range(20)]
    everything = found(slices, *wanted)
    assert everything is not None
    assert sum(len(each) for each in everything) == 640


def test_thousands_of_requests_need_no_deeper_recursion() -> None:
    slices = [slice_of("n1", [device(f"d{i}") for i in range(2560)])]
    wanted = [claim(f"c{i}", *(exactly(f"r{j}") for j in range(32))) for i in range(80)]
    limit = sys.getrecursionlimit()
    everything = found(slices, *wanted)
    assert everything is not None
    assert [pick for part in everything for pick in part] == [f"r{i % 32}:d{i}" for i in range(2560)]
    assert sys.getrecursionlimit() == limit


def test_the_search_ends_at_its_time_limit() -> None:
    slices = [slice_of("n1", [device(f"d{i}") for i in range(20)])]
    looking = search(slices, [claim("x", exactly("a", count=10), exactly("b", count=11))])
    looking.is_out_of_time = lambda: True
    with pytest.raises(SearchTimeout):
        looking.run()


# ---- against every possibility ---------------------------------------------------------------------------


@st.composite
def pools(draw: st.DrawFn) -> list[Any]:
    devices = []
    for number in range(draw(st.integers(1, 5))):
        shared = draw(st.booleans())
        fields: dict[str, Any] = {"attributes": attributes(n=draw(st.integers(0, 1)))}
        if draw(st.integers(0, 4)) == 0:
            fields["attributes"] = {}
        if shared:
            fields |= {"allow_multiple_allocations": True}
        if shared or draw(st.booleans()):
            fields["capacity"] = {"m": DeviceCapacity(parse_quantity(draw(st.integers(1, 3))))}
        if draw(st.integers(0, 4)) == 0:
            fields["taints"] = (DeviceTaint("k", "v", draw(st.sampled_from(["NoSchedule", "None"]))),)
        if draw(st.booleans()):
            fields["counters"] = {"mem": draw(st.integers(1, 3))}
        devices.append(device(f"d{number}", **fields))
    room = draw(st.integers(1, 5))
    return [
        slice_of("n1", [], counters={"mem": room}, name="counters", slices=2),
        slice_of("n1", devices, name="devices", slices=2),
    ]


def text_of(number: int) -> str:
    there = f"device.attributes['{DRIVER}']"
    return f"has({there}.n) && {there}.n == {number}"


def has_number(number: int) -> Callable[[Device], bool]:
    return lambda device: "n" in device.attributes and device.attributes["n"].int_value == number


PREDICATES = {text_of(number): has_number(number) for number in (0, 1)}


def parts() -> st.SearchStrategy[dict[str, Any]]:
    fields = {
        "selectors": st.sampled_from([(), (), *(selectors(text) for text in PREDICATES)]),
        "count": st.integers(1, 2),
        "tolerations": st.sampled_from([(), (DeviceToleration("k", "Exists"),)]),
        "capacity": st.sampled_from([None, None, capacity(m=1), capacity(m=2)]),
        "allocation_mode": st.sampled_from(["", "", "", ALL_DEVICES]),
    }
    return st.fixed_dictionaries(fields)


def requests(name: str) -> st.SearchStrategy[DeviceRequest]:
    exact = st.tuples(parts(), st.sampled_from([None, None, True])).map(
        lambda drawn: exactly(name, **drawn[0], admin_access=drawn[1])
    )
    choices = st.lists(parts(), min_size=2, max_size=2).map(lambda drawn: alternatives(name, *drawn))
    return st.one_of(exact, exact, choices)


@st.composite
def claims(draw: st.DrawFn) -> list[Any]:
    drawn = []
    for number in range(draw(st.integers(1, 2))):
        wanted = [draw(requests(f"r{i}")) for i in range(draw(st.integers(1, 2)))]
        kind = draw(st.sampled_from([None, None, "match_attribute", "distinct_attribute"]))
        concerned = draw(st.sampled_from([(), ("r0",)]))
        constraints = [DeviceConstraint(concerned, **{kind: f"{DRIVER}/n"})] if kind else []
        drawn.append(claim(f"c{number}", *wanted, constraints=constraints))
    return drawn


@given(slices=pools(), wanted=claims(), used=st.sets(st.integers(0, 4), max_size=2))
def test_solutions_are_valid_and_found_wherever_one_exists(
    slices: list[Any], wanted: list[Any], used: set[int]
) -> None:
    there = [
        each.name for part in slices for each in part.spec.devices if not each.allow_multiple_allocations
    ]
    taken = [there[i] for i in sorted(used) if i < len(there)]
    checker = Checker(slices, wanted, PREDICATES, taken)
    try:
        picks = search(slices, wanted, held(*taken)).run()
    except AllocationError:
        # All of some devices, which a constraint does not let go together.
        assert any(asks_for_all(each) for each in wanted if each.spec.devices.constraints)
        return
    if picks is not None:
        answer = [[given_by(pick) for pick in part] for part in picks]
        assert checker.problem(answer) is None
    else:
        assert all(checker.problem(tried) for tried in checker.every_answer())


def given_by(pick: Pick) -> Given:
    request, _, alternative = pick.query.name.partition("/")
    return Given(request, alternative, pick.offered.device.name)


def asks_for_all(claim: ResourceClaim) -> bool:
    return any(
        part.allocation_mode == ALL_DEVICES
        for request in claim.spec.devices.requests
        for part in (request.exactly, *request.first_available)
        if part is not None
    )
