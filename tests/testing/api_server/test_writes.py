"""Requests that change objects: versions, preconditions, subresources, finalizers, patches."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import PodGroup
from schedframe.testing.api_server import ApiServer, Refusal, Request

from .asking import MERGE, PODS, STRATEGIC, Asker, asking, binding, pod


def test_a_new_pod_gets_identity_defaults_and_the_first_status() -> None:
    async def work(asker: Asker) -> None:
        status, made = await asker.ask("POST", PODS, pod() | {"status": {"phase": "Running"}})
        assert status == 201
        assert made["metadata"]["uid"]
        assert made["metadata"]["creationTimestamp"]
        assert made["metadata"]["namespace"] == "default"
        assert made["status"] == {"phase": "Pending"}
        assert made["spec"]["schedulerName"] == "default-scheduler"
        assert await asker.ask("GET", f"{PODS}/a") == (200, made)
        status, refused = await asker.ask("POST", PODS, pod())
        assert (status, refused["reason"]) == (409, "AlreadyExists")

    asking(work)


def test_a_name_is_made_from_a_prefix() -> None:
    async def work(asker: Asker) -> None:
        _, made = await asker.ask("POST", PODS, {**pod(), "metadata": {"generateName": "web-"}})
        assert made["metadata"]["name"].startswith("web-")
        status, _ = await asker.ask("POST", PODS, {**pod(), "metadata": {}})
        assert status == 422

    asking(work)


def test_the_priority_comes_from_the_class() -> None:
    async def work(asker: Asker) -> None:
        asker.server.create({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7})
        _, made = await asker.ask("POST", PODS, pod(priorityClassName="high"))
        assert made["spec"]["priority"] == 7
        status, _ = await asker.ask("POST", PODS, pod("b", priorityClassName="none"))
        assert status == 403

    asking(work)


def test_the_priority_of_a_pod_group_comes_from_the_class() -> None:
    with ApiServer() as server:
        server.serve(PodGroup)
        server.create({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7})
        group = {
            "apiVersion": PodGroup.API_VERSION,
            "kind": "PodGroup",
            "metadata": {"name": "g", "namespace": "default"},
            "spec": {"schedulingPolicy": {"basic": {}}, "priorityClassName": "high"},
        }
        assert server.create(group)["spec"]["priority"] == 7


def test_a_bind_gives_the_pod_its_node() -> None:
    async def work(asker: Asker) -> None:
        _, made = await asker.ask("POST", PODS, pod())
        status, _ = await asker.ask("POST", f"{PODS}/a/binding", binding("n1", made["metadata"]["uid"]))
        assert status == 201
        _, bound = await asker.ask("GET", f"{PODS}/a")
        assert bound["spec"]["nodeName"] == "n1"
        assert [(each["type"], each["status"]) for each in bound["status"]["conditions"]] == [
            ("PodScheduled", "True")
        ]

    asking(work)


@pytest.mark.parametrize(
    ("spec", "body", "expected"),
    [
        ({"nodeName": "n1"}, binding("n1"), 409),
        ({"schedulingGates": [{"name": "g"}]}, binding("n1"), 409),
        ({}, binding("n1", "another"), 409),
        ({}, binding(""), 500),
    ],
)
def test_a_bind_is_refused(spec: dict[str, Any], body: dict[str, Any], expected: int) -> None:
    async def work(asker: Asker) -> None:
        await asker.ask("POST", PODS, pod(**spec))
        assert (await asker.ask("POST", f"{PODS}/a/binding", body))[0] == expected
        assert (await asker.ask("POST", f"{PODS}/b/binding", body))[0] in (404, 500)

    asking(work)


def test_a_pod_that_is_being_deleted_is_not_bound() -> None:
    async def work(asker: Asker) -> None:
        made = pod()
        made["metadata"]["finalizers"] = ["f"]
        await asker.ask("POST", PODS, made)
        status, left = await asker.ask("DELETE", f"{PODS}/a")
        assert (status, left["metadata"]["finalizers"]) == (200, ["f"])
        assert left["metadata"]["deletionTimestamp"]
        assert (await asker.ask("POST", f"{PODS}/a/binding", binding("n1")))[0] == 409
        await asker.ask("PATCH", f"{PODS}/a", {"metadata": {"finalizers": None}}, MERGE)
        assert (await asker.ask("GET", f"{PODS}/a"))[0] == 404

    asking(work)


def test_a_bound_pod_ends_gracefully() -> None:
    async def work(asker: Asker) -> None:
        asker.server.create(pod(nodeName="n1"))
        _, left = await asker.ask("DELETE", f"{PODS}/a")
        assert left["metadata"]["deletionGracePeriodSeconds"] == 30
        version = left["metadata"]["resourceVersion"]
        _, again = await asker.ask("DELETE", f"{PODS}/a")
        assert again["metadata"]["resourceVersion"] == version
        asker.server.delete("Pod", "default/a")
        assert asker.server.get("Pod", "default/a") is None

    asking(work, ApiServer(graceful=True))


@pytest.mark.parametrize("given", [{"uid": "another"}, {"resourceVersion": "1"}])
def test_preconditions(given: dict[str, str]) -> None:
    async def work(asker: Asker) -> None:
        _, made = await asker.ask("POST", PODS, pod())
        path = f"{PODS}/a"
        assert (await asker.ask("DELETE", path, {"preconditions": given}))[0] == 409
        refused = 422 if "uid" in given else 409
        assert (await asker.ask("PATCH", path, {"metadata": given}, MERGE))[0] == refused
        assert (await asker.ask("PATCH", f"{path}/status", {"metadata": given}, STRATEGIC))[0] == refused
        changed = made | {"metadata": made["metadata"] | given}
        assert (await asker.ask("PUT", path, changed))[0] == 409
        assert (await asker.ask("PUT", path, made))[0] == 200
        right = {key: made["metadata"][key] for key in given}
        assert (await asker.ask("DELETE", path, {"preconditions": right}))[0] == 200

    asking(work)


def test_status_and_the_rest_are_written_apart() -> None:
    async def work(asker: Asker) -> None:
        _, made = await asker.ask("POST", PODS, pod())
        made["metadata"]["labels"] = {"a": "b"}
        made["status"] = {"phase": "Running"}
        _, first = await asker.ask("PUT", f"{PODS}/a", made)
        assert (first["metadata"]["labels"], first["status"]["phase"]) == ({"a": "b"}, "Pending")
        first["metadata"]["labels"] = {"a": "c"}
        first["status"] = {"phase": "Running"}
        _, second = await asker.ask("PUT", f"{PODS}/a/status", first)
        assert (second["metadata"]["labels"], second["status"]["phase"]) == ({"a": "c"}, "Running")

    asking(work)


def test_a_write_that_changes_nothing_makes_no_version() -> None:
    async def work(asker: Asker) -> None:
        _, made = await asker.ask("POST", PODS, pod())
        _, same = await asker.ask("PATCH", f"{PODS}/a", {"metadata": {"labels": None}}, MERGE)
        assert same == made

    asking(work)


def test_the_node_of_a_pod_comes_from_binds_alone() -> None:
    async def work(asker: Asker) -> None:
        await asker.ask("POST", PODS, pod())
        status, refused = await asker.ask("PATCH", f"{PODS}/a", {"spec": {"nodeName": "n1"}}, MERGE)
        assert (status, refused["reason"]) == (422, "Invalid")

    asking(work)


def test_strategic_patches_merge_conditions_by_type() -> None:
    async def work(asker: Asker) -> None:
        made = asker.server.create(
            pod() | {"status": {"conditions": [{"type": "A", "status": "True", "reason": "r"}]}}
        )
        patch = {
            "status": {"conditions": [{"type": "A", "status": "False"}, {"type": "B", "status": "True"}]}
        }
        _, new = await asker.ask("PATCH", f"{PODS}/a/status", patch, STRATEGIC)
        assert new["status"]["conditions"] == [
            {"type": "A", "status": "False", "reason": "r"},
            {"type": "B", "status": "True"},
        ]
        gone = {"status": {"conditions": [{"type": "A", "$patch": "delete"}]}}
        _, new = await asker.ask("PATCH", f"{PODS}/a/status", gone, STRATEGIC)
        assert [each["type"] for each in new["status"]["conditions"]] == ["B"]
        _, new = await asker.ask("PATCH", f"{PODS}/a/status", {"status": {"conditions": []}}, MERGE)
        assert new["status"]["conditions"] == []
        assert made["status"]["conditions"][0]["status"] == "True"
        assert (await asker.ask("PATCH", f"{PODS}/a", [], "application/json-patch+json"))[0] == 415

    asking(work)


def test_writes_may_ask_for_the_metadata_alone() -> None:
    async def work(asker: Asker) -> None:
        accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
        _, made = await asker.ask("POST", PODS, pod(), Accept=accept)
        assert (made["kind"], "spec" in made) == ("PartialObjectMetadata", False)

    asking(work)


def test_events_are_validated() -> None:
    event = {
        "metadata": {"name": "e", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "c",
        "reportingInstance": "i",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"namespace": "default"},
        "note": "x",
    }

    async def work(asker: Asker) -> None:
        path = "/apis/events.k8s.io/v1/namespaces/default/events"
        assert (await asker.ask("POST", path, event))[0] == 201
        for wrong in ({"reason": ""}, {"note": "x" * 1025}, {"regarding": {}}):
            named = {"metadata": {"name": "f"}}
            other = path.replace("default", "other")
            assert (await asker.ask("POST", other, event | named | wrong))[0] == 422

    asking(work)


def test_who_asks_and_what_is_forbidden() -> None:
    async def work(asker: Asker) -> None:
        server = asker.server
        assert (await asker.ask("GET", PODS, Authorization="Bearer wrong"))[0] == 401
        server.forbid("list", "pods", user="admin")
        status, refused = await asker.ask("GET", PODS)
        assert (status, refused["reason"]) == (403, "Forbidden")
        other = server.config_of("other")["users"][0]["user"]["token"]
        assert (await asker.ask("GET", PODS, Authorization=f"Bearer {other}"))[0] == 200
        assert [(each.user, each.status) for each in server.requests] == [("admin", 403), ("other", 200)]

    asking(work)


def test_a_hook_refuses() -> None:
    def deny(request: Request) -> None:
        if request.resource == "pods/binding":
            raise Refusal(403, "admission webhook denied the request")

    async def work(asker: Asker) -> None:
        asker.server.hooks.append(deny)
        await asker.ask("POST", PODS, pod())
        status, refused = await asker.ask("POST", f"{PODS}/a/binding", binding("n1"))
        assert (status, "webhook" in refused["message"]) == (403, True)
        assert "nodeName" not in asker.server.list("Pod")[0]["spec"]

    asking(work)


def test_what_is_not_there() -> None:
    async def work(asker: Asker) -> None:
        for method, path, expected in (
            ("GET", f"{PODS}/none", 404),
            ("GET", "/api/v1/secrets", 404),
            ("GET", "/apis/none/v1", 404),
            ("PATCH", "/api/v1/pods", 405),
            ("POST", f"{PODS}/a/exec", 405),
            ("DELETE", PODS, 405),
        ):
            assert (await asker.ask(method, path))[0] == expected, path
        assert (await asker.ask("GET", "/version"))[1]["minor"] == "36"
        _, served = await asker.ask("GET", "/apis/policy/v1")
        assert [each["name"] for each in served["resources"]] == [
            "poddisruptionbudgets",
            "poddisruptionbudgets/status",
        ]

    asking(work)


def test_apply_keeps_the_identity() -> None:
    server = ApiServer()
    made = server.apply({"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1"}}})
    new = server.apply({"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "2"}}})
    assert new["metadata"]["uid"] == made["metadata"]["uid"]
    assert new["status"]["allocatable"] == {"cpu": "2"}
    with pytest.raises(ValueError, match="no kind Widget"):
        server.get("Widget", "w")
