"""What a scheduler may rely on: the double answers as an API server does."""

from __future__ import annotations

from typing import Any

import pytest

from .place import Place

METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"


def condition(pod: dict[str, Any], type: str) -> dict[str, Any]:
    return next((each for each in pod["status"].get("conditions", ()) if each["type"] == type), {})


def test_creation(place: Place) -> None:
    made = place.make_pod("a")
    assert made["metadata"]["uid"]
    assert made["metadata"]["generation"] == 1
    assert (made["status"]["phase"], made["spec"]["priority"]) == ("Pending", 0)
    assert place.get_pod("a") == made
    body = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    status, refused = place.ask("POST", place.pods, {"kind": "Pod", "apiVersion": "v1", **body})
    assert (status, refused["reason"]) == (409, "AlreadyExists")


def test_bind(place: Place) -> None:
    pod = place.make_pod("a")
    assert place.bind("a", "n1", "another")[0] == 409
    assert place.bind("none", "n1")[0] == 404
    assert place.bind("a", "", pod["metadata"]["uid"])[0] == 500
    assert place.bind("a", "n1", pod["metadata"]["uid"])[0] == 200
    bound = place.get_pod("a")
    assert bound["spec"]["nodeName"] == "n1"
    assert condition(bound, "PodScheduled")["status"] == "True"
    for node in ("n1", "n2"):
        status, refused = place.bind("a", node, pod["metadata"]["uid"])
        assert (status, refused["reason"]) == (409, "Conflict")


def test_a_gated_pod_is_not_bound(place: Place) -> None:
    pod = place.make_pod("a", schedulingGates=[{"name": "g.example/x"}])
    assert condition(pod, "PodScheduled")["reason"] == "SchedulingGated"
    assert place.bind("a", "n1")[0] == 409
    gates = {"spec": {"schedulingGates": None}}
    status, freed = place.ask("PATCH", f"{place.pods}/a", gates, "merge")
    assert status == 200
    assert "schedulingGates" not in freed["spec"]
    assert place.bind("a", "n1")[0] == 200


@pytest.mark.parametrize("given", [{"uid": "another"}, {"resourceVersion": "1"}])
def test_preconditions(place: Place, given: dict[str, str]) -> None:
    made = place.make_pod("a")
    path = f"{place.pods}/a"
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": given}
    for answer in (
        place.ask("DELETE", path, options),
        place.ask("PUT", path, made | {"metadata": made["metadata"] | given}),
    ):
        assert (answer[0], answer[1]["reason"]) == (409, "Conflict")
    # A patch with another uid is no conflict: it tries to change the uid.
    expected = (422, "Invalid") if "uid" in given else (409, "Conflict")
    for answer in (
        place.ask("PATCH", path, {"metadata": given}, "merge"),
        place.ask("PATCH", f"{path}/status", {"metadata": given}, "strategic"),
    ):
        assert (answer[0], answer[1]["reason"]) == expected
        assert "metadata.uid" in answer[1]["message"] or "uid" not in given
    assert place.ask("PUT", path, made)[0] == 200


def test_deletion(place: Place) -> None:
    place.make_pod("a")
    assert place.ask("DELETE", f"{place.pods}/a")[0] == 200
    assert place.get_pod("a") == {}
    place.make_pod("b", terminationGracePeriodSeconds=30)
    place.bind("b", "n1")
    status, ending = place.ask("DELETE", f"{place.pods}/b")
    assert (status, ending["metadata"]["deletionGracePeriodSeconds"]) == (200, 30)
    version = place.get_pod("b")["metadata"]["resourceVersion"]
    place.ask("DELETE", f"{place.pods}/b")
    assert place.get_pod("b")["metadata"]["resourceVersion"] == version
    now = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    place.ask("DELETE", f"{place.pods}/b", now)
    assert place.get_pod("b") == {}


def test_finalizers(place: Place) -> None:
    place.make_pod("a")
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    assert place.ask("PATCH", f"{place.pods}/a", held, "merge")[0] == 200
    place.ask("DELETE", f"{place.pods}/a")
    assert place.get_pod("a")["metadata"]["deletionTimestamp"]
    assert place.bind("a", "n1")[0] == 409
    assert place.ask("PATCH", f"{place.pods}/a", {"metadata": {"finalizers": None}}, "merge")[0] == 200
    assert place.get_pod("a") == {}


