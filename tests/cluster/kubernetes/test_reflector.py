"""Reflectors: pages, resumed watches, lost history, broken lines, and what watchers get to know of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from schedframe.cluster import WatchEvent
from schedframe.cluster.kubernetes import backoff
from schedframe.cluster.kubernetes.errors import NoAnswer, Unreachable
from schedframe.cluster.kubernetes.reflector import Reflector
from schedframe.cluster.kubernetes.resources import known_resource

from .scripted import ScriptedClient, listed, pod, refusal, run

Seen = tuple[str, str, str, bool]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.001)


def event(type: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": type, "object": obj}


def bookmark(version: str) -> dict[str, Any]:
    return event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": version}})


GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version"}}


def followed(
    client: ScriptedClient, *, watches: int, can_stream: bool = False
) -> tuple[list[Seen], Reflector]:
    """Return the events of a watcher, once *watches* were opened and the last one has nothing more."""
    resource = known_resource("Pod")
    assert resource is not None
    events: list[Seen] = []

    def take(event: WatchEvent) -> None:
        versions = [
            f"{each.uid}@{each.metadata.resource_version}" if each else "" for each in (event.old, event.new)
        ]
        events.append((event.type, *versions, event.old_is_stale))

    async def follow() -> Reflector:
        reflector = Reflector(client, resource, can_stream)  # type: ignore[arg-type]  # it stands in
        reflector._backoff.first = 0.001
        reflector.shown.add_handler(take)
        task = asyncio.create_task(reflector.run())
        while client.methods().count("WATCH") < watches:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return reflector

    return events, run(follow)


def test_pages_then_changes() -> None:
    client = ScriptedClient(
        [listed("9", pod("a"), more="token/1"), listed("10", pod("b", "2"))],
        [
            [
                [event("MODIFIED", pod("a", "11")), event("ADDED", pod("c", "12"))],
                [event("DELETED", pod("b", "13"))],
            ]
        ],
    )
    events, reflector = followed(client, watches=1)
    assert events == [
        ("ADDED", "", "uid-a@1", False),
        ("ADDED", "", "uid-b@2", False),
        ("MODIFIED", "uid-a@1", "uid-a@11", False),
        ("ADDED", "", "uid-c@12", False),
        ("DELETED", "uid-b@2", "", False),
    ]
    assert sorted(reflector.shown.objects) == ["default/a", "default/c"]
    assert "continue=token/1" in client.sent[1].path
    assert "resourceVersion=10&" in client.sent[2].path
    assert all("fieldSelector=status.phase%21%3DSucceeded" in each.path for each in client.sent)


@pytest.mark.parametrize(
    "end", ["end", NoAnswer("reset"), NoAnswer("quiet", is_quiet=True), [b'{"type": "MODI']]
)
def test_a_watch_that_ends_is_resumed_at_the_last_version(end: Any) -> None:
    client = ScriptedClient(
        [listed("10", pod("a")), listed("20", pod("a", "11"))],
        [[[event("MODIFIED", pod("a", "11")), bookmark("20")], end], [[event("DELETED", pod("a", "21"))]]],
    )
    events, reflector = followed(client, watches=2)
    assert [each[0] for each in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert "resourceVersion=20&" in client.sent[-1].path
    assert reflector.lists == 1


@pytest.mark.parametrize("lost", [[[[GONE]]], [[refusal(410)]]])
def test_a_lost_history_is_the_difference_of_two_lists(lost: Any) -> None:
    client = ScriptedClient(
        [
            listed("10", pod("gone"), pod("same"), pod("changed"), pod("again", uid="old")),
            listed(
                "20", pod("same"), pod("changed", "15"), pod("again", "16", uid="new"), pod("fresh", "17")
            ),
        ],
        lost,
    )
    events, reflector = followed(client, watches=2)
    assert events[4:] == [
        ("DELETED", "uid-gone@1", "", True),
        ("MODIFIED", "uid-changed@1", "uid-changed@15", False),
        ("MODIFIED", "old@1", "new@16", False),
        ("ADDED", "", "uid-fresh@17", False),
    ]
    assert reflector.lists == 2


def test_a_list_that_fails_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    client = ScriptedClient(
        [Unreachable("no route"), refusal(403, "Forbidden"), refusal(503), listed("10", pod("a"))]
    )
    events, reflector = followed(client, watches=1)
    assert events == [("ADDED", "", "uid-a@1", False)]
    assert reflector.failure is None
    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == [
        "cannot follow pods, trying again: no route"
    ]


def test_a_right_that_is_missing_is_named(caplog: pytest.LogCaptureFixture) -> None:
    followed(ScriptedClient([refusal(403, "Forbidden"), listed("10")]), watches=1)
    assert "apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch']" in caplog.text


def test_an_object_that_cannot_be_read_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    bad = pod("bad", "12")
    bad["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "many"}}
    client = ScriptedClient(
        [listed("10", pod("a"), bad)], [[[event("MODIFIED", bad), event("MODIFIED", pod("a", "13"))]]]
    )
    events, reflector = followed(client, watches=1)
    assert [each[0] for each in events] == ["ADDED", "MODIFIED"]
    assert reflector._version == "13"
    assert "cannot be read" in caplog.text


def test_an_event_that_is_known_already_is_no_event() -> None:
    client = ScriptedClient(
        [listed("10", pod("a"))], [[[event("ADDED", pod("a")), event("DELETED", pod("x", "9"))]]]
    )
    events, _ = followed(client, watches=1)
    assert len(events) == 1


def test_an_old_event_that_comes_again_changes_nothing() -> None:
    again = [
        event("MODIFIED", pod("a", "12")),
        event("ADDED", pod("a", "11")),
        event("DELETED", pod("a", "9")),
        event("MODIFIED", pod("a", "13")),
    ]
    events, reflector = followed(ScriptedClient([listed("10", pod("a", "10"))], [[again]]), watches=1)
    assert [each[2] for each in events] == ["uid-a@10", "uid-a@12", "uid-a@13"]
    assert reflector._version == "13"


def test_a_later_watcher_gets_the_present_state() -> None:
    client = ScriptedClient([listed("10", pod("a"))])
    _, reflector = followed(client, watches=1)
    late: list[WatchEvent] = []
    reflector.shown.add_handler(late.append)
    assert [(each.type, each.new.name) for each in late] == [("ADDED", "a")]


END_OF_LIST = event(
    "BOOKMARK",
    {"metadata": {"resourceVersion": "10", "annotations": {"k8s.io/initial-events-end": "true"}}},
)


def test_a_list_may_come_as_a_stream() -> None:
    client = ScriptedClient(
        [],
        [
            [
                [event("ADDED", pod("a")), event("ADDED", pod("b", "2"))],
                [event("DELETED", pod("b", "3")), bookmark("4"), END_OF_LIST],
            ],
            [[event("ADDED", pod("c", "11"))]],
        ],
    )
    events, _ = followed(client, watches=2, can_stream=True)
    assert events == [("ADDED", "", "uid-a@1", False), ("ADDED", "", "uid-c@11", False)]
    assert "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&" in client.sent[0].path
    assert "resourceVersion=10&" in client.sent[1].path


def test_a_streaming_list_that_breaks_is_begun_again() -> None:
    whole = [[event("ADDED", pod("b")), END_OF_LIST]]
    client = ScriptedClient([], [[[event("ADDED", pod("a"))], "end"], whole, []])
    events, reflector = followed(client, watches=3, can_stream=True)
    assert events == [("ADDED", "", "uid-b@1", False)]
    assert reflector.lister.can_stream


@pytest.mark.parametrize(
    "answer", [[refusal(422, "Invalid")], [[event("ADDED", pod("a"))], NoAnswer("quiet", is_quiet=True)]]
)
def test_a_server_without_streaming_lists_is_read_in_pages(answer: Any) -> None:
    client = ScriptedClient([listed("10", pod("a"))], [answer])
    events, reflector = followed(client, watches=2, can_stream=True)
    assert events == [("ADDED", "", "uid-a@1", False)]
    assert client.methods() == ["WATCH", "GET", "WATCH"]
    assert not reflector.lister.can_stream


def test_a_list_that_grows_too_old_between_two_pages_is_read_whole() -> None:
    client = ScriptedClient(
        [listed("9", pod("a"), more="token"), refusal(410, "Expired"), listed("12", pod("a"), pod("b"))]
    )
    events, reflector = followed(client, watches=1)
    assert [each[2] for each in events] == ["uid-a@1", "uid-b@1"]
    assert [("limit=0" in each.path, "continue" in each.path) for each in client.sent[:3]] == [
        (False, False),
        (False, True),
        (True, False),
    ]
    assert reflector.lists == 1


def test_what_cannot_be_read_any_more_goes_when_it_is_deleted() -> None:
    bad = pod("a", "12")
    bad["spec"] = "none"
    client = ScriptedClient([listed("10", pod("a"))], [[[event("MODIFIED", bad), event("DELETED", bad)]]])
    events, reflector = followed(client, watches=1)
    assert [each[0] for each in events] == ["ADDED", "DELETED"]
    assert reflector.shown.objects == {}


def test_a_fault_does_not_end_a_reflector(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    take, faults = Reflector._take, [ZeroDivisionError("a fault")]

    def fail_once(reflector: Reflector, type: str, obj: Any) -> None:
        if faults:
            raise faults.pop()
        take(reflector, type, obj)

    monkeypatch.setattr(Reflector, "_take", fail_once)
    change = [[event("ADDED", pod("b", "11"))]]
    client = ScriptedClient([listed("10", pod("a")), listed("11", pod("a"), pod("b", "11"))], [change, []])
    events, reflector = followed(client, watches=2)
    assert [each[2] for each in events] == ["uid-a@1", "uid-b@11"]
    assert reflector.lists == 2
    assert "a fault while following pods; listing again" in caplog.text
