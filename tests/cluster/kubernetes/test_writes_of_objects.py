"""Writes of plugins' objects and evictions, on the double: preconditions, lost answers, other clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from attrs import define, evolve

from schedframe.api import PersistentVolumeClaim, Pod, PodCondition
from schedframe.cluster import Conflict, NotFound, OutcomeUnknown
from schedframe.cluster.kubernetes.client import ApiClient
from schedframe.cluster.kubernetes.credentials import StaticToken
from schedframe.cluster.kubernetes.decoding import Decoder
from schedframe.cluster.kubernetes.kubeconfig import Access
from schedframe.cluster.kubernetes.lanes import Lanes
from schedframe.cluster.kubernetes.resources import Resource, known_resource
from schedframe.cluster.kubernetes.writer import Writer
from schedframe.testing import pod
from schedframe.testing.api_server import ApiServer, Fault
from schedframe.testing.virtual_loop import VirtualLoop

LOST = Fault.disconnect(applied=True)
KEY = "default/c"


@define(eq=False)
class Desk:
    """A writer, the server it writes to, and what the watch shows."""

    server: ApiServer
    writer: Writer
    shown: dict[tuple[str, str], Any]

    def value(self, cls: Any = PersistentVolumeClaim, key: str = KEY) -> Any:
        """Return the object as a watch would show it now, and go on showing it."""
        stored = self.server.get(cls.KIND, key)
        self.shown[cls.KIND, key] = made = Decoder(cls).one(msgspec.json.encode(stored))
        return made

    def writes(self) -> list[tuple[str, int | None]]:
        """Return verb and code of the requests."""
        return [(each.verb, each.status) for each in self.server.requests]


def at_desk(work: Callable[[Desk], Awaitable[None]]) -> None:
    """Run *work* in virtual time."""
    loop = VirtualLoop()

    async def run() -> None:
        async with ApiServer(clock=loop.time) as server:
            token = server.config_of("scheduler")["users"][0]["user"]["token"]
            client = ApiClient(Access(server.url, StaticToken(f"Bearer {token}")))
            shown: dict[tuple[str, str], Any] = {}
            writer = Writer(
                client=client, lanes=Lanes(0, 1), lookup=lambda kind, key: shown.get((kind, key)), find=find
            )
            try:
                await work(Desk(server, writer, shown))
            finally:
                await client.close()

    loop.run(run())
    loop.finish()


async def find(cls: Any) -> Resource:
    found = known_resource(cls.KIND)
    assert found is not None
    return found


def claim(**parts: Any) -> dict[str, Any]:
    metadata = {"name": "c", "namespace": "default", **parts}
    return {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": metadata, "spec": {}}


def new_claim(**parts: Any) -> PersistentVolumeClaim:
    made: PersistentVolumeClaim = Decoder(PersistentVolumeClaim).one(msgspec.json.encode(claim(**parts)))
    return made


def labelled(base: Any, **labels: str) -> Any:
    return evolve(base, metadata=evolve(base.metadata, labels=labels))


def test_an_update_sends_what_differs() -> None:
    async def work(desk: Desk) -> None:
        desk.server.create(claim(labels={"kept": "1", "dropped": "2"}))
        base = desk.value()
        stored = await desk.writer.update(labelled(base, kept="1", node="n1"))
        assert desk.server.requests[0].body == {
            "metadata": {
                "labels": {"node": "n1", "dropped": None},
                "uid": base.uid,
                "resourceVersion": base.metadata.resource_version,
            }
        }
        # The watch is still behind: the object as it was stored is the base of the next change.
        await desk.writer.update(labelled(stored, kept="1"))
        assert desk.value().labels == {"kept": "1"}
        assert desk.writes() == [("patch", 200), ("patch", 200)]

    at_desk(work)


def test_an_update_of_another_version_is_a_conflict() -> None:
    async def work(desk: Desk) -> None:
        desk.server.create(claim())
        base = desk.value()
        desk.server.apply(claim(labels={"by": "another"}))
        with pytest.raises(Conflict):
            await desk.writer.update(labelled(base, a="b"))
        assert desk.value().labels == {"by": "another"}

    at_desk(work)


def test_an_update_that_changes_nothing_sends_nothing() -> None:
    async def work(desk: Desk) -> None:
        desk.server.create(claim())
        base = desk.value()
        assert await desk.writer.update(base) is base
        assert desk.writes() == []

    at_desk(work)


@pytest.mark.parametrize("by_another", [False, True])
def test_an_update_that_conflicts_with_itself_is_done(by_another: bool) -> None:
    """The first request took effect without an answer, so its precondition fails the second time."""

    async def work(desk: Desk) -> None:
        desk.server.create(claim(labels={"a": "old"}))
        changed = labelled(desk.value(), a="new")
        fault = Fault.disconnect() if by_another else LOST
        desk.server.faults.add(fault, "patch")
        if not by_another:
            await desk.writer.update(changed)
            assert desk.value().labels == {"a": "new"}
        else:
            desk.server.apply(claim(labels={"a": "other"}))
            with pytest.raises(Conflict):
                await desk.writer.update(changed)
        assert desk.writes() == [("patch", None), ("patch", 409), ("get", 200)]

    at_desk(work)


def test_a_create_without_an_answer_is_repeated_and_read_back() -> None:
    async def work(desk: Desk) -> None:
        desk.server.faults.add(LOST, "create")
        made = await desk.writer.create(new_claim(labels={"a": "b"}))
        assert made == desk.value()
        assert desk.writes() == [("create", None), ("create", 409), ("get", 200)]

    at_desk(work)


@pytest.mark.parametrize("faults", [[], [Fault.disconnect()]])
def test_an_object_of_another_client_is_a_conflict(faults: list[Fault]) -> None:
    async def work(desk: Desk) -> None:
        desk.server.create(claim(labels={"a": "c"}))
        for fault in faults:
            desk.server.faults.add(fault, "create")
        with pytest.raises(Conflict):
            await desk.writer.create(new_claim(labels={"a": "b"}))

    at_desk(work)


def test_a_create_without_a_name_is_not_repeated() -> None:
    async def work(desk: Desk) -> None:
        desk.server.faults.add(LOST, "create")
        with pytest.raises(OutcomeUnknown):
            await desk.writer.create(new_claim(name="", generateName="c-"))
        assert desk.writes() == [("create", None)]
        assert len(desk.server.list("PersistentVolumeClaim")) == 1

    at_desk(work)


def test_an_eviction_without_an_answer_is_repeated() -> None:
    async def work(desk: Desk) -> None:
        desk.server.create(pod("a").on_node("n1"))
        victim = desk.value(Pod, "default/a")
        desk.server.faults.add(LOST, "delete")
        await desk.writer.evict(victim, PodCondition("DisruptionTarget", "True", "Preempted"))
        assert desk.writes() == [("patch", 200), ("delete", None), ("delete", 404)]

    at_desk(work)


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_victim_that_is_gone(is_made_again: bool) -> None:
    async def work(desk: Desk) -> None:
        desk.server.create(pod("a").on_node("n1"))
        victim = desk.value(Pod, "default/a")
        desk.server.delete("Pod", "default/a")
        if is_made_again:
            desk.server.create(pod("a").on_node("n1"))
        with pytest.raises(Conflict if is_made_again else NotFound):
            await desk.writer.evict(victim, None)
        assert len(desk.server.list("Pod")) == is_made_again

    at_desk(work)
