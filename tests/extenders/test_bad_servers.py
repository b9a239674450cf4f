"""Extenders in another process that fail in every way: the documented outcome, and others are unharmed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import schedframe
from schedframe import Pod
from schedframe.extenders import HttpExtender
from tests.configurations import configuration
from tests.cycle.build import make_node, make_pod

GPU = "example.com/gpu"
FAULTS = ("slow", "drip", "fail", "broken", "reset", "stranger")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.extenders.bad_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.communicate()


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """No thread outlives a test."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive(), thread


def extender(url: str, path: str, **more: Any) -> dict[str, Any]:
    return {
        "urlPrefix": f"{url}/{path}",
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "httpTimeout": "100ms",
        "managedResources": [{"name": GPU}],
        **more,
    }


def config(*extenders: dict[str, Any]) -> dict[str, Any]:
    return configuration(extenders=list(extenders))


def world(*extenders: dict[str, Any]) -> schedframe.Simulation:
    nodes = [make_node(f"node-{i}", cpu=8, **{GPU: 4}) for i in range(3)]
    return schedframe.Simulation(nodes, config=config(*extenders))


def wants_gpu(name: str = "gpu") -> Pod:
    pod = schedframe.from_manifest(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {
                "schedulerName": "default-scheduler",
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {GPU: "1"}}}],
            },
        }
    )
    assert isinstance(pod, Pod)
    return pod


MESSAGES = {
    "slow": "no answer in time, within 0.1s",
    "drip": "no answer in time, within 0.1s",
    "fail": "failed filter with extender at URL {url}/fail/filter, code 500",
    "broken": "the answer is not JSON",
    "reset": 'Post "{url}/reset/filter": ',
    "stranger": 'claims a filtered node "stranger" which is not found in the input node list',
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_attempt_fails_and_other_pods_are_placed(server: str, fault: str) -> None:
    with world(extender(server, fault)) as simulation:
        placed = simulation.schedule([make_pod("before"), wants_gpu(), make_pod("after")])
        before, failed, after = placed
        assert before.node_name is not None
        assert after.node_name is not None
        assert failed.node_name is None
        assert MESSAGES[fault].format(url=server) in failed.message
        (condition,) = failed.pod.status.conditions
        assert condition.reason == "SchedulerError"


@pytest.mark.parametrize("fault", FAULTS)
def test_an_ignorable_extender_is_left_out(server: str, fault: str) -> None:
    healthy = extender(server, "keep", managedResources=[])
    with world(extender(server, fault, ignorable=True), healthy) as simulation:
        (placed,) = simulation.schedule([wants_gpu()])
        assert placed.node_name == "node-0"


@pytest.mark.parametrize("fault", FAULTS[:-1])
def test_without_scores_the_other_scores_decide(server: str, fault: str) -> None:
    ranking = extender(server, fault, filterVerb="", prioritizeVerb="rank", weight=1)
    with world() as simulation:
        (without,) = simulation.schedule([wants_gpu()])
    with world(ranking) as simulation:
        (placed,) = simulation.schedule([wants_gpu()])
    assert placed.node_name == without.node_name is not None


@pytest.mark.parametrize("fault", FAULTS[:-1])
def test_a_failed_bind_frees_the_room(server: str, fault: str) -> None:
    with world(extender(server, fault, filterVerb="", bindVerb="bind")) as simulation:
        (failed,) = simulation.schedule([wants_gpu()])
        assert failed.node_name is None
        assert not any(info.pods for info in simulation.scheduler.core.cache.table.rows())


def test_an_ignorable_binder_leaves_it_to_the_plugins(server: str) -> None:
    binder = extender(server, "fail", filterVerb="", bindVerb="bind", ignorable=True)
    with world() as simulation:
        (without,) = simulation.schedule([wants_gpu()])
    with world(binder) as simulation:
        (placed,) = simulation.schedule([wants_gpu()])
    assert placed.node_name == without.node_name is not None


def test_no_server_at_all() -> None:
    with world(extender("http://127.0.0.1:1", "keep")) as simulation:
        (failed,) = simulation.schedule([wants_gpu()])
        assert 'Post "http://127.0.0.1:1/keep/filter": ' in failed.message


def test_connections_are_kept(server: str) -> None:
    with world(extender(server, "keep", managedResources=[])) as simulation:
        http = simulation.scheduler.core.extenders[0]
        assert isinstance(http, HttpExtender)
        simulation.schedule([make_pod(f"p{i}") for i in range(5)])
        assert http.idle_connections == 1
    assert http.idle_connections == 0


def test_connections_that_failed_are_not_kept(server: str) -> None:
    with world(extender(server, "slow")) as simulation:
        http = simulation.scheduler.core.extenders[0]
        assert isinstance(http, HttpExtender)
        simulation.schedule([wants_gpu()])
        assert http.idle_connections == 0
