"""Nothing is sent to a node while the view of the cluster is known to be stale; in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from schedframe import Status, hookimpl
from schedframe.cluster.kubernetes.reflector import CAUGHT_UP_SECONDS, QUIET_SECONDS_BUSY
from schedframe.testing import node, pod
from schedframe.testing.api_server import Fault
from schedframe.why import explain

from .driven_world import DrivenWorld, node_of

NODES = tuple(f"n{number}" for number in range(6))
STAYS = "n0"
"""The only node that an outage leaves."""
REPLACED = NODES[1:]


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[DrivenWorld]:
    world = DrivenWorld(plugins=getattr(request, "param", None))
    for name in NODES:
        world.server.create(node(name).allocatable(cpu="4", pods="110"))
    world.scheduler.start()
    world.drive(2)
    yield world
    world.check_history()
    world.close()


def create(world: DrivenWorld, count: int, prefix: str = "p", cpu: str = "100m") -> None:
    for number in range(count):
        world.server.create(pod(f"{prefix}{number}").requests(cpu=cpu))


def where(world: DrivenWorld) -> set[str]:
    return {node_of(found) for found in world.pods().values()}


def sent_to(world: DrivenWorld) -> set[str]:
    return {bind.node_name for bind in world.sent}


def outage(
    world: DrivenWorld, changes: Callable[[], None], *, seconds: float = 10, compact: bool = True
) -> None:
    """The server is away for *seconds*; then things are not what they were."""
    world.loop.run(world.server.shut_down())
    world.drive(seconds)
    changes()
    world.check_history()
    if compact:
        world.server.compact()
    world.loop.run(world.server.listen())


def lose_nodes(world: DrivenWorld) -> None:
    for name in REPLACED:
        world.server.delete("Node", name)


def replace_nodes(world: DrivenWorld) -> None:
    lose_nodes(world)
    for name in REPLACED:
        world.server.create(node(name).allocatable(cpu="100m", pods="110"))


def late(world: DrivenWorld, resource: str, answer: Fault, until: float) -> None:
    """Let requests for a resource go wrong until a moment of the loop."""
    world.server.faults.add(answer, "*", resource, times=None, when=lambda _: world.loop.time() < until)


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize("seconds", [0.0, 0.9, 10.0, 90.0])
def test_no_pod_goes_to_a_node_that_an_outage_removed(
    world: DrivenWorld, seconds: float, compact: bool
) -> None:
    def change() -> None:
        lose_nodes(world)
        create(world, 20)

    outage(world, change, seconds=seconds, compact=compact)
    world.drive(20)
    assert sent_to(world) == {STAYS}
    assert where(world) == {STAYS}


@pytest.mark.parametrize("late_kind", ["nodes", "persistentvolumeclaims", "pods"])
@pytest.mark.parametrize(
    "answer", [Fault.answer(503), Fault.answer(403), Fault.disconnect(), Fault.answer(500)], ids=str
)
def test_a_kind_that_can_be_read_later_than_others_is_waited_for(
    world: DrivenWorld, late_kind: str, answer: Fault
) -> None:
    def change() -> None:
        lose_nodes(world)
        create(world, 20)

    late(world, late_kind, answer, until=world.loop.time() + 10 + 8)
    outage(world, change)
    world.drive(7)
    assert not world.sent
    waiting = world.scheduler.pending()
    if late_kind != "pods":
        assert all("pods wait for a current view" in waiting.messages[each.key] for each in waiting)
        assert len(waiting) == 20
        explanation = explain(world.scheduler, "default/p0")
        assert "pods wait for a current view" in str(explanation)
    world.drive(8)
    assert where(world) == {STAYS}
    assert not world.faults


def test_it_writes_nothing_about_the_pods_that_wait(world: DrivenWorld) -> None:
    late(world, "nodes", Fault.answer(503), until=world.loop.time() + 30)
    outage(world, lambda: create(world, 20))
    world.server.requests.clear()
    world.drive(15)
    written = [each for each in world.server.requests if each.verb in ("patch", "create", "update")]
    assert not written
    world.drive(15)
    assert len(world.sent) == 20


def test_decisions_go_on_when_a_kind_stays_away_too_long(
    world: DrivenWorld, caplog: pytest.LogCaptureFixture
) -> None:
    late(world, "services", Fault.answer(503), until=1e9)
    outage(world, lambda: create(world, 20))
    world.drive(29)
    assert not world.sent
    world.drive(8)
    assert len(world.sent) == 20
    assert "pods are decided on a stale view from now on" in caplog.text
    description = world.scheduler.core.view.description()
    assert description is not None
    assert description.startswith("pods are decided on a stale view (Service for ")
    create(world, 5, "later")
    world.drive(12)
    assert len(world.sent) == 25


def test_binds_without_an_answer_are_not_repeated_to_nodes_that_are_gone(world: DrivenWorld) -> None:
    """They hang when the server dies; after 65 s none of them can take effect any more."""
    world.server.faults.add(Fault.hang(), "create", "pods/binding", times=None)
    create(world, 40)
    world.drive(1)
    sent = len(world.sent)
    assert sent == 40
    world.server.faults.clear()
    outage(world, lambda: lose_nodes(world))
    world.drive(5)
    assert {each.node_name for each in world.sent[sent:]} <= {STAYS}
    world.drive(120)
    assert {each.node_name for each in world.sent[sent:]} == {STAYS}
    assert where(world) == {STAYS}
    world.check_quiet()


def test_nodes_that_come_back_smaller_get_nothing_that_was_decided_before(world: DrivenWorld) -> None:
    """Their names are the same; some binds hang when the server dies, others wait to be sent."""
    world.server.faults.add(Fault.hang(), "create", "pods/binding", times=None)
    create(world, 200)
    world.drive(0.5)
    world.server.faults.clear()
    sent = len(world.sent)
    outage(world, lambda: replace_nodes(world))
    world.drive(150)
    world.check_history()
    counts = [sum(node_of(each) == name for each in world.pods().values()) for name in NODES]
    assert counts == [40, 1, 1, 1, 1, 1]
    assert len(world.sent) > sent
    world.check_quiet()


class Asks:
    """Lets each pod wait in permit."""

    @hookimpl
    def permit(self, pod: object) -> Status:
        return Status.wait(300)


def change_nothing(world: DrivenWorld) -> None:
    pass


@pytest.mark.parametrize("change", [lose_nodes, replace_nodes, change_nothing])
@pytest.mark.parametrize("world", [[Asks]], indirect=True)
def test_what_permit_releases_waits_and_goes_to_no_node_that_is_gone(
    world: DrivenWorld, change: Callable[[DrivenWorld], None]
) -> None:
    create(world, 12)
    world.drive(1)
    scheduler = world.scheduler
    assert len(scheduler.core.waiting) == 12
    late(world, "nodes", Fault.answer(503), until=world.loop.time() + 15)
    outage(world, lambda: change(world))
    world.drive(2)
    for waiting in [*scheduler.core.waiting]:
        waiting.allow("Asks")
    world.drive(1)
    assert not world.sent
    pending = scheduler.pending()
    assert all("is not bound to" in pending.messages[each.key] for each in pending)
    assert len(pending) == 12
    assert scheduler.binds_under_way() == 0
    assert scheduler.next_deadline() is None
    scheduler.core.paused.check_invariants()
    world.drive(10)
    assert len(world.sent) == (12 if change is change_nothing else len(sent_to(world) & {STAYS}) * 2)
    assert change is change_nothing or not sent_to(world) & set(REPLACED)


def test_a_quiet_watch_is_opened_again_within_hundredths(world: DrivenWorld) -> None:
    held = []
    for _ in range(2000):
        world.drive(0.01)
        if world.cluster.view.holds:
            held.append(world.loop.time())
    assert len(world.views) >= 4
    assert len(held) <= 2 * len(world.views) * (CAUGHT_UP_SECONDS / 0.01)
    assert {why for view in world.views for why in view.stale.values()} == {"its watch is quiet"}


def test_a_resumed_watch_is_current_behind_its_backlog(world: DrivenWorld) -> None:
    """The connections died silently; the pod is decided for what the backlog leaves."""

    def is_resumed(request: Any) -> bool:
        return "sendInitialEvents" not in request.query

    world.drive(QUIET_SECONDS_BUSY)
    world.server.faults.add(Fault.silence(), "watch", times=2, when=is_resumed)
    world.drive(QUIET_SECONDS_BUSY + 0.1)
    lose_nodes(world)
    create(world, 20)
    world.drive(QUIET_SECONDS_BUSY + 1)
    assert where(world) == {STAYS}


def test_watches_that_end_in_good_order_cost_nothing(world: DrivenWorld) -> None:
    for number in range(20):
        world.server.faults.add(Fault.end(events=1), "watch", "nodes")
        world.server.apply(node(STAYS).labels(n=str(number)).allocatable(cpu="4", pods="110"))
        world.drive(2)
    holds = [
        view for view in world.views if view.holds and set(view.stale.values()) != {"its watch is quiet"}
    ]
    assert not holds


def test_an_end_in_good_order_that_is_not_followed_by_a_watch_is_stale(world: DrivenWorld) -> None:
    world.drive(QUIET_SECONDS_BUSY)
    world.server.faults.add(Fault.end(events=1), "watch", "nodes")
    world.drive(QUIET_SECONDS_BUSY + 0.1)
    world.server.faults.add(Fault.hang(), "*", "nodes")
    world.server.apply(node(STAYS).labels(n="1").allocatable(cpu="4", pods="110"))
    world.drive(0.5)
    assert not world.cluster.view.is_stale("Node")
    world.drive(0.7)
    assert world.cluster.view.is_stale("Node")
    world.drive(20)
    assert not world.cluster.view.is_stale("Node")


def test_the_server_that_comes_back_is_used_at_once(world: DrivenWorld) -> None:
    """The first kind that is answered wakes all others."""
    outage(world, lambda: create(world, 20), seconds=120)
    world.drive(1)
    assert len(world.sent) == 20
