"""Ctrl-C in a hook reaches the caller, and no pod is lost; what a plugin cancelled itself is its fault.

The same holds for all that is no ``Exception``.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from schedframe import (
    Action,
    ClusterEvent,
    Code,
    Depends,
    EventRegistration,
    EventResource,
    InputError,
    Status,
    ThreadExecutor,
)
from schedframe.cycle import Meter, Tuning
from schedframe.queue import QueueingHint

from .build import World, make_node, make_pod, plugin_class
from .pod_groups.helpers import GANGS, group, node, nodes_of, pod, scheduler_of

HOOKS: dict[str, Callable[[Any], Any]] = {
    "pre_enqueue": lambda stop: lambda self, pod: stop(),
    "queue_sort_key": lambda stop: lambda self, pod_info: stop() or pod_info.initial_attempt,
    "pre_filter": lambda stop: lambda self, state, pod, nodes: stop(),
    "filter": lambda stop: lambda self, state, pod, node_info: stop(),
    "pre_score": lambda stop: lambda self, state, pod, nodes: stop(),
    "score": lambda stop: lambda self, state, pod, node_info: stop() or 1,
    "reserve": lambda stop: lambda self, state, pod, node_name: stop(),
    "permit": lambda stop: lambda self, state, pod, node_name: stop(),
    "pre_bind": lambda stop: lambda self, state, pod, node_name: stop(),
    "post_bind": lambda stop: lambda self, state, pod, node_name: stop(),
}


class Own(BaseException):
    """An interruption that is not built in."""


def in_group() -> BaseException:
    return BaseExceptionGroup("both", [KeyboardInterrupt(), ValueError()])


INTERRUPTIONS: dict[type[BaseException], Callable[[], BaseException]] = {
    each: each for each in (KeyboardInterrupt, SystemExit, GeneratorExit, Own)
}
INTERRUPTIONS[BaseExceptionGroup] = in_group


class Interrupt:
    """Raises an interruption at one of its calls."""

    def __init__(self, at: int, error: Callable[[], BaseException]) -> None:
        self.calls, self.at, self.error = 0, at, error

    def __call__(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            raise self.error()


@pytest.mark.parametrize("error", INTERRUPTIONS)
@pytest.mark.parametrize("at", [1, 4])
@pytest.mark.parametrize("hook", HOOKS)
def test_no_pod_is_lost(hook: str, at: int, error: type[BaseException]) -> None:
    fake = plugin_class(**{hook: HOOKS[hook](Interrupt(at, INTERRUPTIONS[error]))})
    only = {"queueSort": ["Fake"]} if hook == "queue_sort_key" else {}
    world = World({"Fake": fake}, only=only)
    world.create(make_node("a", cpu=4), make_node("b", cpu=4))
    names = [f"p{number}" for number in range(6)]
    world.create(*[make_pod(name, cpu=1) for name in names])
    with pytest.raises(error):
        world.settle()
    world.check()
    world.settle()
    world.pass_time(60)
    assert all(world.node_of(name) for name in names)
    assert world.scheduler.core.cache.pod_count == 6
    assert not world.scheduler.core.queue.in_flight.flights


@pytest.mark.parametrize("at", [1, 4])
@pytest.mark.parametrize("hook", HOOKS)
def test_cancelled_error_is_a_fault_of_the_plugin(hook: str, at: int) -> None:
    """It ended the scheduler, and silently where a task drives it."""
    fake = plugin_class(**{hook: HOOKS[hook](Interrupt(at, CancelledError))})
    only = {"queueSort": ["Fake"]} if hook == "queue_sort_key" else {}
    world = World({"Fake": fake}, only=only)
    world.create(make_node("a", cpu=4), make_node("b", cpu=4))
    names = [f"p{number}" for number in range(6)]
    world.create(*[make_pod(name, cpu=1) for name in names])
    world.settle()
    world.pass_time(60)
    if hook == "pre_enqueue":  # an event brings the pod back that a failed gate holds
        for name in names:
            world.change_pod(name, labels={"changed": "yes"})
        world.settle()
    assert all(world.node_of(name) for name in names)
    assert {status.plugin for status, _ in world.faults} == {"Fake"}


@pytest.mark.parametrize("observers", [[], [Meter()]], ids=["plain", "timed"])
def test_cancelled_error_of_the_only_bind_plugin_is_its_fault(observers: list[Meter]) -> None:
    stop = Interrupt(1, CancelledError)
    only_bind = plugin_class(
        bind=lambda self, state, pod, node_name: stop() or self.handle.cluster.bind(pod, node_name)
    )
    world = World({"Fake": only_bind}, only={"bind": ["Fake"]}, options={"observers": observers})
    world.create(make_node("a", cpu=4), make_pod("p", cpu=1))
    world.settle()
    assert [status.plugin for status, _ in world.faults] == ["Fake"]
    world.pass_time(60)
    assert stop.calls == 2


def test_room_is_given_back_after_reserve() -> None:
    """The pod waits for its backoff; another takes the room by then."""
    undone: list[str] = []
    stop = Interrupt(1, KeyboardInterrupt)
    fake = plugin_class(
        reserve=lambda self, state, pod, node_name: stop(),
        unreserve=lambda self, state, pod, node_name: undone.append(pod.name),
    )
    world = World({"Fake": fake})
    world.create(make_node("a", cpu=1), make_pod("first", cpu=1))
    with pytest.raises(KeyboardInterrupt):
        world.settle()
    assert undone == ["first"]
    assert world.where("first") == "error_backoff"
    world.create(make_pod("second", cpu=1))
    world.settle()
    assert (world.node_of("first"), world.node_of("second")) == ("", "a")


def test_hint_is_asked_again() -> None:
    """An event whose hint was interrupted still brings the pod back."""
    stop = Interrupt(1, KeyboardInterrupt)
    added = ClusterEvent(EventResource.NODE, Action.ADD)

    def hint(pod: Any, old: Any, new: Any) -> QueueingHint:
        stop()
        return QueueingHint.QUEUE

    fake = plugin_class(
        events_to_register=lambda self: (EventRegistration(added, hint),),
        filter=lambda self, state, pod, node_info: (
            None if node_info.name == "b" else Status(Code.UNSCHEDULABLE, ("not here",))
        ),
    )
    world = World({"Fake": fake})
    world.create(make_node("a"), make_pod("p"))
    world.settle()
    world.create(make_node("b"))
    with pytest.raises(KeyboardInterrupt):
        world.settle()
    world.settle()
    world.pass_time(60)
    assert world.node_of("p") == "b"


@pytest.mark.parametrize("at", range(1, 5))
def test_class_that_was_being_evaluated_is_dropped(at: int) -> None:
    """A filter is interrupted while the class of a pod takes in changed nodes: all of them count later."""
    stop = Interrupt(0, KeyboardInterrupt)

    def filter_(self: Any, state: Any, pod: Any, node_info: Any) -> Status | None:
        stop()
        return None if node_info.name > "c" else Status(Code.UNSCHEDULABLE, ("not here",))

    fake = plugin_class(depends_on=Depends.NODE_OBJECT, pod_signature=lambda self, pod: 1, filter=filter_)
    world = World({"Fake": fake}, options={"tuning": Tuning(verify=1.0)})
    world.create(make_node("a"), make_node("d", cpu=1), make_pod("p0", cpu=1))
    world.settle()
    world.create(make_node("b"), make_node("e", cpu=1), make_pod("p1", cpu=1))
    stop.at = stop.calls + at
    for _ in range(2):
        with suppress(KeyboardInterrupt):
            world.settle()
        world.pass_time(60)
    world.create(make_pod("p2"))
    world.settle()
    assert stop.calls >= stop.at
    assert [world.node_of(name) for name in ("p0", "p1")] == ["d", "e"]
    assert world.node_of("p2") in ("d", "e")
    assert all(isinstance(status.error, KeyboardInterrupt) for status, _ in world.faults)


def test_members_of_a_group_are_requeued() -> None:
    stop = Interrupt(2, KeyboardInterrupt)
    fake = plugin_class(filter=lambda self, state, pod, node_info: stop())
    cluster, scheduler, clock = scheduler_of(
        node("n", cpu=4), group("g", 2), gates=GANGS, plugins={"Fake": fake}
    )
    cluster.create(pod("a", "g", cpu=1))
    cluster.create(pod("b", "g", cpu=1))
    with pytest.raises(KeyboardInterrupt):
        scheduler.run_until_idle()
    for _ in range(3):
        clock.advance(60)
        scheduler.run_until_idle()
    assert nodes_of(cluster) == {"a": "n", "b": "n"}
    assert scheduler.core.cache.pod_count == 2


def test_thread_that_ends_takes_no_pod_with_it() -> None:
    """The same in threads, as the contract of executors has it."""
    stop = Interrupt(1, SystemExit)
    fake = plugin_class(pre_bind=lambda self, state, pod, node_name: stop())
    executor = ThreadExecutor(1)
    world = World({"Fake": fake}, executor=executor)
    world.create(make_node("a"), make_pod("p"))
    world.settle()
    world.pass_time(60)
    assert world.node_of("p") == "a"
    executor.close()


def test_observer_of_another_kind_is_refused() -> None:
    """It was reported as a fault of the plugin that happened to be called first."""
    with pytest.raises(InputError, match="observer"):
        World(options={"observers": [lambda *args: None]})
