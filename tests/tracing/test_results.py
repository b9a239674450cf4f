"""Spans of attempts that fail, are rejected or wait."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.trace import StatusCode

from schedframe import (
    Status,
    ThreadExecutor,
    hookimpl,
)
from schedframe.framework.binding import NO_BINDER
from schedframe.testing import pod
from tests.configurations import configuration
from tests.tracing.world import World, attributes


def test_a_pod_without_a_node_has_its_reasons_and_post_filter() -> None:
    world = World(pod("a").labels(unfit=""))
    world.scheduler.run_until_idle()
    (root,) = world.roots()
    found = attributes(root)
    assert found["schedframe.result"] == "unschedulable"
    assert found["schedframe.rejected_by"] == ("Steps",)
    assert "not this one" in found["schedframe.message"]
    assert "k8s.node.name" not in found
    assert root.status.status_code is StatusCode.UNSET
    children = world.children(root)
    assert list(children) == ["search", "post_filter"]
    assert children["post_filter"].attributes is not None
    assert children["post_filter"].attributes["schedframe.status"] == "Unschedulable"


def test_attempts_are_numbered_and_have_a_trace_each() -> None:
    world = World(pod("a").labels(refused=""))
    world.scheduler.run_until_idle()
    world.clock.advance(400)
    world.scheduler.run_until_idle()
    first, second = world.roots()
    assert [attributes(each)["schedframe.attempt"] for each in (first, second)] == [1, 2]
    assert first.context is not None
    assert second.context is not None
    assert first.context.trace_id != second.context.trace_id
    assert attributes(first)["schedframe.message"].endswith("not this one.")
    assert attributes(first)["k8s.node.name"] in {"n0", "n1"}
    assert attributes(world.children(first)["reserve"])["schedframe.plugin"] == "Steps"


@pytest.mark.parametrize("executor", [None, ThreadExecutor])
def test_a_failed_pre_bind_is_an_error(executor: Any) -> None:
    world = World(pod("a").labels(**{"no-volume": ""}), executor=executor and executor(2))
    world.scheduler.run_until_idle()
    (root,) = world.roots()
    assert attributes(root)["schedframe.result"] == "error"
    assert root.status.status_code is StatusCode.ERROR
    assert "no volume" in (root.status.description or "")
    pre_bind = world.children(root)["pre_bind"]
    assert pre_bind.status.status_code is StatusCode.ERROR
    (event,) = pre_bind.events
    assert (event.attributes or {})["exception.message"] == "no volume"
    assert "bind" not in world.children(root)
    world.scheduler.close()


@pytest.mark.parametrize("executor", [None, ThreadExecutor])
def test_a_failed_pre_bind_that_is_awaited_is_an_error(executor: Any) -> None:
    """That it is traced does not make a success of it."""

    class Volumes:
        @hookimpl
        async def pre_bind(self) -> None:
            raise RuntimeError("no volume")

    world = World(pod("a"), plugins=[Volumes], executor=executor and executor(2))
    world.scheduler.run_until_idle()
    (root,) = world.roots()
    assert attributes(root)["schedframe.result"] == "error"
    (bound,) = world.cluster.list("Pod")
    assert not bound.spec.node_name
    pre_bind = world.children(root)["pre_bind"]
    assert pre_bind.status.status_code is StatusCode.ERROR
    assert "bind" not in world.children(root)
    world.scheduler.close()


def test_a_bind_that_the_cluster_refuses_is_an_error() -> None:
    world = World(pod("a"))

    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionError("no answer")

    world.cluster.bind = refuse  # type: ignore[method-assign]  # a cluster that fails
    world.scheduler.run_until_idle()
    root = world.roots()[0]
    assert attributes(root)["schedframe.result"] == "error"
    assert root.status.status_code is StatusCode.ERROR
    assert "no answer" in (root.status.description or "")
    assert world.children(root)["bind"].status.status_code is StatusCode.ERROR


def test_a_bind_plugin_that_skips_is_no_error_of_its_own() -> None:
    class Skips:
        @hookimpl
        def bind(self) -> Status:
            return Status.skip()

    config = configuration({"plugins": {"bind": {"disabled": [{"name": "DefaultBinder"}]}}})
    world = World(pod("a"), plugins=[Skips], config=config)
    world.scheduler.run_until_idle()
    root = world.roots()[0]
    assert root.status.description == NO_BINDER.message
    bind = world.children(root)["bind"]
    assert bind.status.status_code is StatusCode.UNSET
    assert attributes(bind)["schedframe.status"] == "Skip"


def test_a_wait_that_times_out_is_a_rejection() -> None:
    world = World(pod("a").labels(held=""))
    world.scheduler.run_until_idle()
    world.clock.advance(11)
    world.scheduler.schedule_one()
    root = world.roots()[0]
    assert attributes(root)["schedframe.result"] == "unschedulable"
    assert attributes(root)["schedframe.rejected_by"] == ("Steps",)
    waited = world.children(root)["wait_on_permit"]
    assert attributes(waited)["schedframe.status"] == "Unschedulable"


def test_attempts_that_wait_when_the_scheduler_is_closed_end() -> None:
    world = World(pod("a").labels(held=""))
    world.scheduler.run_until_idle()
    world.scheduler.close()
    (root,) = world.roots()
    assert attributes(root)["schedframe.result"] == "error"
    assert "closed" in (root.status.description or "")
