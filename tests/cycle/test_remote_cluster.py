"""A cluster behind a network: binds and status writes run on its loop, without threads, a few at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from attrs import define, field

from schedframe import InMemoryCluster, Pod, Scheduler, Status, VirtualClock, hookimpl
from schedframe.api import PodCondition
from schedframe.cluster import OutcomeUnknown, RemoteCluster
from schedframe.cycle.inspection import on_core
from schedframe.cycle.runtime.asyncio_executor import AsyncioExecutor
from schedframe.cycle.runtime.executors import InlineExecutor
from schedframe.errors import ClusterError
from schedframe.framework import BaseExtender, ExtenderVerb
from tests.configurations import configuration

R = TypeVar("R", bound="Remote")


@define(eq=False)
class Remote(InMemoryCluster, RemoteCluster):
    """A cluster in memory that answers on a loop, a moment later."""

    loop: asyncio.AbstractEventLoop = field(factory=asyncio.new_event_loop, kw_only=True)  # type: ignore[assignment]
    binding_limit: int = field(default=3, kw_only=True)  # type: ignore[assignment]  # a test changes it
    on_limit_change: Callable[[int], None] | None = field(default=None, init=False)
    threads: list[str] = field(factory=list, init=False)
    bind_threads: list[str] = field(factory=list, init=False)
    most_at_a_time: int = field(default=0, init=False)
    under_way: int = field(default=0, init=False)
    watched: tuple[str, ...] = field(default=(), init=False)
    latest: list[str] = field(factory=list, init=False)
    check: Callable[[], None] | None = field(default=None, init=False)

    def _later(self, call: Callable[[], None]) -> Awaitable[None] | None:
        self.threads.append(threading.current_thread().name)
        if threading.current_thread().name != "loop":
            call()
            return None

        async def answer() -> None:
            self.under_way += 1
            self.most_at_a_time = max(self.most_at_a_time, self.under_way)
            await asyncio.sleep(0.002)
            self.under_way -= 1
            call()

        return answer()

    def bind(self, pod: Pod, node_name: str) -> Awaitable[None] | None:
        self.bind_threads.append(threading.current_thread().name)
        return self._later(lambda: InMemoryCluster.bind(self, pod, node_name))

    def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> Awaitable[None] | None:
        return self._later(
            lambda: InMemoryCluster.patch_pod_status(
                self, pod, condition=condition, nominated_node_name=nominated_node_name
            )
        )

    def watch(self, handler: Any, kinds: Any = None) -> Any:
        self.watched = tuple(kinds)
        return InMemoryCluster.watch(self, handler, kinds)

    def check_may_write(self) -> None:
        if self.check is not None:
            self.check()

    def get_latest(self, kind: str, key: str) -> Any | None:
        self.latest.append(key)
        return self.get(kind, key)


@pytest.fixture
def cluster() -> Iterator[Remote]:
    with running(Remote()) as made:
        yield made


@contextmanager
def running(made: R) -> Iterator[R]:
    """Give *made* three nodes, and run its loop."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    for name in "abc":
        made.create({"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": room}})
    thread = threading.Thread(target=made.loop.run_forever, name="loop")
    thread.start()
    yield made
    made.loop.call_soon_threadsafe(made.loop.stop)
    thread.join()
    made.loop.close()


def create(cluster: InMemoryCluster, count: int, cpu: str = "100m") -> None:
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}
    for number in range(count):
        cluster.create({"kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": spec})


def placed(cluster: InMemoryCluster) -> int:
    return sum(bool(pod.node_name) for pod in cluster.list("Pod"))


def test_binds_run_on_the_loop_and_no_more_than_the_limit(cluster: Remote) -> None:
    create(cluster, 30)
    with Scheduler(cluster) as scheduler:
        scheduler.run_until_idle()
        assert placed(cluster) == 30
        assert scheduler.binds_under_way() == 0
    assert set(cluster.threads) == {"loop"}
    assert cluster.most_at_a_time == 3


