"""Lists in pages, selectors, watches, bookmarks, streaming lists and lost history."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest

from schedframe.testing.api_server import ApiServer

from .asking import PODS, Asker, asking, binding, pod

ALL = "/api/v1/pods"


def names(listed: Any) -> list[str]:
    return [each["metadata"]["name"] for each in listed["items"]]


def types(events: list[Any]) -> list[tuple[str, str]]:
    return [(each["type"], each["object"]["metadata"].get("name", "")) for each in events]


def test_pages_show_one_version() -> None:
    async def work(asker: Asker) -> None:
        for name in "abcd":
            asker.server.create(pod(name))
        _, first = await asker.ask("GET", f"{ALL}?limit=2")
        assert (names(first), first["metadata"]["remainingItemCount"]) == (["a", "b"], 2)
        asker.server.delete("Pod", "default/c")
        asker.server.create(pod("e"))
        more = quote(first["metadata"]["continue"])
        _, second = await asker.ask("GET", f"{ALL}?limit=2&continue={more}")
        assert names(second) == ["c", "d"]
        assert second["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}
        asker.server.compact()
        status, gone = await asker.ask("GET", f"{ALL}?limit=2&continue={more}")
        assert (status, gone["reason"]) == (410, "Expired")
        assert (await asker.ask("GET", f"{ALL}?limit=2&continue=nonsense"))[0] == 400

    asking(work)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("fieldSelector=status.phase!=Succeeded,status.phase!=Failed", ["a", "b"]),
        ("fieldSelector=spec.nodeName=n1", ["b"]),
        ("fieldSelector=metadata.name=c", ["c"]),
        ("labelSelector=app%3Dweb", ["a"]),
        ("labelSelector=app", ["a", "b"]),
        ("labelSelector=!app", ["c"]),
        ("labelSelector=app+in+(web,db)", ["a", "b"]),
        ("labelSelector=app+notin+(web),app", ["b"]),
        ("labelSelector=app!=web", ["b", "c"]),
    ],
)
def test_selectors(selector: str, expected: list[str]) -> None:
    async def work(asker: Asker) -> None:
        labels = {"a": {"app": "web"}, "b": {"app": "db"}, "c": {}}
        for name, more in labels.items():
            made = pod(name, **({"nodeName": "n1"} if name == "b" else {}))
            made["metadata"]["labels"] = more
            asker.server.create(made | ({"status": {"phase": "Failed"}} if name == "c" else {}))
        _, listed = await asker.ask("GET", f"{ALL}?{selector}")
        assert names(listed) == expected

    asking(work)


@pytest.mark.parametrize("selector", ["fieldSelector=spec.color=red", "fieldSelector=x", "labelSelector=a+b"])
def test_selectors_that_are_refused(selector: str) -> None:
    async def work(asker: Asker) -> None:
        assert (await asker.ask("GET", f"{ALL}?{selector}"))[0] == 400

    asking(work)


def test_a_watch_gets_what_happened_since_its_version() -> None:
    async def work(asker: Asker) -> None:
        asker.server.create(pod("a"))
        _, listed = await asker.ask("GET", ALL)
        asker.server.create(pod("b"))
        version = listed["metadata"]["resourceVersion"]
        following = asyncio.create_task(asker.watch(f"{ALL}?watch=true&resourceVersion={version}", 4))
        while not any(each.verb == "watch" for each in asker.server.requests):
            await asyncio.sleep(0)
        await asker.ask("POST", f"{PODS}/a/binding", binding("n1"))
        asker.server.delete("Pod", "default/b")
        events = await following
        assert types(events) == [("ADDED", "b"), ("MODIFIED", "a"), ("MODIFIED", "b"), ("DELETED", "b")]
        versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in events]
        assert versions == sorted(versions)

    asking(work)


def test_an_object_that_is_no_longer_selected_is_deleted_for_the_watch() -> None:
    async def work(asker: Asker) -> None:
        asker.server.create(pod("a"))
        version = asker.server.objects.store.version
        asker.server.apply(pod("a") | {"status": {"phase": "Failed"}})
        asker.server.apply(pod("a") | {"status": {"phase": "Running"}})
        path = f"{ALL}?watch=1&resourceVersion={version}&fieldSelector=status.phase!=Failed"
        assert types(await asker.watch(path, 2)) == [("DELETED", "a"), ("ADDED", "a")]

    asking(work)


def test_bookmarks_and_the_end_that_was_asked_for() -> None:
    async def work(asker: Asker) -> None:
        asker.server.create(pod("a"))
        version = asker.server.objects.store.version
        path = f"{ALL}?watch=true&resourceVersion={version}&timeoutSeconds=0.1"
        assert await asker.watch(path) == []
        events = await asker.watch(f"{path}&allowWatchBookmarks=true")
        assert {each["type"] for each in events} == {"BOOKMARK"}
        assert events[0]["object"]["metadata"]["resourceVersion"] == str(version)

    asking(work, ApiServer(bookmark_seconds=0.02))


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_the_end_of_a_watch_is_a_number_of_seconds(seconds: str) -> None:
    async def work(asker: Asker) -> None:
        code, status = await asker.ask("GET", f"{ALL}?watch=true&timeoutSeconds={seconds}")
        assert code == 400
        assert "timeoutSeconds" in status["message"]

    asking(work)


def test_a_streaming_list() -> None:
    async def work(asker: Asker) -> None:
        asker.server.create(pod("a"))
        path = f"{ALL}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
        assert (await asker.ask("GET", path))[0] == 422
        events = await asker.watch(f"{path}&resourceVersionMatch=NotOlderThan", 2)
        assert types(events) == [("ADDED", "a"), ("BOOKMARK", "")]
        annotations = events[1]["object"]["metadata"]["annotations"]
        assert annotations == {"k8s.io/initial-events-end": "true"}

    asking(work)


def test_a_watch_of_a_version_that_is_compacted() -> None:
    async def work(asker: Asker) -> None:
        first = asker.server.create(pod("a"))["metadata"]["resourceVersion"]
        asker.server.create(pod("b"))
        asker.server.create(pod("c"))
        asker.server.compact(keep=1)
        events = await asker.watch(f"{ALL}?watch=true&resourceVersion={first}")
        assert [(each["type"], each["object"]["code"]) for each in events] == [("ERROR", 410)]
        events = await asker.watch(f"{ALL}?watch=true&resourceVersion={int(first) + 1}", 1)
        assert types(events) == [("ADDED", "c")]
        assert (await asker.ask("GET", f"{ALL}?resourceVersion={int(first) + 9}"))[0] == 504

    asking(work)


def test_a_restart_keeps_the_objects_and_the_address() -> None:
    async def work(asker: Asker) -> None:
        server, url = asker.server, asker.server.url
        server.create(pod("a"))
        await server.shut_down()
        with pytest.raises(OSError, match=r"Cannot connect|reset|closed"):
            await asker.ask("GET", ALL)
        await server.listen()
        assert server.url == url
        assert names((await asker.ask("GET", ALL))[1]) == ["a"]

    asking(work)
