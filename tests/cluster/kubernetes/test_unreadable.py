"""Objects that cannot be read: they hide no other one, and what they may mean is decided on the safe side."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import KINDS, NamespacedObject, Node, Pod, ResourceClaim
from schedframe.cluster.kubernetes.client import _api_error
from schedframe.cluster.kubernetes.decoding import Decoder, WatchFailure
from schedframe.cluster.kubernetes.resources import find_resource, offers_streams
from schedframe.cluster.kubernetes.unreadable import CLAIMS, LIMITING, MOST_LOST, WAITED_FOR, Unreadable
from schedframe.cycle.handlers import STORED_KINDS
from schedframe.errors import ClusterError
from schedframe.http.parser import Reply
from tests.profiles import many

from .samples import SAMPLES
from .scripted import ScriptedClient, listed, pod, run

Obj = dict[str, Any]


class Own(NamespacedObject):
    KIND = "example.com/Own"
    API_VERSION = "example.com/v1"


def deep(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def raw(manifest: Obj, depth: int = 0) -> bytes:
    """Return the JSON of *manifest*; ``"DEEP"`` in it is nested *depth* times."""
    return json.dumps(manifest).replace('"DEEP"', deep(depth)).encode()


def page_of(*items: bytes) -> bytes:
    return b'{"metadata":{"resourceVersion":"9"},"items":[%b]}' % b",".join(items)


def event_of(item: bytes, type: bytes = b"MODIFIED") -> bytes:
    return b'{"type":"%b","object":%b}' % (type, item)


# ---- decoding ----------------------------------------------------------------------------------------------


# One scanner, which knows no kind, skips all of it: the deepest is tried with one kind.
@pytest.mark.parametrize(("kind", "depth"), [*product(KINDS, [900, 2000, 5000]), ("Pod", 100_000)])
def test_what_is_not_read_may_be_nested_as_deep_as_it_likes(kind: str, depth: int) -> None:
    metadata = {"name": "a", "labels": {"x": "y"}, "resourceVersion": "7"}
    plain = raw({"metadata": metadata})
    strange = raw({"metadata": {**metadata, "managedFields": [{"fieldsV1": "DEEP"}]}, "later": "DEEP"}, depth)
    decoder = Decoder(KINDS[kind])
    assert decoder.one(strange) == decoder.one(plain)
    assert decoder.page(page_of(plain, strange)).objects == [decoder.one(plain)] * 2
    assert decoder.event(event_of(strange)) == ("MODIFIED", decoder.one(plain))


@pytest.mark.parametrize("depth", [600, 2000, 100_000])
def test_a_claim_with_deep_parameters_is_left_out_by_name(
    depth: int, caplog: pytest.LogCaptureFixture
) -> None:
    def claim(name: str, parameters: Any) -> bytes:
        config = [{"opaque": {"driver": "d.example.com", "parameters": parameters}}]
        metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": "7"}
        return raw({"metadata": metadata, "spec": {"devices": {"config": config}}}, depth)

    decoder, evil = Decoder(ResourceClaim), claim("evil", "DEEP")
    page = decoder.page(page_of(claim("a", {}), evil, claim("b", {"x": [1]})))
    assert [each.key for each in page.objects] == ["team/a", "team/b"]
    assert [each.key for each in page.unreadable] == ["team/evil"]
    assert page.unreadable[0].part.uid == "uid-evil"
    for _ in range(3):
        type, left = decoder.event(event_of(evil))
        assert (type, left.key, left.metadata.resource_version) == ("UNREADABLE", "team/evil", "7")
    with pytest.raises(ClusterError, match=r"ResourceClaim that cannot be read: .*parameters: nesting"):
        decoder.one(evil)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "ResourceClaim team/evil is left out" in caplog.text
    type, gone = decoder.event(event_of(evil, b"DELETED"))
    assert (type, gone.key) == ("DELETED", "team/evil")
    decoder.event(event_of(evil))
    assert caplog.text.count("is left out") == 2


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "a", "annotations": "text"},
        {"name": "a", "annotations": ["list"]},
        {"name": "a", "annotations": {"key": 5}},
        {"name": "a", "labels": None, "managedFields": 5},
        {"name": "a", "labels": "text", "uid": 7},
        {"name": "a", "ownerReferences": [None]},
    ],
)
@pytest.mark.parametrize("type", [b"ADDED", b"DELETED"])
def test_metadata_of_any_form(metadata: Obj, type: bytes) -> None:
    item = raw({"metadata": {**metadata, "resourceVersion": "7"}, "spec": "none"})
    _, found = Decoder(Node).event(event_of(item, type))
    assert (found.key, found.metadata.resource_version) == ("a", "7")


@pytest.mark.parametrize("status", [b"DEEP", b'{"code": "x"}', b'{"message": "\xff"}', b'{"details": DEEP}'])
def test_errors_of_the_server_of_any_form(status: bytes) -> None:
    body = status.replace(b"DEEP", deep(5000).encode())
    with pytest.raises(WatchFailure):
        Decoder(Pod).event(event_of(body, b"ERROR"))
    error = _api_error("GET /api", Reply(429, {"retry-after": "²"}, body))
    assert (error.status, error.retry_after) == (429, None)
    assert not offers_streams(body)


@pytest.mark.parametrize("answer", [b"[]", b"{", b'{"resources": [{"name": "\xff"}]}', b'{"x": DEEP}'])
def test_lists_of_kinds_of_any_form(answer: bytes) -> None:
    client = ScriptedClient([answer.replace(b"DEEP", deep(5000).encode())])
    with pytest.raises(ClusterError, match=r"list of the kinds in /apis/example.com/v1 cannot be read"):
        run(lambda: find_resource(client, Own))  # type: ignore[arg-type]  # it stands in for the client


def test_objects_without_a_name_do_not_end_a_watch(caplog: pytest.LogCaptureFixture) -> None:
    decoder = Decoder(Pod)
    for item in (b'{"metadata": 5}', b'{"spec": 5}', b'{"metadata": {"name": 5}, "spec": []}'):
        assert decoder.event(event_of(item)) == ("BOOKMARK", "")
    page = decoder.page(page_of(b"null", b"5", raw(pod("a")), b'"text"', b"[[]]"))
    assert [each.name for each in page.objects] == ["a"]
    assert caplog.text.count("an item of a list of Pod is left out") == 4


def test_texts_that_are_no_unicode_are_read_as_go_reads_them() -> None:
    made = raw(pod("a", "7")).replace(b'"name": "c"', b'"name": "c", "image": "\\ud800\xff"')
    decoder = Decoder(Pod)
    expected = "\ufffd\ufffd"
    assert decoder.one(made).spec.containers[0].image == expected
    assert decoder.page(page_of(made)).objects[0].spec.containers[0].image == expected
    assert decoder.event(event_of(made))[1].spec.containers[0].image == expected


def test_a_class_that_fails_in_any_way_hides_no_other_object(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = Decoder(Pod)
    value = decoder._value

    def failing(manifest: Any) -> Any:
        if manifest["metadata"]["name"] == "bad" and "labels" in manifest["metadata"]:
            raise ZeroDivisionError("as a class of a package might")
        return value(manifest)

    monkeypatch.setattr(decoder, "_value", failing)
    bad = pod("bad", node="n1")
    bad["metadata"]["labels"] = {}
    page = decoder.page(json.dumps(listed("9", pod("a"), bad)).encode())
    assert [each.name for each in page.objects] == ["a"]
    left = page.unreadable[0]
    assert (left.part.spec.node_name, left.hides_requests) == ("n1", True)


def test_more_mistakes_than_are_looked_for_leave_the_names() -> None:
    bad = pod("bad", node="n1")
    bad["spec"]["containers"] = [{"name": 5} for _ in range(MOST_LOST + 1)]
    _, left = Decoder(Pod).event(event_of(raw(bad)))
    assert isinstance(left, Unreadable)
    assert (left.part.name, left.part.spec.node_name, left.hides_requests) == ("bad", "n1", True)


ODD: list[Any] = [
    *(
        None,
        [],
        {},
        "",
        0,
        -1,
        1.5,
        True,
        1e308,
        10**30,
        2**63,
        "HUGE",
        "é",
        "\ud800",
        "a/b",
        "1e999999999",
        "1Ki1",
    ),
    *(
        [None],
        {"a": None},
        [[]],
        {"": {}},
        [1],
        ["x", None],
        "DEEP",
        {"a": "DEEP"},
        ["DEEP"],
        " 1",
        "x" * 300,
    ),
]


def places(value: Any, steps: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [steps, *(place for step, each in inside for place in places(each, (*steps, step)))]


@many
@given(st.data())
def test_nothing_but_cluster_errors_leaves_the_decoder(data: st.DataObject) -> None:
    """And what is beside the object is read."""
    kind = data.draw(st.sampled_from(sorted(SAMPLES)))
    whole = copy.deepcopy(SAMPLES[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        *steps, last = data.draw(st.sampled_from(places(whole)[1:] or [("metadata",)]))
        place = whole
        for step in steps:
            place = place[step]
        if isinstance(place, dict) and data.draw(st.integers(0, 3)) == 0:
            last = data.draw(st.sampled_from(["metadata", "spec", "items", "labels", "x"]))
        place[last] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
    item = raw(whole, data.draw(st.sampled_from((1, 700, 3000)))).replace(b'"HUGE"', b"9" * 5000)
    good = raw(SAMPLES[kind])
    decoder = Decoder(KINDS[kind])
    page = decoder.page(page_of(good, item, good))
    assert page.objects[0] == decoder.one(good)
    assert len(page.objects) + len(page.unreadable) in (2, 3)
    type, _ = decoder.event(event_of(item))
    assert type in ("MODIFIED", "UNREADABLE", "BOOKMARK")
    assert decoder.event(event_of(item, b"DELETED"))[0] == "DELETED"
    with suppress(ClusterError):
        decoder.one(item)


def test_every_followed_kind_has_a_rule() -> None:
    ruled = {"Pod", "Node", *CLAIMS, *LIMITING, *WAITED_FOR}
    assert {*STORED_KINDS} - ruled == set()
    assert len(ruled) == 2 + len(CLAIMS) + len(LIMITING) + len(WAITED_FOR)
    assert ruled <= KINDS.keys()
