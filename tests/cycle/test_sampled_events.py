"""Which events are measured."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.cycle.metering import sampled_events
from schedframe.cycle.metering.sampled_events import SampledEvents
from schedframe.cycle.runtime.inbox import Inbox


def test_the_first_event_is_measured_and_some_that_came_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_events, "random_gap_of_events", lambda: 3)
    inbox, plain, timed = Inbox(), list[Any](), list[Any]()
    sampled = SampledEvents(plain.append, timed.append)
    post, sampled.divert = inbox.diverting_poster(plain.append, sampled.handle)
    for number in range(40):
        if number in (10, 11, 30):
            sampled.begin()  # twice is as good as once
        post(number)
        if number in (5, 24, 35):
            inbox.drain()
    inbox.drain()
    assert timed == [10, 13, 16, 19, 22, 30, 33]
    assert sorted([*plain, *timed]) == list(range(40))
    assert plain == sorted(plain)
    assert timed == sorted(timed)
