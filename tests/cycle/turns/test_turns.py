"""Two schedulers decide alike in the same turns, whatever threads, loops, extenders, reloads and faults did.

The first one runs in a thread while another thread changes its world; the second one has the record alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import hookimpl
from schedframe.cluster import ViewChange, WatchEvent
from schedframe.cycle.messages import (
    Activation,
    BindLimit,
    Reload,
    Reported,
    Rest,
    StoppedBinding,
    Verdict,
    WorkEnded,
    WorkKind,
)
from tests.cycle.build import World as CycleWorld
from tests.cycle.build import make_node, make_pod

from .recording import Answer, Handled, JumpingClock, Record
from .worlds import CONFIGURATIONS, KINDS, Happening, World, lived, lived_again

WORLDS = pytest.mark.parametrize(
    ("remote", "asks"), [(False, False), (True, False), (False, True), (True, True)]
)
DEFAULT = "default-scheduler"


def happening(method: Callable[..., None], *drawn: st.SearchStrategy[Any]) -> st.SearchStrategy[Happening]:
    """Calls of a method of the world."""
    return st.tuples(*drawn).map(lambda arguments: lambda world: method(world, *arguments))


PODS, NODES = st.integers(0, 7), st.integers(0, 2)
HAPPENINGS = st.lists(
    happening(
        World.create,
        PODS,
        st.sampled_from(KINDS),
        st.sampled_from([0, 1, 3]),
        st.sampled_from([0, 0, 10]),
        st.sampled_from([DEFAULT, DEFAULT, "other"]),
    )
    | happening(World.add_node, NODES, st.sampled_from([2, 4]))
    | happening(World.delete, PODS)
    | happening(World.remove_node, NODES)
    | happening(World.decide, st.booleans())
    | happening(World.activate)
    | happening(World.rest)
    | happening(World.jump, st.sampled_from([1, 6, 30, 400]))
    | happening(World.reload, st.integers(0, len(CONFIGURATIONS) - 1))
    | happening(World.refuse, st.sampled_from(["", "n0"]), st.booleans())
    | happening(World.hold, st.booleans())
    | happening(World.limit, st.integers(0, 3))
    | happening(World.settle)
    | happening(World.equip),
    max_size=30,
)
TWO_NODES: list[Happening] = [partial(World.add_node, number=number, cpu=4) for number in range(2)]


@WORLDS
@given(happenings=HAPPENINGS)
def test_two_schedulers_decide_alike_in_the_same_turns(
    remote: bool, asks: bool, happenings: list[Happening]
) -> None:
    record, began = lived([*TWO_NODES, World.equip, *happenings], remote=remote, asks=asks)
    assert lived_again(record, began, remote=remote, asks=asks) == record.decisions


def pod(number: int, kind: str, *, cpu: int = 1, priority: int = 0, scheduler: str = DEFAULT) -> Happening:
    return partial(World.create, number=number, kind=kind, cpu=cpu, priority=priority, scheduler=scheduler)


def until(condition: Callable[[World], bool]) -> Happening:
    return partial(World.until, condition=condition)


def paused(count: int) -> Callable[[World], bool]:
    return lambda world: len(world.scheduler.core.paused) == count


def pending(count: int) -> Callable[[World], bool]:
    return lambda world: len(world.scheduler.core.pending) == count


EVENTFUL: list[Happening] = [
    *TWO_NODES,
    pod(0, "paused", cpu=3),
    pod(1, "paused", cpu=3),
    until(paused(2)),
    pod(2, "plain", cpu=3, priority=10),  # one of them is stopped for it
    until(lambda world: len(world.scheduler.core.paused) < 2),
    partial(World.jump, seconds=400),
    until(lambda world: world.node_of(2) != ""),
    partial(World.delete, number=0),
    partial(World.delete, number=1),
    pod(3, "waits"),
    until(lambda world: len(world.scheduler.core.waiting) == 1),
    partial(World.decide, allow=True),
    until(lambda world: world.node_of(3) != ""),
    pod(4, "faulty"),
    World.settle,
    World.rest,
    World.activate,
    partial(World.hold, holds=True),
    partial(World.hold, holds=False),
    partial(World.limit, limit=1),
    pod(5, "plain", scheduler="other"),
    World.settle,
    partial(World.reload, index=1),
    until(lambda world: world.node_of(5) != ""),
    partial(World.refuse, node="", fails=True),
    pod(6, "plain"),
    World.settle,
]


def test_an_eventful_life_is_lived_again() -> None:
    """Else the random lives might be without events."""
    record, began = lived(EVENTFUL, remote=True, asks=True)
    handled = [each.message for each in record.inputs if isinstance(each, Handled)]
    assert {type(message) for message in handled} >= {
        WatchEvent,
        ViewChange,
        WorkEnded,
        BindLimit,
        Verdict,
        Activation,
        Reload,
        Rest,
        StoppedBinding,
    }
    kinds = {message.kind for message in handled if isinstance(message, WorkEnded)}
    assert kinds >= {WorkKind.BIND, WorkKind.WRITE}
    answers = [each for each in record.inputs if isinstance(each, Answer)]
    assert any(each.error is not None for each in answers)
    assert any(each.value is True for each in answers)
    assert lived_again(record, began, remote=True, asks=True) == record.decisions


DEVICES: list[Happening] = [
    *TWO_NODES,
    World.equip,
    pod(0, "failing-devices"),  # its claim is written, and then left again
    until(lambda world: world.cluster.get("ResourceClaim", "default/c0").status.allocation is not None),
    World.settle,
    partial(World.delete, number=0),
    pod(1, "devices"),
    pod(3, "devices"),  # shares the claim
    until(lambda world: world.node_of(1) != "" and world.node_of(3) != ""),
    pod(2, "devices"),
    partial(World.jump, seconds=6),
    until(lambda world: world.node_of(2) != ""),
    pod(4, "volume"),
    until(paused(1)),  # for a controller that binds the claim
    pod(6, "volume"),
    until(paused(2)),
    partial(World.jump, seconds=400),
    partial(World.jump, seconds=400),
    until(paused(0)),
    World.settle,
]


@pytest.mark.parametrize("remote", [False, True], ids=["threads", "loop"])
def test_devices_and_volumes_are_handed_out_alike(remote: bool) -> None:
    """What pre_bind writes in threads decides which devices and volumes are free."""
    record, began = lived(DEVICES, remote=remote, asks=False)
    reports = [
        each.message
        for each in record.inputs
        if isinstance(each, Handled) and isinstance(each.message, Reported)
    ]
    assert {each.name for each in reports} == {"DynamicResources", "VolumeBinding"}
    assert lived_again(record, began, remote=remote, asks=False) == record.decisions


class Timed:
    """Reads the clock in two hooks of the cycle."""

    readings: ClassVar[list[tuple[str, float]]] = []

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    @hookimpl
    def filter(self) -> None:
        self.readings.append(("filter", self.handle.clock()))

    @hookimpl
    def reserve(self) -> None:
        self.readings.append(("reserve", self.handle.clock()))


def test_time_stands_still_within_a_turn() -> None:
    Timed.readings = []
    clock = JumpingClock(Record())
    world = CycleWorld({"Timed": Timed}, clock=clock)  # type: ignore[arg-type]  # one that runs
    world.create(make_node("a"), make_node("b"), make_pod("p"), make_pod("q"))
    assert world.scheduler.run_until_idle() == 2
    hooks = [hook for hook, _ in Timed.readings]
    assert hooks == ["filter", "filter", "reserve"] * 2
    times = [at for _, at in Timed.readings]
    assert times[0] == times[1] == times[2] < times[3] == times[4] == times[5]
