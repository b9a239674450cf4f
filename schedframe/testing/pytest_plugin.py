"""Fixtures for pytest: a cluster in memory, a scheduler on it, a clock that tests move, and a recorder.

They are there in every project of the environment, so their names begin with ``schedframe_``. The names
without that, such as ``cluster``, are the former ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .. import InMemoryCluster, Scheduler, VirtualClock
    from .recorder import CallRecorder

# pytest loads this file at every start: what is heavy is imported by the fixture that needs it.


@pytest.fixture
def schedframe_clock() -> VirtualClock:
    """A clock that only ``schedframe_clock.advance(seconds)`` moves."""
    from .. import VirtualClock

    return VirtualClock()


@pytest.fixture
def schedframe_cluster(schedframe_clock: VirtualClock) -> InMemoryCluster:
    """An empty :class:`schedframe.InMemoryCluster`."""
    from .. import InMemoryCluster

    return InMemoryCluster(clock=schedframe_clock)


@pytest.fixture
def schedframe_recorder(schedframe_cluster: InMemoryCluster) -> CallRecorder:
    """What plugins answered, what failed, and where pods of ``schedframe_cluster`` went."""
    from .recorder import CallRecorder

    made = CallRecorder()
    made.follow(schedframe_cluster)
    return made


@pytest.fixture
def schedframe_options() -> Mapping[str, Any]:
    """Options of the scheduler (``config``, ``plugins``, …); override this fixture to set some."""
    return {}


@pytest.fixture
def schedframe_scheduler(
    schedframe_cluster: InMemoryCluster,
    schedframe_clock: VirtualClock,
    schedframe_recorder: CallRecorder,
    schedframe_options: Mapping[str, Any],
) -> Iterator[Scheduler]:
    """A :class:`schedframe.Scheduler` on ``schedframe_cluster``, seeded, recorded, and in debug mode."""
    yield from _scheduler(schedframe_cluster, schedframe_clock, schedframe_recorder, schedframe_options)


def _scheduler(
    cluster: InMemoryCluster, clock: VirtualClock, recorder: CallRecorder, options: Mapping[str, Any]
) -> Iterator[Scheduler]:
    from .. import Scheduler

    usual: dict[str, Any] = {"clock": clock, "seed": 0, "debug": True}
    usual |= {"observer": recorder, "on_fault": recorder.on_fault}
    with Scheduler(cluster, **{**usual, **options}) as made:
        yield made


# ---- former names ----------------------------------------------------------------------------------------


def _warn(former: str, name: str) -> None:
    warnings.warn(f"the fixture {former} is called {name} now", DeprecationWarning, stacklevel=2)


@pytest.fixture
def virtual_clock(schedframe_clock: VirtualClock) -> VirtualClock:
    """Former name of ``schedframe_clock``."""
    _warn("virtual_clock", "schedframe_clock")
    return schedframe_clock


@pytest.fixture
def cluster(schedframe_cluster: InMemoryCluster) -> InMemoryCluster:
    """Former name of ``schedframe_cluster``."""
    _warn("cluster", "schedframe_cluster")
    return schedframe_cluster


@pytest.fixture
def recorder(schedframe_recorder: CallRecorder) -> CallRecorder:
    """Former name of ``schedframe_recorder``."""
    _warn("recorder", "schedframe_recorder")
    return schedframe_recorder


@pytest.fixture
def scheduler_options(schedframe_options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Former name of ``schedframe_options``; overriding it still sets the options of ``scheduler``."""
    return schedframe_options


@pytest.fixture
def scheduler(
    schedframe_cluster: InMemoryCluster,
    schedframe_clock: VirtualClock,
    schedframe_recorder: CallRecorder,
    scheduler_options: Mapping[str, Any],
) -> Iterator[Scheduler]:
    """Former name of ``schedframe_scheduler``."""
    _warn("scheduler", "schedframe_scheduler")
    yield from _scheduler(schedframe_cluster, schedframe_clock, schedframe_recorder, scheduler_options)
