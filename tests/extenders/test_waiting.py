"""While an extender has not answered: events, timers and the binding of other pods go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from attrs import define, field

from schedframe import Handle, InMemoryCluster, Pod, Scheduler, Status, ThreadExecutor, hookimpl
from schedframe.cluster import WatchEvent
from schedframe.cycle.messages import Question
from tests.cycle.build import PROFILE, make_node, make_pod

from .server import FakeExtender
from .test_bad_servers import GPU, config, extender, wants_gpu

LONG = 30.0


@define(eq=False)
class Hold:
    """Lets the pod ``held`` wait in permit."""

    args: None
    handle: Handle

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return Status.wait(LONG) if pod.name == "held" else None


@define(eq=False)
class World:
    """A scheduler in a thread of its own, and an extender that answers when it is released."""

    server: FakeExtender = field(factory=FakeExtender)
    cluster: InMemoryCluster = field(factory=InMemoryCluster)
    scheduler: Scheduler = field(init=False)
    _changed: threading.Condition = field(factory=threading.Condition)
    _thread: threading.Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        kept = {"NodeNames": ["node-0", "node-1"]}
        self.server.answers["/x/filter"] = [{"wait": True, "body": kept}]
        for i in range(3):
            self.cluster.apply(make_node(f"node-{i}", cpu=8, **{GPU: 4}))
        self.scheduler = Scheduler(
            self.cluster,
            config(extender(self.server.url, "x", httpTimeout="30s")),
            executor=ThreadExecutor(2),
            plugins={"Hold": Hold},
        )
        self.cluster.watch(self._on_event)
        self._thread = threading.Thread(target=self.scheduler.run)
        self._thread.start()

    def _on_event(self, event: WatchEvent) -> None:
        with self._changed:
            self._changed.notify_all()

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition that an event of the cluster makes true."""
        with self._changed:
            assert self._changed.wait_for(condition, LONG)

    def in_core(self, action: Callable[[], object]) -> None:
        """Run *action* in the core; wait for its end."""
        done = threading.Event()

        def run() -> None:
            action()
            done.set()

        self.scheduler.core.inbox.put(Question(run))
        assert done.wait(LONG)

    def node_of(self, name: str) -> str | None:
        pod = self.cluster.get("Pod", f"default/{name}")
        return pod.spec.node_name if pod is not None else None

    def is_nominated(self, name: str) -> bool:
        pod = self.cluster.get("Pod", f"default/{name}")
        return pod is not None and bool(pod.status.nominated_node_name)

    def condition_of(self, name: str) -> str:
        conditions = self.cluster.get("Pod", f"default/{name}").status.conditions
        return next((each.message for each in conditions), "")

    def ask(self) -> None:
        """Let the scheduler ask the extender about a pod."""
        self.cluster.create(wants_gpu())
        assert self.server.asked.wait(LONG)

    def close(self) -> None:
        self.server.close()
        self.scheduler.stop()
        self._thread.join(LONG)
        self.scheduler.close()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def test_other_pods_are_bound(world: World) -> None:
    core = world.scheduler.core
    plugin = core.frameworks[PROFILE].plugin("Hold")
    assert plugin is not None
    world.cluster.create(make_pod("held", uid="held"))
    world.until(lambda: world.is_nominated("held"))
    world.ask()
    plugin.handle.waiting_pods.get("held").allow("Hold")
    world.until(lambda: bool(world.node_of("held")))
    assert not world.node_of("gpu")
    world.server.released.set()
    world.until(lambda: world.node_of("gpu") in ("node-0", "node-1"))


def test_timers_are_called(world: World) -> None:
    core, called = world.scheduler.core, threading.Event()
    world.ask()
    world.in_core(lambda: core.timers.add(core.clock() + 0.01, called.set))
    assert called.wait(LONG)
    assert not world.server.released.is_set()


def test_a_node_that_is_gone_is_not_chosen(world: World) -> None:
    world.ask()
    world.cluster.delete("Node", "node-0")
    world.in_core(lambda: None)
    assert world.scheduler.core.cache.table.num_nodes == 2
    world.server.released.set()
    world.until(lambda: world.node_of("gpu") == "node-1")


def test_without_any_node_left_the_pod_waits(world: World) -> None:
    world.ask()
    for name in ("node-0", "node-1"):
        world.cluster.delete("Node", name)
    world.in_core(lambda: None)
    world.server.released.set()
    world.until(lambda: world.condition_of("gpu").startswith("0/1 nodes are available"))
    assert not world.node_of("gpu")


def test_a_node_that_no_longer_fits_is_not_chosen(world: World) -> None:
    world.ask()
    world.cluster.apply(make_node("node-0", cpu=8))  # without the resource
    world.in_core(lambda: None)
    world.server.released.set()
    world.until(lambda: world.node_of("gpu") == "node-1")


def test_a_pod_that_was_deleted_takes_no_room(world: World) -> None:
    world.ask()
    world.cluster.delete("Pod", "default/gpu")
    world.in_core(lambda: None)
    world.server.released.set()
    world.cluster.create(make_pod("next", uid="next"))
    world.until(lambda: bool(world.node_of("next")))
    assert set(world.scheduler.core.cache.states) == {"next"}


def test_a_fault_in_a_message_is_raised_where_messages_are_handled(world: World) -> None:
    world.ask()
    core = world.scheduler.core

    def fail() -> None:
        raise ZeroDivisionError

    hooked: list[type[BaseException]] = []
    before, threading.excepthook = threading.excepthook, lambda args: hooked.append(args.exc_type)
    try:
        core.inbox.put(Question(fail))
        world.server.released.set()
        world._thread.join(LONG)
    finally:
        threading.excepthook = before
    assert hooked == [ZeroDivisionError]
    assert world.node_of("gpu") in ("node-0", "node-1")
