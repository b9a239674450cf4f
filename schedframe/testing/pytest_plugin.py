"""Fixtures for pytest: a cluster in memory, a scheduler on it, a clock that tests move, and a recorder.

They are there in every project of the environment, so their names begin with ``schedframe_``.
"""

from __future__ import annotations

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
    """Record of answers of plugins, faults, and placements of pods of ``schedframe_cluster``."""
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
    from .. import Scheduler

    usual: dict[str, Any] = {"clock": schedframe_clock, "seed": 0, "debug": True}
    observers = [schedframe_recorder, *schedframe_options.get("observers", ())]
    with Scheduler(schedframe_cluster, **{**usual, **schedframe_options, "observers": observers}) as made:
        yield made