def test_status_is_written_on_the_loop(cluster: Remote) -> None:
    create(cluster, 2, cpu="64")
    with Scheduler(cluster) as scheduler:
        scheduler.run_until_idle()
    assert set(cluster.threads) == {"loop"}
    condition = cluster.list("Pod")[0].status.condition("PodScheduled")
    assert condition is not None
    assert condition.reason == "Unschedulable"
    assert [(each.reason, each.action) for each in cluster.events] == [("FailedScheduling", "Scheduling")] * 2


def test_only_kinds_that_plugins_read_are_watched(cluster: Remote) -> None:
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {
            "multiPoint": {
                "disabled": [{"name": "*"}],
                "enabled": [{"name": n} for n in ("PrioritySort", "InterPodAffinity", "DefaultBinder")],
            }
        },
    }
    config = configuration(profile)
    with Scheduler(cluster, config) as scheduler:
        scheduler.start()
        assert sorted(cluster.watched) == ["Namespace", "Node", "Pod"]
    with Scheduler(cluster) as scheduler:
        scheduler.start()
        assert "PriorityClass" not in cluster.watched
        assert {"PersistentVolume", "PodDisruptionBudget", "Service"} <= {*cluster.watched}


@define(eq=False)
class Binder(BaseExtender):
    """Notes what it is to bind."""

    verbs: frozenset[ExtenderVerb] = frozenset({ExtenderVerb.BIND})
    bound: list[str] = field(factory=list)

    def bind(self, pod: Pod, node_name: str) -> None:
        self.bound.append(pod.name)


@pytest.mark.parametrize("may_write", [True, False])
def test_an_extender_binds_only_while_the_replica_may_write(cluster: Remote, may_write: bool) -> None:
    def check() -> None:
        if not may_write:
            raise ClusterError("this replica does not hold the lease")

    cluster.check = check
    create(cluster, 1)
    binder = Binder("binder")
    with Scheduler(cluster, extenders=[binder]) as scheduler:
        scheduler.run_until_idle()
    assert binder.bound == (["p0"] if may_write else [])
    condition = cluster.list("Pod")[0].status.condition("PodScheduled")
    assert (condition is None) == may_write
    if condition is not None:
        assert condition.message == "this replica does not hold the lease"


def test_an_unknown_outcome_is_verified_at_the_server(cluster: Remote) -> None:
    create(cluster, 1)
    cluster.fail_next("bind", OutcomeUnknown("lost"), applied=True)
    original = InMemoryCluster.bind

    def lost(self: InMemoryCluster, pod: Pod, node_name: str) -> None:
        original(self, pod, node_name)
        raise OutcomeUnknown("lost")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InMemoryCluster, "bind", lost)
        with Scheduler(cluster) as scheduler:
            scheduler.run_until_idle()
    assert placed(cluster) == 1
    assert cluster.latest == ["default/p0"]


@define(eq=False)
class SlowPreBind:
    """Blocks its thread before the bind."""

    @hookimpl
    def pre_bind(self, pod: Pod, node_name: str) -> None:
        assert threading.current_thread().name != "loop"


def test_a_plugin_that_may_block_gets_a_thread(cluster: Remote) -> None:
    create(cluster, 5)
    with Scheduler(cluster, plugins=[SlowPreBind]) as scheduler:
        scheduler.run_until_idle()
    assert placed(cluster) == 5
    assert "loop" not in cluster.bind_threads


@define(eq=False)
class AwaitingPreBind:
    """Asks to be called again, then awaits an answer, which fails for the pods p1 and p2."""

    returns_at_once = True

    calls: list[tuple[str, str]] = field(factory=list)
    """Pod and thread of each call."""

    @hookimpl
    def pre_bind(self, pod: Pod, node_name: str) -> Status | Awaitable[Status | None]:
        is_first = all(name != pod.name for name, _ in self.calls)
        self.calls.append((pod.name, threading.current_thread().name))
        return Status.wait(0.001) if is_first else self._answer(pod.name)

    async def _answer(self, name: str) -> Status | None:
        await asyncio.sleep(0)
        if name == "p1":
            raise ClusterError("no answer")
        return Status.unschedulable("not here") if name == "p2" else None


def messages(cluster: InMemoryCluster) -> dict[str, str]:
    """Return what the pods without a node wait for, by name."""
    conditions = {pod.name: pod.status.condition("PodScheduled") for pod in cluster.list("Pod")}
    return {name: each.message for name, each in conditions.items() if each is not None}


