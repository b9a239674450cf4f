"""The limits of the network package, each a little below and a little above, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from schedframe.api import Node, Pod, from_manifest
from schedframe.cluster import BindRefused
from schedframe.cluster.kubernetes import reflector as reflector_module
from schedframe.cluster.kubernetes.binder import BIND_DEADLINES, GIVE_UP_SECONDS, SERVER_FAILURES
from schedframe.cluster.kubernetes.client import DISTRUST_SECONDS
from schedframe.cluster.kubernetes.lanes import REQUESTS_AT_A_TIME, SLOW_SECONDS
from schedframe.cluster.kubernetes.listing import PAGE_OBJECTS, WATCH_SECONDS
from schedframe.cluster.kubernetes.reflector import LEAST_SECONDS_OF_WATCH, QUIET_SECONDS, QUIET_SECONDS_BUSY
from schedframe.cluster.kubernetes.writer import WRITE_SECONDS
from schedframe.testing import node, pod
from schedframe.testing.api_server import Fault, Request

from .driven_world import DrivenWorld

LITTLE = 0.05
"""Seconds below and above a limit."""


@pytest.fixture
def world() -> Iterator[DrivenWorld]:
    made = DrivenWorld()
    yield made
    made.close()


def pod_of(world: DrivenWorld, name: str = "a") -> Pod:
    made = from_manifest(world.server.create(pod(name)), strict=False)
    assert isinstance(made, Pod)
    return made


def asked(world: DrivenWorld, resource: str, verb: str = "*") -> list[Request]:
    return [each for each in world.server.requests if each.resource == resource and verb in ("*", each.verb)]


def follow(world: DrivenWorld, *kinds: str) -> None:
    world.cluster.watch(lambda event: None, kinds)


def watches(world: DrivenWorld, resource: str) -> int:
    """Return the number of watches but for those that were lists."""
    return sum("sendInitialEvents" not in each.query for each in asked(world, resource, "watch"))


# ---- binds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("more", "reads"), [(-LITTLE, 0), (LITTLE, 1)])
def test_a_bind_waits_for_its_answer(world: DrivenWorld, more: float, reads: int) -> None:
    world.server.faults.add(Fault.delay(BIND_DEADLINES[0] + more, applied=True), "create", "pods/binding")
    world.cluster.bind(pod_of(world), "n1")
    assert len(asked(world, "pods/binding")) == 1
    assert len(asked(world, "pods", "get")) == reads


def test_each_bind_without_an_answer_waits_longer(world: DrivenWorld) -> None:
    """Reads back hang, too: otherwise the server is known to be there."""
    world.server.faults.add(Fault.hang(), "create", "pods/binding", times=1)
    world.server.faults.add(Fault.hang(), "get", "pods", times=4)
    world.cluster.bind(pod_of(world), "n1")
    least = sum(BIND_DEADLINES) + BIND_DEADLINES[-1]
    assert least <= world.loop.time() <= least + 10


@pytest.mark.parametrize(("failures", "is_bound"), [(SERVER_FAILURES - 1, True), (SERVER_FAILURES, False)])
def test_a_server_that_fails_each_bind_gets_no_more(
    world: DrivenWorld, failures: int, is_bound: bool
) -> None:
    world.server.faults.add(Fault.answer(500), "create", "pods/binding", times=failures)
    if is_bound:
        world.cluster.bind(pod_of(world), "n1")
    else:
        with pytest.raises(BindRefused):
            world.cluster.bind(pod_of(world), "n1")
    assert len(asked(world, "pods/binding")) == SERVER_FAILURES


@pytest.mark.parametrize(("away", "is_bound"), [(GIVE_UP_SECONDS - 3, True), (GIVE_UP_SECONDS + 10, False)])
def test_a_bind_that_had_no_effect_is_given_up(world: DrivenWorld, away: float, is_bound: bool) -> None:
    target = pod_of(world)
    world.loop.run(world.server.shut_down())
    bind = world.loop.create_task(world.cluster.binder.bind(target, "n1"))
    world.loop.advance(away)
    world.loop.run(world.server.listen())
    world.loop.advance(10)
    assert bind.done()
    assert (bind.exception() is None) == is_bound
    assert len(asked(world, "pods/binding")) == is_bound


# ---- other writes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("more", "requests"), [(-LITTLE, 1), (LITTLE, 2)])
def test_a_write_waits_for_its_answer(world: DrivenWorld, more: float, requests: int) -> None:
    world.server.faults.add(Fault.delay(WRITE_SECONDS + more, applied=True), "delete", "pods")
    world.cluster.delete(pod_of(world))
    assert len(asked(world, "pods", "delete")) == requests
    assert world.server.list("Pod") == []


# ---- lanes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("more", "is_sent"), [(-LITTLE, False), (LITTLE, True)])
def test_slow_requests_hold_up_others_for_a_while(world: DrivenWorld, more: float, is_sent: bool) -> None:
    world.server.faults.add(Fault.delay(60.0), "delete", "pods", times=REQUESTS_AT_A_TIME)
    slow = [pod_of(world, f"slow{number}") for number in range(REQUESTS_AT_A_TIME)]
    tasks = [world.loop.create_task(world.cluster.writer.delete(each)) for each in slow]
    world.loop.pump()
    assert len(asked(world, "pods", "delete")) == REQUESTS_AT_A_TIME
    bind = world.loop.create_task(world.cluster.binder.bind(pod_of(world, "quick"), "n1"))
    world.loop.advance(SLOW_SECONDS + more)
    assert bool(asked(world, "pods/binding")) == is_sent
    for task in (*tasks, bind):
        task.cancel()
    world.loop.run(asyncio.sleep(0))


# ---- connections -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age", "is_new"), [(DISTRUST_SECONDS - LITTLE, False), (DISTRUST_SECONDS, True)])
def test_connections_that_carry_nothing_are_given_up(world: DrivenWorld, age: float, is_new: bool) -> None:
    client = world.cluster.client
    world.loop.run(client.request("GET", "/version"))
    before = client._pool
    world.server.faults.add(Fault.hang(), "get", "pods")
    with pytest.raises(Exception, match="no answer"):
        world.loop.run(client.request("GET", "/api/v1/namespaces/default/pods/a", seconds=age))
    assert (client._pool is not before) == is_new


# ---- reflectors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "resource", "seconds"),
    [("Pod", "pods", QUIET_SECONDS_BUSY), ("Service", "services", QUIET_SECONDS)],
)
def test_a_quiet_watch_is_opened_again(world: DrivenWorld, kind: str, resource: str, seconds: float) -> None:
    world.server.faults.add(
        Fault.silence(), "watch", resource, when=lambda each: "sendInitialEvents" not in each.query
    )
    follow(world, kind)
    world.loop.pump()
    world.loop.advance(seconds - LITTLE)
    assert watches(world, resource) == 1
    world.loop.advance(2 * LITTLE)
    assert watches(world, resource) == 2


def test_a_watch_that_is_not_quiet_stays_until_its_end(world: DrivenWorld) -> None:
    world.server.create(node("n"))
    follow(world, "Node")
    for number in range(int(WATCH_SECONDS / 4)):
        world.server.apply(node("n").labels(n=str(number)))
        world.loop.advance(3.99)
    assert watches(world, "nodes") == 1
    for number in range(3):
        world.server.apply(node("n").labels(m=str(number)))
        world.loop.advance(3.99)
    assert watches(world, "nodes") == 2


@pytest.mark.parametrize(
    ("fault", "most"), [(Fault.end(), 30), (Fault.cut(), 31), (Fault.gone(), 90)], ids=str
)
def test_watches_that_all_end_at_once_do_not_make_it_spin(
    world: DrivenWorld, fault: Fault, most: int
) -> None:
    """The waits grow, as after other failures in a row; a watch that carries something ends that.

    A watch that is cut again when it is resumed is followed by a list, so each event costs three watches: the
    one that is cut, the resumed one, and the one after the list.
    """
    world.server.create(node("n"))
    follow(world, "Node")
    when = "sendInitialEvents"
    world.server.faults.add(fault, "watch", "nodes", times=None, when=lambda each: when not in each.query)
    for number in range(10):
        # A watch that is cut needs an event to be cut in.
        world.server.apply(node("n").labels(n=str(number)))
        world.loop.advance(6)
    assert watches(world, "nodes") <= most
    world.server.faults.clear()
    world.loop.advance(6)
    world.server.apply(node("n").labels(n="last"))
    world.loop.pump()
    (shown,) = world.cluster.list("Node")
    assert isinstance(shown, Node)
    assert shown.labels["n"] == "last"
    world.server.faults.add(Fault.end(), "watch", "nodes")
    before = watches(world, "nodes")
    world.loop.advance(6)
    world.server.apply(node("n").labels(n="more"))
    world.loop.advance(0.5)
    assert watches(world, "nodes") > before


@pytest.mark.parametrize(("seconds", "is_late"), [(LEAST_SECONDS_OF_WATCH - LITTLE, True), (1.0, False)])
def test_a_short_watch_counts_as_a_failure(
    world: DrivenWorld, monkeypatch: pytest.MonkeyPatch, seconds: float, is_late: bool
) -> None:
    monkeypatch.setattr(reflector_module, "WATCH_SECONDS", seconds)
    follow(world, "Service")
    world.loop.advance(seconds + 0.01)
    assert watches(world, "services") == (1 if is_late else 2)


@pytest.mark.parametrize(("count", "pages"), [(PAGE_OBJECTS, 1), (PAGE_OBJECTS + 1, 2)])
def test_pages(world: DrivenWorld, count: int, pages: int) -> None:
    world.server.faults.add(Fault.answer(422), "watch", "services")
    for number in range(count):
        world.server.create({"kind": "Service", "metadata": {"name": f"s{number}"}, "spec": {}})
    assert len(world.cluster.list("Service")) == count
    lists: list[Any] = asked(world, "services", "list")
    assert len(lists) == pages
