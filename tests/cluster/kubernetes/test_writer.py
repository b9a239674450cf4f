"""Writes: those of unknown outcome are repeated and read back, and all carry preconditions."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import Pod, PodCondition, from_manifest
from schedframe.cluster.kubernetes.errors import ApiError, NoAnswer, Unreachable
from schedframe.cluster.kubernetes.lanes import Lanes
from schedframe.cluster.kubernetes.loop_time import loop_time
from schedframe.cluster.kubernetes.resources import Resource, known_resource
from schedframe.cluster.kubernetes.writer import GIVE_UP_SECONDS, Writer
from schedframe.errors import ClusterError

from .scripted import ScriptedClient, pod, refusal, run


def value(manifest: dict[str, Any]) -> Any:
    return from_manifest(manifest, strict=False)


async def find(cls: Any) -> Resource:
    found = known_resource(cls.KIND)
    assert found is not None
    return found


def writer_of(client: ScriptedClient, shown: dict[tuple[str, str], Any] | None = None) -> Writer:
    known = {} if shown is None else shown
    return Writer(
        client=client,  # type: ignore[arg-type]  # it stands in for the client
        lanes=Lanes(0, 1),
        lookup=lambda kind, key: known.get((kind, key)),
        find=find,
    )


OK = {"kind": "Status", "status": "Success"}
LOST = NoAnswer("connection reset")


def test_a_status_patch_has_the_uid_and_keeps_the_time_of_transition() -> None:
    old = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "x",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    target = value(pod("a", conditions=[old]))
    client = ScriptedClient([OK])
    condition = PodCondition("PodScheduled", "False", "Unschedulable", "why", 3)
    run(lambda: writer_of(client).patch_pod_status(target, condition, ""))
    assert client.sent[0].path == "/api/v1/namespaces/default/pods/a/status"
    assert client.sent[0].body == {
        "metadata": {"uid": "uid-a"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "why",
                    "observedGeneration": 3,
                    "lastProbeTime": None,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
            "nominatedNodeName": None,
        },
    }


@pytest.mark.parametrize("node", ["n1", ""])
def test_a_status_that_comes_after_the_bind_is_dropped(node: str) -> None:
    """The server refuses a nomination of a pod that has a node."""
    client = ScriptedClient([refusal(422, "Invalid"), pod("a", node=node)])

    async def write() -> None:
        await writer_of(client).patch_pod_status(value(pod("a")), None, "n2")

    if node:
        run(write)
    else:
        with pytest.raises(ApiError, match="422"):
            run(write)
    assert client.methods() == ["PATCH", "GET"]


def test_an_eviction_says_why_then_deletes_that_very_pod() -> None:
    client = ScriptedClient([OK])
    run(
        lambda: writer_of(client).evict(
            value(pod("a")), PodCondition("DisruptionTarget", "True", "Preempted")
        )
    )
    assert client.methods() == ["PATCH", "DELETE"]
    assert client.sent[0].body["status"]["conditions"][0]["type"] == "DisruptionTarget"
    assert client.sent[1].body["preconditions"] == {"uid": "uid-a"}


def test_a_write_is_given_up_after_a_while() -> None:
    """A server in trouble gets a request every few seconds, not the many that a lost answer gets."""
    client = ScriptedClient([Unreachable("no route")])
    moments: list[float] = []

    async def delete() -> None:
        moments.append(loop_time())
        with pytest.raises(ClusterError, match="no route"):
            await writer_of(client).delete(value(pod("a")))
        moments.append(loop_time())

    run(delete)
    began, ended = moments
    assert ended - began == pytest.approx(GIVE_UP_SECONDS, abs=5.0)
    assert 10 < len(client.sent) < 20


def test_a_write_is_repeated_often_at_first() -> None:
    """Pods wait for it, and most faults are over at once."""
    client = ScriptedClient([*[refusal(500)] * 5, OK])

    async def delete() -> float:
        began = loop_time()
        await writer_of(client).delete(value(pod("a")))
        return loop_time() - began

    assert run(delete) < 1.5 * 1.55


def test_pods_are_values() -> None:
    assert isinstance(value(pod("a")), Pod)
