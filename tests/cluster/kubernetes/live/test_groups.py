"""Pod groups on a server that has them: quorum, placement together, and the condition in the status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest

from schedframe import Scheduler

from .place import Place
from .test_scheduling import eventually, node_of, why

GROUPS = "/apis/scheduling.k8s.io/v1alpha2"
GATES = {"GenericWorkload": True, "GangScheduling": True}


@contextmanager
def scheduling(place: Place) -> Iterator[None]:
    with place.cluster() as cluster, Scheduler(cluster, place.config(), seed=1, feature_gates=GATES) as made:
        thread = Thread(target=made.run)
        thread.start()
        try:
            yield
        finally:
            made.stop()
            thread.join()


def make_group(place: Place, at_least: int) -> str:
    """Create a gang, and return its path; skip the test on a server without groups."""
    groups = f"{GROUPS}/namespaces/{place.name}/podgroups"
    if place.ask("GET", groups)[0] != 200:
        pytest.skip("the server does not serve PodGroups")
    spec = {"schedulingPolicy": {"gang": {"minCount": at_least}}}
    place.make(
        groups,
        {"kind": "PodGroup", "apiVersion": GROUPS[6:], "metadata": {"name": "g"}, "spec": spec},
    )
    return f"{groups}/g"


def condition(place: Place, path: str) -> tuple[str, str, str]:
    conditions: list[dict[str, Any]] = place.ask("GET", path)[1].get("status", {}).get("conditions", [])
    found = next((each for each in conditions if each["type"] == "PodGroupScheduled"), {})
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def test_a_gang_waits_for_its_quorum_and_for_room_and_runs_as_a_whole(place: Place) -> None:
    path, member = make_group(place, 3), {"schedulingGroup": {"podGroupName": "g"}}
    place.make_node("n1", cpu="2")
    with scheduling(place):
        for name in "ab":
            place.make_pod(name, cpu="1", **member)
        place.make_pod("lone", cpu="100m")
        eventually(lambda: node_of(place, "lone"))
        assert why(place, "a") == {}
        place.make_pod("c", cpu="1", **member)
        eventually(lambda: condition(place, path)[:2] == ("False", "Unschedulable"))
        assert condition(place, path)[2] == "pod group is unschedulable"
        assert not any(node_of(place, name) for name in "abc")
        place.make_node("n2", cpu="2")
        eventually(lambda: all(node_of(place, name) for name in "abc"))
        eventually(lambda: condition(place, path) == ("True", "Scheduled", ""))
