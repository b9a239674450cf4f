"""Plugins made of functions, a handle with just enough behind it, and shortcuts to a plan or framework."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

from attrs import define, field

from schedframe.api import Pod
from schedframe.config import EffectiveProfile, EnabledPlugin
from schedframe.framework import Framework, Plan, Status, compile_plan, hookimpl
from schedframe.framework.hook_calls import Guard
from schedframe.framework.points import HOOKS_OF_POINT, points_of
from schedframe.state import NodeTable

from ..state.build import make_node

REJECTED = Status.unschedulable("no")
HOPELESS = Status.unresolvable("never")


def plugin_class(class_name: str = "Fake", /, **attributes: Any) -> type[Any]:
    """A plugin class: functions become its hooks (first argument: self), anything else attributes."""
    body: dict[str, Any] = {"__module__": __name__, "__slots__": ()}
    for name, value in attributes.items():
        body[name] = hookimpl(value) if callable(value) else value
    return type(class_name, (), body)


def plugin(**attributes: Any) -> Any:
    """An instance of such a class."""
    return plugin_class(**attributes)()


SORT = plugin(queue_sort_key=lambda self, pod_info: 0)


def enable(
    plugins: Mapping[str, Any], weights: Mapping[str, int] | None = None
) -> dict[str, list[tuple[str, int]]]:
    """Every plugin at every point that it implements, in the order given."""
    enabled: dict[str, list[tuple[str, int]]] = {point: [] for point in HOOKS_OF_POINT}
    for name, one in plugins.items():
        for point in points_of(one):
            enabled[point].append((name, (weights or {}).get(name, 1) if point == "score" else 0))
    return enabled


def plan_of(*guards: Guard, weights: Mapping[str, int] | None = None, **plugins: Any) -> Plan:
    """A plan with these plugins, run in this order."""
    everything = {**plugins, "Sort": SORT}
    return compile_plan(everything, enable(everything, weights), guards)


@define(eq=False)
class FakeNominator:
    pods: dict[str, list[Pod]] = field(factory=dict)

    def nominated_pods_for_node(self, name: str) -> Sequence[Pod]:
        return self.pods.get(name, ())

    @property
    def node_names(self) -> Iterable[str]:
        return list(self.pods)

    @property
    def nominations(self) -> Mapping[str, str]:
        return {pod.uid: name for name, pods in self.pods.items() for pod in pods}

    def __bool__(self) -> bool:
        return bool(self.pods)


@define(eq=False)
class FakeHandle:
    """What plugins and the framework look at in these tests; the rest of a handle is missing on purpose."""

    table: NodeTable = field(factory=NodeTable)
    nominator: FakeNominator = field(factory=FakeNominator)
    rng: Random = field(factory=lambda: Random(0))
    profile_name: str = "default-scheduler"
    extenders: tuple[Any, ...] = ()


def profile_of(
    enabled: Mapping[str, Iterable[tuple[str, int]]], args: Mapping[str, Any] | None = None
) -> EffectiveProfile:
    return EffectiveProfile(
        scheduler_name="default-scheduler",
        percentage_of_nodes_to_score=None,
        plugins={
            point: tuple(EnabledPlugin(*entry) for entry in entries) for point, entries in enabled.items()
        },
        plugin_config=dict(args or {}),
        names=tuple(sorted({name for entries in enabled.values() for name, _ in entries})),
    )


def framework_of(
    handle: FakeHandle | None = None, *, weights: Mapping[str, int] | None = None, **plugins: Any
) -> Framework:
    """A framework with these plugins, run in this order."""
    everything = {**plugins, "Sort": SORT}
    enabled = enable(everything, weights)
    return Framework(profile_of(enabled), compile_plan(everything, enabled), handle or FakeHandle())  # type: ignore[arg-type]  # narrower than a handle


def table_of(count: int) -> NodeTable:
    """Nodes n0, n1, …"""
    table = NodeTable()
    for i in range(count):
        table.set_node(make_node(f"n{i}"))
    return table


@define(eq=False)
class Journal:
    """Makes hooks that write down that they were called."""

    entries: list[str] = field(factory=list)

    def hook(self, text: str, answer: Any = None) -> Callable[..., Any]:
        """For reserve, unreserve, permit and their like: (self, state, pod, node_name)."""

        def hook(self_: Any, state: Any, pod: Pod, node_name: str) -> Any:
            self.entries.append(text)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return hook


def placeless(status: Status | None) -> Status | None:
    """*status* without the pod, the node and the line that stand behind the message of an exception."""
    if status is None:
        return None
    reasons = tuple(re.sub(r" \([^()]* in [\w<>]+\)$", "", reason) for reason in status.reasons)
    return Status(status.code, reasons, status.plugin)