def test_status_and_the_rest_are_written_apart(place: Place) -> None:
    made = place.make_pod("a")
    made["metadata"]["labels"] = {"a": "b"}
    made["status"]["nominatedNodeName"] = "n1"
    _, first = place.ask("PUT", f"{place.pods}/a", made)
    assert (first["metadata"]["labels"], first["status"].get("nominatedNodeName")) == ({"a": "b"}, None)
    first["metadata"]["labels"] = {"a": "c"}
    first["status"]["nominatedNodeName"] = "n1"
    _, second = place.ask("PUT", f"{place.pods}/a/status", first)
    assert (second["metadata"]["labels"], second["status"]["nominatedNodeName"]) == ({"a": "c"}, "n1")
    place.bind("a", "n1")
    assert "nominatedNodeName" not in place.get_pod("a")["status"]


def test_conditions_are_merged_by_type(place: Place) -> None:
    place.make_pod("a")
    path = f"{place.pods}/a/status"
    for type, status in (("A", "True"), ("B", "True"), ("A", "False")):
        patch = {"status": {"conditions": [{"type": type, "status": status}]}}
        assert place.ask("PATCH", path, patch, "strategic")[0] == 200
    pod = place.get_pod("a")
    assert (condition(pod, "A")["status"], condition(pod, "B")["status"]) == ("False", "True")


ORDER = "$setElementOrder/conditions"


@pytest.mark.parametrize(
    ("types", "order", "expected"),
    [
        ("c", "", "cab"),
        ("c", "abc", "abc"),
        ("b", "", "ab"),
        ("cb", "", "cab"),
        ("bc", "bca", "bca"),
        ("ac", "dac", "acb"),
    ],
)
def test_the_order_of_conditions(place: Place, types: str, order: str, expected: str) -> None:
    """New items come before what follows; an order may be given."""
    place.make_pod("p")
    path = f"{place.pods}/p/status"
    body: Any = {"conditions": [{"type": type, "status": "True"} for type in "ab"]}
    assert place.ask("PATCH", path, {"status": body}, "merge")[0] == 200
    patch: Any = {"conditions": [{"type": type, "status": "False"} for type in types]}
    if order:
        patch[ORDER] = [{"type": type} for type in order]
    assert place.ask("PATCH", path, {"status": patch}, "strategic")[0] == 200
    assert "".join(each["type"] for each in place.get_pod("p")["status"]["conditions"]) == expected


def test_a_write_that_changes_nothing_makes_no_version(place: Place) -> None:
    made = place.make_pod("a")
    _, same = place.ask("PATCH", f"{place.pods}/a", {"metadata": {"labels": None}}, "merge")
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_immutable_fields(place: Place) -> None:
    place.make_pod("a")
    status, refused = place.ask("PATCH", f"{place.pods}/a", {"spec": {"nodeName": "n1"}}, "merge")
    assert (status, refused["reason"]) == (422, "Invalid")


