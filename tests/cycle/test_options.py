"""SchedulerOptions and keyword arguments say the same; a keyword wins."""

from __future__ import annotations

from schedframe import InMemoryCluster, Scheduler, VirtualClock
from schedframe.cycle import SchedulerOptions


def test_options_and_keywords_are_the_same() -> None:
    clock = VirtualClock()
    by_options = Scheduler(InMemoryCluster(), options=SchedulerOptions(seed=3, clock=clock, assume_ttl=5.0))
    by_keywords = Scheduler(InMemoryCluster(), seed=3, clock=clock, assume_ttl=5.0)
    for scheduler in (by_options, by_keywords):
        assert scheduler.core.clock is clock
        assert scheduler.core.cache.assume_ttl == 5.0
    assert by_options.core.rng.getstate() == by_keywords.core.rng.getstate()


def test_a_keyword_wins_over_options() -> None:
    options = SchedulerOptions(seed=3, assume_ttl=5.0)
    scheduler = Scheduler(InMemoryCluster(), options=options, assume_ttl=7.0)
    assert scheduler.core.cache.assume_ttl == 7.0
    assert options.assume_ttl == 5.0
