"""An observer that raises changes nothing: no plugin is blamed, and the first error is reported."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import ThreadExecutor
from schedframe.cycle import Executor, InlineExecutor
from schedframe.framework.observing import ObservedFramework

from .build import World, make_node, make_pod


class Calls:
    """Raises at each call of a plugin."""

    def plugin_called(self, point: str, plugin: str, seconds: float, result: Any) -> None:
        raise RuntimeError("the observer is wrong")


class Points(Calls):
    """Raises at each extension point, too."""

    def point_ended(self, point: str, seconds: float, status: Any) -> None:
        raise RuntimeError("the observer is wrong")


class Profiles:
    """Observes one profile with calls that raise."""

    def of_profile(self, profile: str) -> Calls:
        return Points()

    def attempt_ended(self, outcome: Any) -> None:
        """Nothing to note."""


@pytest.mark.parametrize("make", [Calls, Points, Profiles])
@pytest.mark.parametrize("executor", [InlineExecutor, lambda: ThreadExecutor(2)], ids=["core", "threads"])
@pytest.mark.parametrize("statistics", [False, True])
def test_observer_that_raises_changes_nothing(make: Any, executor: Any, statistics: bool) -> None:
    runs: Executor = executor()
    world = World(executor=runs, options={"observer": make(), "statistics": statistics})
    world.create(make_node("a"), *[make_pod(f"p{number}", cpu=1) for number in range(5)])
    world.settle()
    assert [bool(world.node_of(f"p{number}")) for number in range(5)] == [True] * 4 + [False]
    assert [str(status.error) for status, _ in world.faults] == ["the observer is wrong"]
    assert [status.plugin for status, _ in world.faults] == [""]
    runs.close()


@pytest.mark.parametrize(("make", "timed"), [(Calls, False), (Points, True), (Profiles, True)])
def test_extension_points_are_timed_only_for_observers_that_take_them(make: Any, timed: bool) -> None:
    world = World(options={"observer": make()})
    (framework,) = world.scheduler.core.frameworks.values()
    assert isinstance(framework, ObservedFramework) is timed
