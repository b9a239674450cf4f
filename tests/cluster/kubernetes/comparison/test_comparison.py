"""This scheduler says of each pod what kube-scheduler says, in conditions and events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from schedframe.cluster.kubernetes.client import MERGE_PATCH

from ..driven_world import DrivenWorld
from .cluster import Obj
from .manifests import Wave, waves
from .said import changes, read, said

RECORDING = Path(__file__).with_name("data") / "kube-scheduler-1.36.2.jsonl.gz"
SECONDS_A_WAVE = 10.0


def do(world: DrivenWorld, wave: Wave) -> dict[str, Obj]:
    """Do what the wave says on the double; return what the scheduler said."""
    for obj in wave.objects:
        world.server.create(obj)
    for kind, key, patch in wave.patches:
        world.server.objects.patch(world.server._kind(kind), key, patch, MERGE_PATCH)
    if wave.ends_pods:
        world.end_pods()
    world.drive(SECONDS_A_WAVE)
    return said(world.server.list("Pod"), world.server.list("Event"))


@pytest.fixture(scope="module")
def ours() -> Iterator[dict[str, dict[str, Obj]]]:
    """What this scheduler says, by wave and pod."""
    world = DrivenWorld(graceful=True)
    world.scheduler.start()
    yield changes({wave.name: do(world, wave) for wave in waves()})
    world.close()


@pytest.mark.parametrize("wave", [wave.name for wave in waves()[1:]])
def test_conditions_and_events_are_those_of_kube_scheduler(
    wave: str, ours: dict[str, dict[str, Obj]]
) -> None:
    theirs = read(RECORDING)
    assert ours[wave] == theirs[wave]


def test_the_recording_has_200_pods() -> None:
    assert len({name for by_name in read(RECORDING).values() for name in by_name}) == 200
