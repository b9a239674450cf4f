"""The spans of attempts, as an exporter of OpenTelemetry's SDK gets them."""

from __future__ import annotations

import asyncio
import threading

import pytest
from attrs import define
from opentelemetry.trace import StatusCode

from schedframe import (
    AsyncioExecutor,
    ThreadExecutor,
    hookimpl,
)
from schedframe.cycle import Tuning
from schedframe.testing import pod
from schedframe.tracing import Tracing, attempts
from tests.cycle.pod_groups import helpers as groups
from tests.tracing.world import ROOT, World, attributes, tracer_of

TAKEN = 5
"""Seconds that the awaited hook takes."""


@define(eq=False)
class AsyncPreBind:
    """Awaits something before a pod is bound; time goes on by ``TAKEN`` seconds."""

    now: list[float]

    @hookimpl
    async def pre_bind(self) -> None:
        await asyncio.sleep(0)
        self.now[0] += TAKEN


def test_a_pod_is_traced_from_the_queue_to_its_node() -> None:
    world = World(pod("a").requests(cpu="1"), tuning=Tuning(remember=0))
    world.scheduler.run_until_idle()
    (root,) = world.roots()
    placed = world.cluster.get("Pod", "default/a")
    assert placed is not None
    assert attributes(root) == {
        "k8s.namespace.name": "default",
        "k8s.pod.name": "a",
        "k8s.pod.uid": placed.metadata.uid,
        "k8s.node.name": placed.spec.node_name,
        "schedframe.profile": "default-scheduler",
        "schedframe.attempt": 1,
        "schedframe.result": "scheduled",
    }
    assert root.status.status_code is StatusCode.UNSET
    children = world.children(root)
    assert list(children) == ["search", "reserve", "permit", "pre_bind", "bind"]
    assert list(world.children(children["search"])) == ["pre_filter", "filter", "pre_score", "score"]
    assert children["bind"].attributes == {"schedframe.plugin": "DefaultBinder"}
    assert children["pre_bind"].attributes == {"schedframe.plugin": "Steps"}


def test_spans_lie_within_their_parents() -> None:
    world = World(*[pod(f"p{i}").requests(cpu="1") for i in range(5)])
    world.scheduler.run_until_idle()
    by_id = {span.context.span_id: span for span in world.spans() if span.context is not None}
    for span in world.spans():
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.start_time <= span.end_time
        if span.parent is not None:
            parent = by_id[span.parent.span_id]
            assert parent.start_time is not None
            assert parent.end_time is not None
            # The clock is read once more at the end of a step; a nanosecond may be rounded up.
            assert parent.start_time - 1000 <= span.start_time
            assert span.end_time <= parent.end_time + 1000


def test_filters_that_preemption_runs_are_part_of_post_filter() -> None:
    low = [pod(f"low{i}").priority(1).requests(cpu="4").on_node(f"n{i}") for i in range(2)]
    world = World(*low, pod("high").priority(100).requests(cpu="4"))
    world.scheduler.run_until_idle()
    first = world.roots()[0]
    children = world.children(first)
    assert list(children) == ["search", "post_filter"]
    searched = world.children(children["search"])
    assert "filter" in searched
    assert (searched["filter"].end_time or 0) <= (children["post_filter"].start_time or 0)


def test_the_wait_in_permit_is_a_span_and_the_attempt_ends_with_the_binding() -> None:
    world = World(pod("a").labels(held=""), pod("b"))
    world.scheduler.run_until_idle()
    assert [attributes(each)["k8s.pod.name"] for each in world.roots()] == ["b"]
    (waiting,) = world.scheduler.core.waiting
    waiting.allow("Steps")
    world.scheduler.run_until_idle()
    root = world.roots()[1]
    assert attributes(root)["schedframe.result"] == "scheduled"
    children = world.children(root)
    assert list(children) == ["search", "reserve", "permit", "wait_on_permit", "pre_bind", "bind"]
    assert (children["permit"].end_time or 0) <= (children["wait_on_permit"].start_time or 0)
    other = world.children(world.roots()[0])
    assert (children["wait_on_permit"].end_time or 0) >= (other["bind"].end_time or 0)


def test_binding_in_other_threads_belongs_to_its_attempt() -> None:
    world = World(*[pod(f"p{i}").requests(cpu="10m") for i in range(40)], executor=ThreadExecutor(4))
    world.scheduler.run_until_idle()
    world.scheduler.close()
    assert len(world.roots()) == 40
    for root in world.roots():
        children = world.children(root)
        assert {"search", "reserve", "permit", "pre_bind", "bind"} == set(children)


def test_hooks_that_are_awaited_are_timed_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(attempts, "perf_counter", lambda: now[0])
    plugin = AsyncPreBind(now)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        world = World(pod("a"), executor=AsyncioExecutor(loop), plugins=[plugin])
        world.scheduler.run_until_idle()
        world.scheduler.close()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    (root,) = world.roots()
    assert attributes(root)["schedframe.result"] == "scheduled"
    children = world.children(root)
    pre_bind = children["pre_bind"]
    assert attributes(pre_bind)["schedframe.plugin"] == "AsyncPreBind"
    assert (pre_bind.end_time or 0) - (pre_bind.start_time or 0) == TAKEN * 1_000_000_000
    assert (pre_bind.end_time or 0) <= (children["bind"].start_time or 0)


def test_points_whose_answers_the_equivalence_cache_has_are_left_out() -> None:
    world = World(*[pod(f"p{i}").requests(cpu="10m") for i in range(3)], plugins=[])
    world.scheduler.run_until_idle()
    first, *_, last = world.roots()
    assert list(world.children(last)) == ["search", "bind"]
    assert "pre_filter" in world.children(world.children(first)["search"])
    assert "pre_filter" not in world.children(world.children(last)["search"])


def test_members_of_a_group_are_traced_one_by_one() -> None:
    exporter, tracer = tracer_of()
    tracing = Tracing(tracer)
    cluster, scheduler, clock = groups.scheduler_of(
        groups.node("n", cpu=2), groups.group("g", 3), observers=[tracing]
    )
    for name in "abc":
        cluster.create(groups.pod(name, "g"))
    scheduler.run_until_idle()
    cluster.create(groups.node("m", cpu=2))
    clock.advance(20)
    scheduler.run_until_idle()
    roots = [attributes(span) for span in exporter.get_finished_spans() if span.name == ROOT]
    found = [(each["k8s.pod.name"], each["schedframe.result"]) for each in roots]
    assert sorted(found) == [(name, result) for name in "abc" for result in ("scheduled", "unschedulable")]
