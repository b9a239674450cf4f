"""A plugin with a kind of its own: watched, kept, and able to bring pods back."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from attrs import define, field, frozen

from schedframe import (
    Action,
    ClusterEvent,
    EventRegistration,
    Handle,
    ObjectMeta,
    PluginError,
    Pod,
    Simulation,
    Status,
    hookimpl,
)
from schedframe.api import NamespacedObject
from tests.configurations import configuration, enabling


@frozen
class Permit(NamespacedObject):
    KIND: ClassVar[str] = "Permit"
    API_VERSION: ClassVar[str] = "gate.example/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = field(factory=ObjectMeta)


@define(eq=False)
class NeedsPermit:
    """A pod may go if there is a permit of its name."""

    handle: Handle
    kinds: ClassVar[tuple[type, ...]] = (Permit,)

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | None:
        return None if self.handle.objects.get("Permit", pod.key) else Status.unresolvable("no permit")

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        return (
            EventRegistration(
                ClusterEvent("Permit", Action.ADD), lambda pod, old, new: bool(new.key == pod.key)
            ),
        )


CONFIG: dict[str, Any] = configuration(enabling("NeedsPermit"))
NODE = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}


def simulation() -> Simulation:
    return Simulation([NODE], CONFIG, plugins={"NeedsPermit": NeedsPermit})


def pod(name: str) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c"}]}}


def permit(name: str) -> dict[str, Any]:
    return {"apiVersion": "gate.example/v1", "kind": "Permit", "metadata": {"name": name}}


def test_objects_of_the_kind_are_kept_and_their_events_bring_pods_back() -> None:
    world = simulation()
    world.add(permit("a"))
    placements = world.schedule([pod("a"), pod("b"), pod("c")])
    assert [placed.node_name for placed in placements] == ["n1", None, None]
    world.add(permit("b"))
    pools = {waiting.key: str(waiting.pool) for waiting in world.scheduler.pending()}
    assert pools == {"default/b": "backoff", "default/c": "unschedulable"}


def test_plugins_see_the_pods_that_have_no_node() -> None:
    world = simulation()
    world.schedule([pod("a"), pod("b")])
    (framework,) = world.scheduler.core.frameworks.values()
    assert set(framework.handle.pending) == {"default/a", "default/b"}


def test_a_kind_that_is_none_is_refused() -> None:
    class Wrong(NeedsPermit):
        kinds = (int,)

    with pytest.raises(PluginError, match="plugin NeedsPermit: <class 'int'> is no kind of object"):
        Simulation([NODE], CONFIG, plugins={"NeedsPermit": Wrong})
