"""The meter of a scheduler in a test."""

from __future__ import annotations

from schedframe import Scheduler
from schedframe.cycle.metering.counts import Counts
from schedframe.cycle.metering.statistics import Statistics, statistics_of


def counts_of(scheduler: Scheduler) -> Counts:
    """Return the counts of the first meter among its observers."""
    found = scheduler.core.observers.find(Counts)
    assert isinstance(found, Counts)
    return found


def figures_of(scheduler: Scheduler) -> Statistics:
    """Return what it counted."""
    return statistics_of(counts_of(scheduler))