def test_a_class_of_priority_that_is_not_there(place: Place) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "priorityClassName": "schedframe-none"}
    status, _ = place.ask("POST", place.pods, {"kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
    assert status == 403


def test_pages(place: Place) -> None:
    for name in "abc":
        place.make_pod(name)
    _, first = place.ask("GET", f"{place.pods}?limit=2")
    assert [each["metadata"]["name"] for each in first["items"]] == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 1
    place.ask("DELETE", f"{place.pods}/c")
    _, second = place.ask("GET", f"{place.pods}?limit=2&continue={first['metadata']['continue']}")
    assert [each["metadata"]["name"] for each in second["items"]] == ["c"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]
    assert place.ask("GET", f"{place.pods}?limit=2&continue=nonsense")[0] == 400


def test_selectors(place: Place) -> None:
    place.make_pod("a")
    place.make_pod("b")
    place.bind("b", "n1")
    for selector, expected in (
        ("fieldSelector=spec.nodeName%3Dn1", ["b"]),
        ("fieldSelector=spec.nodeName%3D", ["a"]),
        ("fieldSelector=status.phase!%3DFailed,metadata.name%3Da", ["a"]),
        ("labelSelector=!none", ["a", "b"]),
        ("labelSelector=none+in+(a,b)", []),
    ):
        _, listed = place.ask("GET", f"{place.pods}?{selector}")
        assert [each["metadata"]["name"] for each in listed["items"]] == expected, selector
    assert place.ask("GET", f"{place.pods}?fieldSelector=spec.color%3Dred")[0] == 400


def test_a_watch(place: Place) -> None:
    place.make_pod("a")
    _, listed = place.ask("GET", place.pods)
    version = listed["metadata"]["resourceVersion"]
    place.make_pod("b")
    place.bind("a", "n1")
    place.ask("DELETE", f"{place.pods}/b")
    events = place.watch(f"{place.pods}?watch=true&resourceVersion={version}&timeoutSeconds=5", 4)
    assert [(each["type"], each["object"]["metadata"]["name"]) for each in events] == [
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("MODIFIED", "b"),
        ("DELETED", "b"),
    ]
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in events]
    assert versions == sorted(versions)


def test_a_watch_waits_for_a_version_that_is_to_come(place: Place) -> None:
    _, listed = place.ask("GET", place.pods)
    version = int(listed["metadata"]["resourceVersion"]) + 100_000
    assert place.watch(f"{place.pods}?watch=true&resourceVersion={version}&timeoutSeconds=1", 1) == []


def test_an_object_that_is_no_longer_selected(place: Place) -> None:
    made = place.make_pod("a")
    version = made["metadata"]["resourceVersion"]
    place.bind("a", "n1")
    selector = "fieldSelector=spec.nodeName%3D"
    events = place.watch(f"{place.pods}?watch=true&resourceVersion={version}&timeoutSeconds=5&{selector}", 1)
    (event,) = events
    assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "a")
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(version)


def test_a_streaming_list(place: Place) -> None:
    place.make_pod("a")
    path = f"{place.pods}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=5"
    events = place.watch(f"{path}&resourceVersionMatch=NotOlderThan", 2)
    assert [each["type"] for each in events] == ["ADDED", "BOOKMARK"]
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_lease_has_one_holder(place: Place) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{place.name}/leases"
    lease = {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15},
    }
    made = place.make(leases, lease)
    assert place.ask("POST", leases, lease)[0] == 409
    mine = made | {"spec": made["spec"] | {"holderIdentity": "b"}}
    assert place.ask("PUT", f"{leases}/l", mine)[0] == 200
    status, refused = place.ask("PUT", f"{leases}/l", made)
    assert (status, refused["reason"]) == (409, "Conflict")


def test_events(place: Place) -> None:
    events = f"/apis/events.k8s.io/v1/namespaces/{place.name}/events"
    event = {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "c.example/x",
        "reportingInstance": "i",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": place.name, "name": "a"},
        "note": "x",
    }
    place.make(events, event)
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}
    status, patched = place.ask("PATCH", f"{events}/e", series, "strategic")
    assert (status, patched["series"]["count"]) == (200, 2)
    for wrong in ({"reason": ""}, {"note": "x" * 1025}, {"regarding": {"kind": "Node"}}):
        named = {"metadata": {"name": "f"}}
        assert place.ask("POST", events, event | named | wrong)[0] == 422, wrong


def test_metadata_alone(place: Place) -> None:
    place.make_pod("a")
    _, made = place.ask(
        "PATCH", f"{place.pods}/a", {"metadata": {"labels": {"x": "y"}}}, "merge", METADATA_ONLY
    )
    assert (made["kind"], made["metadata"]["labels"], "spec" in made) == (
        "PartialObjectMetadata",
        {"x": "y"},
        False,
    )


def test_what_is_not_there(place: Place) -> None:
    for method, path, expected in (
        ("GET", f"{place.pods}/none", 404),
        ("DELETE", f"{place.pods}/none", 404),
        ("GET", "/apis/none.example/v1", 404),
        ("PATCH", f"{place.pods}/none", 415),
        ("POST", f"{place.pods}/none", 405),
    ):
        assert place.ask(method, path, {} if method != "GET" else None)[0] == expected, (method, path)
