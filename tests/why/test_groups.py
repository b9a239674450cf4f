"""What a group waits for, in one value and as text."""

from __future__ import annotations

import pytest

from schedframe import InputError, Simulation
from schedframe.why import explain_group
from tests.cycle.pod_groups.helpers import TOPOLOGY, ZONE, group, pod, scheduler_of, zoned


def test_a_group_that_lacks_members() -> None:
    _, scheduler, _ = scheduler_of(zoned("n", "a"), group("g", 3), pod("p", "g"), gates=TOPOLOGY)
    found = explain_group(scheduler, "default/g")
    assert (found.min_count, found.missing_members, found.can_run) == (3, 2, False)
    assert found.change == "create 2 more pods of the group"
    assert "minCount" in found.gated["default/p"]


def test_a_group_without_its_object() -> None:
    _, scheduler, _ = scheduler_of(zoned("n", "a"), pod("p", "g"), gates=TOPOLOGY)
    assert explain_group(scheduler, "default/g").change == "create the PodGroup default/g"


def test_the_best_domain_and_what_it_lacks() -> None:
    nodes = [zoned(f"{zone}{i}", zone, cpu=2) for zone, count in (("a", 2), ("b", 1)) for i in range(count)]
    members = [pod(f"p{i}", "g", cpu=2) for i in range(3)]
    _, scheduler, _ = scheduler_of(*nodes, group("g", 3, ZONE), *members, gates=TOPOLOGY)
    before = scheduler.core.search.rng.getstate()
    found = explain_group(scheduler, "default/g")
    assert [(each.name, len(each.fitting)) for each in found.domains] == [("a", 2), ("b", 1)]
    assert found.change == "make room for 1 more pod in a"
    assert not found.can_run
    assert any("Insufficient cpu" in why for why in found.reasons.values())
    assert "to run it, make room" in str(found)
    assert scheduler.core.search.rng.getstate() == before
    assert not scheduler.core.cache.states
    scheduler.core.cache.check_invariants()


def test_a_group_that_can_run() -> None:
    _, scheduler, _ = scheduler_of(zoned("n", "a"), group("g", 1), pod("p", "g"), gates=TOPOLOGY)
    found = explain_group(scheduler, "default/g")
    assert found.can_run
    assert found.change == ""


def test_what_cannot_be_explained_is_refused() -> None:
    _, scheduler, _ = scheduler_of(zoned("n", "a"), gates=TOPOLOGY)
    with pytest.raises(InputError, match="no group"):
        explain_group(scheduler, "default/none")
    with Simulation() as simulation, pytest.raises(InputError, match="groups are off"):
        explain_group(simulation.scheduler, "default/g")
