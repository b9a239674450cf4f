"""Plugins are closed once, when nothing uses them any more, also those of a configuration that is refused."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import define, field

from schedframe import ConfigError, InMemoryCluster, Scheduler, hookimpl
from schedframe.errors import PluginError

CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def configuration(*profiles: str, **fields: Any) -> dict[str, Any]:
    """A configuration with these profiles."""
    return {**CONFIG, "profiles": [{"schedulerName": name} for name in profiles], **fields}


@define(eq=False)
class Opened:
    """Counts how often it was closed."""

    closed: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        MADE.append(self)

    @hookimpl
    def filter(self) -> None:
        return None

    @hookimpl
    def close(self) -> None:
        self.closed += 1


@define(eq=False)
class Failing:
    """Cannot be made as long as the switch is on."""

    def __attrs_post_init__(self) -> None:
        if FAILS:
            raise OSError("no connection")

    @hookimpl
    def filter(self) -> None:
        return None


@define(eq=False)
class FailsAtClose(Opened):
    @hookimpl
    def close(self) -> None:
        super().close()
        raise OSError("gone")


@define(eq=False)
class WithBadEvents:
    @hookimpl
    def filter(self) -> None:
        return None

    @hookimpl
    def events_to_register(self) -> Any:
        return 5


@define(eq=False, slots=False)
class RefusedWhenMade:
    """Its class keeps the contract."""

    def __attrs_post_init__(self) -> None:
        vars(self)["score"] = hookimpl(lambda nothing: 1)

    @hookimpl
    def filter(self) -> None:
        return None


MADE: list[Opened] = []
FAILS: list[bool] = []


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    MADE.clear()
    FAILS[:] = [True]


@pytest.mark.parametrize("last", [Failing, WithBadEvents, RefusedWhenMade])
def test_the_plugins_before_one_that_fails_are_closed(last: Any) -> None:
    with pytest.raises((ConfigError, PluginError)):
        Scheduler(InMemoryCluster(), configuration("a"), plugins=[Opened, FailsAtClose, last])
    assert [each.closed for each in MADE] == [1, 1]


def test_a_refused_reload_leaves_no_plugin_open() -> None:
    FAILS.clear()
    with Scheduler(InMemoryCluster(), configuration("a"), plugins=[Opened, Failing]) as scheduler:
        FAILS.append(True)
        for _ in range(3):
            with pytest.raises(ConfigError, match="no connection"):
                scheduler.reload(configuration("a", "b"))
        assert [each.closed for each in MADE] == [0, 1, 1, 1]
    assert [each.closed for each in MADE] == [1, 1, 1, 1]


def test_an_instance_stays_open_as_long_as_the_scheduler_runs() -> None:
    """It is the same one for all profiles, before and after a reload."""
    shared = Opened()
    FAILS.clear()
    plugins = [shared, Failing]
    with Scheduler(InMemoryCluster(), configuration("a", "b"), plugins=plugins) as scheduler:
        scheduler.reload(configuration("a", "b", percentageOfNodesToScore=50))
        FAILS.append(True)
        with pytest.raises(ConfigError):
            scheduler.reload(configuration("a", "c"))
        assert shared.closed == 0
    assert shared.closed == 1


def test_an_instance_is_not_closed_by_a_scheduler_that_cannot_be_made() -> None:
    shared = Opened()
    with pytest.raises(ConfigError):
        Scheduler(InMemoryCluster(), configuration("a"), plugins=[shared, Failing])
    assert shared.closed == 0
