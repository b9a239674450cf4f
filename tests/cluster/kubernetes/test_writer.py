"""Writes: a bind of unknown outcome is repeated until the truth is known, and all carry preconditions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from attrs import evolve

from schedframe.api import PersistentVolumeClaim, Pod, PodCondition, from_manifest
from schedframe.cluster import BindConflict, BindNotFound, BindRefused, Conflict, NotFound, OutcomeUnknown
from schedframe.cluster.kubernetes import writer as writer_module
from schedframe.cluster.kubernetes.errors import NoAnswer, Unreachable
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
        follows=lambda kind: shown is not None,
    )


def bind(script: list[Any], shown: dict[tuple[str, str], Any] | None = None) -> ScriptedClient:
    client = ScriptedClient(script)
    run(lambda: writer_of(client, shown).bind(value(pod("a")), "n1"))
    return client


OK = {"kind": "Status", "status": "Success"}
LOST = NoAnswer("connection reset")


def test_a_bind_names_pod_uid_and_node() -> None:
    client = bind([OK])
    sent = client.sent[0]
    assert (sent.method, sent.path) == ("POST", "/api/v1/namespaces/default/pods/a/binding")
    assert sent.body["metadata"] == {"name": "a", "namespace": "default", "uid": "uid-a"}
    assert sent.body["target"] == {"kind": "Node", "name": "n1"}


@pytest.mark.parametrize("lost", [LOST, refusal(500), refusal(504)])
def test_a_lost_answer_is_read_back(lost: Exception) -> None:
    assert bind([lost, pod("a", node="n1")]).methods() == ["POST", "GET"]


def test_a_pod_that_is_not_bound_yet_is_bound_again() -> None:
    assert bind([LOST, pod("a"), OK]).methods() == ["POST", "GET", "POST"]


def test_a_request_that_arrives_late_is_no_conflict() -> None:
    """The first request takes effect between the look at the pod and the second request."""
    assert bind([LOST, pod("a"), refusal(409), pod("a", node="n1")]).methods() == [
        "POST",
        "GET",
        "POST",
        "GET",
    ]


def test_nothing_is_guessed_while_the_server_is_away() -> None:
    script = [LOST, *[Unreachable("refused")] * 50, refusal(403), refusal(503), pod("a", node="n1")]
    assert bind(script).methods() == ["POST"] + ["GET"] * 53


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ([refusal(404)], BindNotFound),
        ([refusal(409)], BindConflict),
        ([refusal(403)], BindRefused),
        ([LOST, refusal(404)], BindNotFound),
        ([LOST, pod("a", uid="another")], BindConflict),
        ([LOST, pod("a", node="n2")], BindConflict),
        ([LOST, pod("a"), refusal(409), pod("a")], BindConflict),
    ],
)
def test_a_certain_refusal_ends_the_bind(script: list[Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        bind(script)


@pytest.mark.parametrize("harmless", [Unreachable("refused"), refusal(429, retry_after=0.0)])
def test_what_was_not_carried_out_is_sent_again(harmless: Exception) -> None:
    assert bind([harmless, OK]).methods() == ["POST", "POST"]


def test_a_bind_that_cannot_be_sent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "GIVE_UP_SECONDS", 0.02)
    with pytest.raises(BindRefused, match="no route"):
        bind([Unreachable("no route")])


def test_the_watch_may_know_first() -> None:
    """The event of the bind arrives before anything else is sent."""
    shown: dict[tuple[str, str], Any] = {("Pod", "default/a"): value(pod("a")), ("Node", "n1"): object()}

    def lose(body: Any) -> Exception:
        shown["Pod", "default/a"] = value(pod("a", "2", node="n1"))
        return LOST

    assert bind([lose], shown).methods() == ["POST"]


def test_a_node_that_is_gone_gets_no_pod() -> None:
    with pytest.raises(BindRefused, match="the node is gone"):
        bind([OK], {("Pod", "default/a"): value(pod("a"))})


def test_a_pod_that_the_watch_shows_deleted_is_gone() -> None:
    shown: dict[tuple[str, str], Any] = {("Pod", "default/a"): value(pod("a")), ("Node", "n1"): object()}

    def lose(body: Any) -> Exception:
        del shown["Pod", "default/a"]
        return LOST

    with pytest.raises(BindNotFound):
        bind([lose], shown)


@pytest.mark.parametrize(("script", "error"), [([OK], BindRefused), ([LOST, LOST], OutcomeUnknown)])
def test_the_end_of_the_scheduler(script: list[Any], error: type[Exception]) -> None:
    client = ScriptedClient(script)
    writer = writer_of(client)

    async def close_during_bind() -> None:
        if error is BindRefused:
            writer.lanes.close()
        bind = asyncio.create_task(writer.bind(value(pod("a")), "n1"))
        while error is OutcomeUnknown and len(client.sent) < 2:
            await asyncio.sleep(0)
        writer.lanes.close()
        await bind

    with pytest.raises(error):
        run(close_during_bind)


# ---- status, evictions, other objects ----------------------------------------------------------------


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


def test_a_create_without_an_answer_is_not_repeated() -> None:
    client = ScriptedClient([LOST])
    with pytest.raises(OutcomeUnknown):
        run(lambda: writer_of(client).create(value(claim())))
    assert client.sent[0].path == "/api/v1/namespaces/default/persistentvolumeclaims"


def test_pods_are_values() -> None:
    assert isinstance(value(pod("a")), Pod)
