"""Fixtures for pytest: a cluster in memory, a scheduler on it, a clock that tests move, and a recorder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .. import InMemoryCluster, Scheduler, VirtualClock
    from .recorder import CallRecorder

# pytest loads this file at every start: what is heavy is imported by the fixture that needs it.


@pytest.fixture
def virtual_clock() -> VirtualClock:
    """A clock that only ``virtual_clock.advance(seconds)`` moves."""
    from .. import VirtualClock

    return VirtualClock()


@pytest.fixture
def cluster(virtual_clock: VirtualClock) -> InMemoryCluster:
    """An empty :class:`schedframe.InMemoryCluster`."""
    from .. import InMemoryCluster

    return InMemoryCluster(clock=virtual_clock)


@pytest.fixture
def recorder(cluster: InMemoryCluster) -> CallRecorder:
    """What plugins answered, what failed, and where pods of ``cluster`` went."""
    from .recorder import CallRecorder

    made = CallRecorder()
    made.follow(cluster)
    return made


@pytest.fixture
def scheduler_options() -> Mapping[str, Any]:
    """Options of ``scheduler`` (``config``, ``plugins``, …); override this fixture to set some."""
    return {}


@pytest.fixture
def scheduler(
    cluster: InMemoryCluster,
    virtual_clock: VirtualClock,
    recorder: CallRecorder,
    scheduler_options: Mapping[str, Any],
) -> Iterator[Scheduler]:
    """A seeded :class:`schedframe.Scheduler` in debug mode on ``cluster`` with ``scheduler_options``."""
    from .. import Scheduler

    usual: dict[str, Any] = {"clock": virtual_clock, "seed": 0, "debug": True}
    usual |= {"observer": recorder, "on_fault": recorder.on_fault}
    with Scheduler(cluster, **{**usual, **scheduler_options}) as made:
        yield made
