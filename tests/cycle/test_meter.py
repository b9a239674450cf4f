"""The counts of profiles in the meter."""

from __future__ import annotations

import pytest

from schedframe import InMemoryCluster, Scheduler
from schedframe.cycle import Meter
from schedframe.cycle.metering import counts
from schedframe.cycle.metering.counts import ProfileMeter
from schedframe.cycle.sampled_calls import SampledCycles


def test_the_histograms_of_a_profile_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ProfileMeter] = []

    def counted(cycles: SampledCycles) -> ProfileMeter:
        made.append(ProfileMeter(cycles))
        return made[-1]

    meter = Meter()
    Scheduler(InMemoryCluster(), observers=[meter])
    monkeypatch.setattr(counts, "ProfileMeter", counted)
    assert {meter.of_profile("a") for _ in range(3)} == {made[0]}
    assert len(made) == 1