def test_a_pre_bind_that_returns_at_once_needs_no_thread(cluster: Remote) -> None:
    create(cluster, 5)
    plugin, clock = AwaitingPreBind(), VirtualClock()
    with Scheduler(cluster, plugins=[plugin], clock=clock) as scheduler:
        scheduler.run_until_idle()
        assert [placed(cluster), len(plugin.calls)] == [0, 5], "each waits to be called again"
        clock.advance(0.5)  # less than the backoff of those that fail
        scheduler.run_until_idle()
    assert [plugin.calls.count((f"p{number}", "loop")) >= 2 for number in range(5)] == [True] * 5
    assert {thread for _, thread in plugin.calls} == set(cluster.threads) == {"loop"}
    assert sorted(pod.name for pod in cluster.list("Pod") if pod.node_name) == ["p0", "p3", "p4"]
    found = messages(cluster)
    assert "no answer" in found["p1"]
    assert "not here" in found["p2"]


def test_beside_a_pre_bind_that_may_block_it_gets_a_thread(cluster: Remote) -> None:
    create(cluster, 1)
    plugin = AwaitingPreBind([("p0", "")])
    with Scheduler(cluster, plugins=[SlowPreBind, plugin]) as scheduler:
        scheduler.run_until_idle()
    assert placed(cluster) == 1
    assert "loop" not in {thread for _, thread in plugin.calls}


def test_the_executor_can_still_be_chosen(cluster: Remote) -> None:
    create(cluster, 5)
    with Scheduler(cluster, executor=InlineExecutor()) as scheduler:
        assert scheduler.core.binding_limit is None
        scheduler.run_until_idle()
    assert placed(cluster) == 5
    assert set(cluster.threads) == {threading.current_thread().name}


def test_another_loop_gets_no_awaitables_of_the_cluster(cluster: Remote) -> None:
    other = asyncio.new_event_loop()
    thread = threading.Thread(target=other.run_forever, name="other")
    thread.start()
    create(cluster, 5)
    try:
        with Scheduler(cluster, executor=AsyncioExecutor(other)) as scheduler:
            scheduler.run_until_idle()
    finally:
        other.call_soon_threadsafe(other.stop)
        thread.join()
        other.close()
    assert placed(cluster) == 5
    assert "loop" not in cluster.threads


def test_a_limit_that_grows_lets_the_scheduler_go_on() -> None:
    """Binds that hang leave no message behind, so the cluster must say that others may begin."""
    with running(Remote(binding_limit=0)) as cluster, Scheduler(cluster) as scheduler:
        create(cluster, 2)
        all_placed = threading.Event()
        cluster.watch(lambda event: all_placed.set() if placed(cluster) == 2 else None, ["Pod"])
        thread = threading.Thread(target=scheduler.run)
        thread.start()
        try:
            while on_core(scheduler, lambda: len(scheduler.core.pending)) < 2:
                pass
            assert placed(cluster) == 0
            assert cluster.on_limit_change is not None
            cluster.on_limit_change(3)
            assert all_placed.wait(30)
        finally:
            scheduler.stop()
            thread.join()


def test_a_limit_that_shrinks_holds_the_scheduler_up(cluster: Remote) -> None:
    create(cluster, 2)
    with Scheduler(cluster) as scheduler:
        assert cluster.on_limit_change is not None
        cluster.on_limit_change(0)
        assert scheduler.run_until_idle() == 0
        cluster.on_limit_change(1)
        scheduler.run_until_idle()
    assert placed(cluster) == 2
    assert cluster.most_at_a_time == 1


def test_the_end_writes_where_pods_were_going_to_be(cluster: Remote) -> None:
    """The next scheduler reads it, and does not put the pod elsewhere."""

    class Waits:
        @hookimpl
        def permit(self) -> Status:
            return Status.wait(1000.0)

    cluster.nomination_delay = 500.0
    create(cluster, 1)
    with Scheduler(cluster, plugins={"Waits": Waits()}) as scheduler:
        scheduler.run_until_idle()
        assert not cluster.list("Pod")[0].status.nominated_node_name
    assert cluster.list("Pod")[0].status.nominated_node_name
