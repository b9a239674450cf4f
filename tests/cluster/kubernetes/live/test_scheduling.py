"""A whole scheduler on a server: placed, refused, preempted, bound by another, under a random workload."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from threading import Thread
from typing import Any

import pytest

from schedframe import Pod, Scheduler
from schedframe.api import PodCondition, from_manifest
from schedframe.cluster import BindConflict, Conflict

from .place import Place

SECONDS = 20.0
GONE = {"deletionTimestamp": ""}


@contextmanager
def scheduling(place: Place) -> Iterator[Scheduler]:
    """Run a scheduler of the place in a thread of its own."""
    with place.cluster() as cluster, Scheduler(cluster, place.config(), seed=1) as scheduler:
        thread = Thread(target=scheduler.run)
        thread.start()
        try:
            yield scheduler
        finally:
            scheduler.stop()
            thread.join()


def eventually(check: Callable[[], Any]) -> Any:
    """Return what *check* returns, once that is true."""
    end = time.monotonic() + SECONDS
    while not (answer := check()):
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)
    return answer


def node_of(place: Place, name: str) -> str:
    """Return the node of a pod without the name of the place, empty without one."""
    return str(place.get_pod(name).get("spec", {}).get("nodeName", "")).removeprefix(f"{place.name}-")


def why(place: Place, name: str) -> dict[str, Any]:
    """Return the condition PodScheduled of a pod."""
    conditions = place.get_pod(name).get("status", {}).get("conditions", ())
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


def test_pods_are_placed_and_explained(place: Place) -> None:
    place.make_node("n1", cpu="1")
    place.make_pod("fits", cpu="600m")
    place.make_pod("big", cpu="2")
    with scheduling(place):
        eventually(lambda: node_of(place, "fits") == "n1")
        reason = eventually(lambda: why(place, "big").get("message"))
        assert "Insufficient cpu" in reason
        place.make_node("n2", cpu="4")
        eventually(lambda: node_of(place, "big") == "n2")
    events = f"/apis/events.k8s.io/v1/namespaces/{place.name}/events"
    _, listed = place.ask("GET", events)
    assert {(each["regarding"]["name"], each["reason"]) for each in listed["items"]} == {
        ("fits", "Scheduled"),
        ("big", "FailedScheduling"),
        ("big", "Scheduled"),
    }


def test_a_pod_of_higher_priority_preempts(place: Place) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    high = {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "value": 1000}
    place.make(classes, high | {"metadata": {"name": f"{place.name}-high"}})
    place.make_node("n1", cpu="1")
    place.make_pod("low", cpu="1")
    with scheduling(place):
        eventually(lambda: node_of(place, "low"))
        place.make_pod("high", cpu="1", priorityClassName=f"{place.name}-high")
        eventually(lambda: "deletionTimestamp" in place.get_pod("low").get("metadata", GONE))
        eventually(lambda: node_of(place, "high") == "n1")


def test_a_gate_opens(place: Place) -> None:
    place.make_node("n1")
    place.make_pod("a", schedulingGates=[{"name": "example.com/g"}])
    with scheduling(place):
        place.ask("PATCH", f"{place.pods}/a", {"spec": {"schedulingGates": None}}, "merge")
        eventually(lambda: node_of(place, "a") == "n1")


def test_the_port_refuses_what_the_server_refuses(place: Place) -> None:
    made = from_manifest(place.make_pod("a"), strict=False)
    assert isinstance(made, Pod)
    with place.cluster() as cluster:
        cluster.bind(made, "n1")
        with pytest.raises(BindConflict):
            cluster.bind(made, "n2")
        stored = cluster.get_latest("Pod", made.key)
        assert (stored.uid, stored.spec.node_name) == (made.uid, "n1")


def test_a_random_workload(place: Place) -> None:
    rng = Random(5)
    room = {f"n{number}": rng.choice((2, 4)) for number in range(4)}
    for name, cpu in room.items():
        place.make_node(name, cpu=str(cpu))
    requests: dict[str, int] = {}
    with scheduling(place):
        for number in range(40):
            if requests and rng.random() < 0.3:
                gone = rng.choice(sorted(requests))
                del requests[gone]
                place.ask(
                    "DELETE",
                    f"{place.pods}/{gone}",
                    {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0},
                )
            else:
                requests[f"p{number}"] = rng.choice((0, 1, 2))
                place.make_pod(f"p{number}", cpu=str(requests[f"p{number}"]))
        eventually(lambda: all(node_of(place, name) or why(place, name) for name in requests))
        time.sleep(0.2)
        used = dict.fromkeys(room, 0)
        for name, cpu in requests.items():
            node = node_of(place, name)
            if node:
                used[node] += cpu
            else:
                assert why(place, name)["reason"] == "Unschedulable"
        assert all(used[name] <= room[name] for name in room), used
        for name, cpu in requests.items():
            free = max(room[node] - used[node] for node in room)
            assert node_of(place, name) or cpu > free, name


def test_a_pod_that_was_created_again_is_another_pod(place: Place) -> None:
    """Nothing that is written about the first one reaches the second one."""
    first = from_manifest(place.make_pod("a"), strict=False)
    assert isinstance(first, Pod)
    place.ask("DELETE", f"{place.pods}/a")
    second = place.make_pod("a")
    with place.cluster() as cluster:
        with pytest.raises(Conflict):
            cluster.patch_pod_status(first, condition=PodCondition("PodScheduled", "False", "Unschedulable"))
        with pytest.raises(Conflict):
            cluster.evict(first)
        with pytest.raises(BindConflict):
            cluster.bind(first, "n1")
        with pytest.raises(Conflict):
            cluster.delete(first)
    assert place.get_pod("a") == second
