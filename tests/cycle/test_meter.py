"""The counts of profiles in the meter."""

from __future__ import annotations

import pytest

from schedframe.cycle.metering import meter
from schedframe.cycle.metering.calls import MeasuredCycles
from schedframe.cycle.metering.meter import Meter, ProfileMeter
from schedframe.cycle.runtime.clock import VirtualClock


def test_the_histograms_of_a_profile_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ProfileMeter] = []

    def counted(cycles: MeasuredCycles) -> ProfileMeter:
        made.append(ProfileMeter(cycles))
        return made[-1]

    monkeypatch.setattr(meter, "ProfileMeter", counted)
    counts = Meter(VirtualClock())
    assert {counts.of_profile("a") for _ in range(3)} == {made[0]}
    assert len(made) == 1
