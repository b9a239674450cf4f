"""Texts with half of a surrogate pair, which Python can hold and UTF-8 cannot: written as Go writes them."""

from __future__ import annotations

import pytest
from attrs import define, evolve

from schedframe import NodeInfo, Pod, Status, hookimpl
from schedframe.api import PersistentVolumeClaim, from_manifest
from schedframe.cluster.kubernetes.encoding import encode
from schedframe.testing import node
from schedframe.testing import pod as build

from .driven_world import DrivenWorld
from .scripted import ScriptedClient, run
from .test_events import OCCURRENCE, recorded
from .test_writer import writer_of


def test_what_can_be_encoded_is_not_changed() -> None:
    value = {"a": ["é", "\U00010000", "\x00\x1b"], "b": (1, None)}
    assert encode(value) == '{"a":["é","\U00010000","\\u0000\\u001b"],"b":[1,null]}'.encode()
    assert encode({"\ud800": "x\udfff"}) == '{"\ufffd":"x\ufffd"}'.encode()


def test_objects_that_plugins_write() -> None:
    metadata = {"name": "c", "namespace": "shop", "annotations": {"why": "bad \ud800"}}
    claim = from_manifest({"kind": "PersistentVolumeClaim", "metadata": metadata}, strict=False)
    assert isinstance(claim, PersistentVolumeClaim)
    client = ScriptedClient([lambda body: body])
    run(lambda: writer_of(client).create(claim))
    assert client.sent[0].body["metadata"]["annotations"] == {"why": "bad \ufffd"}


@pytest.mark.parametrize(
    ("note", "written"),
    [
        ("bad \ud800", "bad \ufffd"),
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1020 + " ..."),
        ("é" * 512, "é" * 512),
        ("é" * 513, "é" * 510 + " ..."),
        ("x" + "é" * 512, "x" + "é" * 509 + " ..."),
        ("\ud800" * 1024, "\ufffd" * 340 + " ..."),
    ],
)
def test_notes_have_at_most_1024_bytes(note: str, written: str) -> None:
    client = ScriptedClient([{}])
    recorded(client, evolve(OCCURRENCE, note=note))
    assert client.sent[0].body["note"] == written
    assert len(written.encode()) <= 1024


@define(eq=False)
class Odd:
    """Rejects every node, with a reason that is no Unicode."""

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        return Status.unschedulable("bad \ud800 \x1b")


def test_the_reason_of_a_plugin() -> None:
    world = DrivenWorld(plugins=[Odd])
    world.server.create(node("n1").allocatable(cpu="4", pods="10"))
    world.server.create(build("p").requests(cpu="1"))
    world.scheduler.start()
    world.drive(2)
    (condition,) = world.pods()["p"]["status"]["conditions"]
    assert "1 bad \ufffd \x1b." in condition["message"]
    notes = [each["note"] for each in world.server.list("Event")]
    assert notes == [condition["message"]]
    world.server.apply(dict(node("n1").allocatable(cpu="8", pods="10")))
    world.drive(60)
    patches = [each for each in world.server.requests if (each.verb, each.subresource) == ("patch", "status")]
    assert len(patches) == 1  # what the server shows is what was written
    world.close()
