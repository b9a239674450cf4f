"""Writes: those of unknown outcome are repeated and read back, and all carry preconditions."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from schedframe.api import PersistentVolumeClaim, Pod, PodCondition, from_manifest
from schedframe.cluster import Conflict, NotFound, OutcomeUnknown
from schedframe.cluster.kubernetes import writer as writer_module
from schedframe.cluster.kubernetes.errors import ApiError, NoAnswer, Unreachable
from schedframe.cluster.kubernetes.lanes import Lanes
from schedframe.cluster.kubernetes.resources import Resource, known_resource
from schedframe.cluster.kubernetes.writer import Writer
from schedframe.errors import ClusterError

from .scripted import ScriptedClient, pod, refusal, run


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Lanes.pause
    monkeypatch.setattr(Lanes, "pause", lambda self, seconds: real(self, min(seconds, 0.001)))


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


def test_an_eviction_without_an_answer_is_repeated() -> None:
    client = ScriptedClient([OK, LOST, refusal(404)])
    run(lambda: writer_of(client).evict(value(pod("a")), None))
    assert client.methods() == ["PATCH", "DELETE", "DELETE"]


def test_a_victim_that_is_gone() -> None:
    with pytest.raises(NotFound):
        run(lambda: writer_of(ScriptedClient([refusal(404)])).evict(value(pod("a")), None))


def claim(version: str = "7", **parts: Any) -> dict[str, Any]:
    metadata = {"name": "c", "namespace": "default", "uid": "u", "resourceVersion": version}
    return {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": metadata | parts, "spec": {}}


def test_an_update_sends_what_differs() -> None:
    base: PersistentVolumeClaim = value(claim(annotations={"kept": "1", "dropped": "2"}))
    changed = evolve(base, metadata=evolve(base.metadata, annotations={"kept": "1", "node": "n1"}))
    client = ScriptedClient([claim("8", annotations={"kept": "1", "node": "n1"})])
    writer = writer_of(client, {("PersistentVolumeClaim", "default/c"): base})
    stored = run(lambda: writer.update(changed))
    assert stored.metadata.resource_version == "8"
    assert client.methods() == ["PATCH"]
    assert client.sent[0].body == {
        "metadata": {"annotations": {"node": "n1", "dropped": None}, "uid": "u", "resourceVersion": "7"}
    }
    # The watch is still behind: the object as it was stored is the base of the next change.
    again = evolve(stored, metadata=evolve(stored.metadata, annotations={"kept": "1"}))
    run(lambda: writer.update(again))
    assert client.methods() == ["PATCH", "PATCH"]
    assert client.sent[1].body["metadata"]["resourceVersion"] == "8"


def test_an_update_of_another_version_is_a_conflict() -> None:
    client = ScriptedClient([claim("9")])
    with pytest.raises(Conflict):
        run(lambda: writer_of(client).update(value(claim("7", labels={"a": "b"}))))
    assert client.methods() == ["GET"]


def test_an_update_that_changes_nothing_sends_nothing() -> None:
    base = value(claim())
    client = ScriptedClient([OK])
    assert run(lambda: writer_of(client, {("PersistentVolumeClaim", "default/c"): base}).update(base)) is base
    assert client.sent == []


def test_a_write_is_given_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "GIVE_UP_SECONDS", 0.02)
    with pytest.raises(ClusterError, match="no route"):
        run(lambda: writer_of(ScriptedClient([Unreachable("no route")])).delete(value(pod("a"))))


def test_a_create_without_an_answer_is_repeated_and_read_back() -> None:
    """The first request took effect; the server then adds fields of its own."""
    stored = claim("9", labels={"a": "b"}) | {"status": {"phase": "Pending"}}
    client = ScriptedClient([LOST, refusal(409, "AlreadyExists"), stored])
    made = run(lambda: writer_of(client).create(value(claim("", labels={"a": "b"}))))
    assert client.methods() == ["POST", "POST", "GET"]
    assert client.sent[0].path == "/api/v1/namespaces/default/persistentvolumeclaims"
    assert made.metadata.resource_version == "9"


@pytest.mark.parametrize("script", [[refusal(409)], [LOST, refusal(409), claim("9", labels={"a": "c"})]])
def test_an_object_of_another_client_is_a_conflict(script: list[Any]) -> None:
    with pytest.raises(Conflict):
        run(lambda: writer_of(ScriptedClient(script)).create(value(claim("", labels={"a": "b"}))))


def test_a_create_without_a_name_is_not_repeated() -> None:
    nameless = claim("", generateName="c-", name="")
    client = ScriptedClient([LOST])
    with pytest.raises(OutcomeUnknown):
        run(lambda: writer_of(client).create(value(nameless)))
    assert client.methods() == ["POST"]


@pytest.mark.parametrize(("label", "is_ours"), [("new", True), ("other", False)])
def test_an_update_that_conflicts_with_itself_is_done(label: str, is_ours: bool) -> None:
    """The first request took effect without an answer, so its precondition fails the second time."""
    base = value(claim(labels={"a": "old"}))
    changed = evolve(base, metadata=evolve(base.metadata, labels={"a": "new"}))
    client = ScriptedClient([LOST, refusal(409), claim("8", labels={"a": label}, annotations={"x": "y"})])
    writer = writer_of(client, {("PersistentVolumeClaim", "default/c"): base})
    if is_ours:
        assert run(lambda: writer.update(changed)).metadata.resource_version == "8"
    else:
        with pytest.raises(Conflict):
            run(lambda: writer.update(changed))
    assert client.methods() == ["PATCH", "PATCH", "GET"]


def test_pods_are_values() -> None:
    assert isinstance(value(pod("a")), Pod)
