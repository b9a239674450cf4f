"""Faults by script and by chance: before the effect, after it, and in the middle of a watch."""

from __future__ import annotations

import asyncio
import json
from random import Random

import aiohttp
import pytest

from schedframe.testing.api_server import MIX, STREAM_MIX, Fault, Faults, RandomFaults, Request

from .asking import PODS, Asker, asking, pod

ALL = "/api/v1/pods"


@pytest.mark.parametrize("applied", [False, True])
def test_an_answer_before_or_after_the_effect(applied: bool) -> None:
    async def work(asker: Asker) -> None:
        asker.server.faults.add(Fault.answer(503, retry_after=2, applied=applied), "create", "pods")
        async with asker.session.post(
            asker.server.url + PODS, data=json.dumps(pod()), headers=asker.headers
        ) as reply:
            assert (reply.status, reply.headers["Retry-After"]) == (503, "2")
        assert len(asker.server.list("Pod")) == applied
        assert (await asker.ask("POST", PODS, pod("b")))[0] == 201
        assert asker.server.faults.met == 1

    asking(work)


@pytest.mark.parametrize("applied", [False, True])
def test_a_lost_connection(applied: bool) -> None:
    async def work(asker: Asker) -> None:
        asker.server.faults.add(Fault.disconnect(applied=applied), "create")
        with pytest.raises(aiohttp.ClientError):
            await asker.ask("POST", PODS, pod())
        assert len(asker.server.list("Pod")) == applied
        assert asker.server.requests[0].status is None

    asking(work)


@pytest.mark.parametrize("applied", [False, True])
def test_a_request_that_hangs(applied: bool) -> None:
    async def work(asker: Asker) -> None:
        asker.server.faults.add(Fault.hang(applied=applied), "create")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await asker.ask("POST", PODS, pod())
        assert len(asker.server.list("Pod")) == applied

    asking(work)


def test_the_effect_comes_although_the_client_has_left() -> None:
    async def work(asker: Asker) -> None:
        asker.server.faults.add(Fault.delay(0.2), "create")
        request = asyncio.create_task(asker.ask("POST", PODS, pod()))
        while not asker.server.requests:
            await asyncio.sleep(0.001)
        request.cancel()
        assert asker.server.list("Pod") == []
        while not asker.server.list("Pod"):
            await asyncio.sleep(0.005)

    asking(work)


def test_a_page_of_a_proxy() -> None:
    async def work(asker: Asker) -> None:
        asker.server.faults.add(Fault.page(), "create")
        answer = await asker.session.post(asker.server.url + PODS, json=pod(), headers=asker.headers)
        assert (answer.status, answer.content_type) == (200, "text/html")
        assert asker.server.list("Pod") == []

    asking(work)


@pytest.mark.parametrize(
    ("fault", "is_broken"),
    [(Fault.cut(1), True), (Fault.half_close(1), True), (Fault.end(1), False)],
)
def test_a_watch_that_ends_after_an_event(fault: Fault, is_broken: bool) -> None:
    async def work(asker: Asker) -> None:
        asker.server.create(pod("a"))
        asker.server.create(pod("b"))
        asker.server.faults.add(fault, "watch", "pods")
        lines: list[bytes] = []
        headers = asker.headers
        path = f"{asker.server.url}{ALL}?watch=true"
        async with asker.session.get(path, headers=headers) as reply:
            try:
                async for line in reply.content:
                    lines.append(line)
            except aiohttp.ClientPayloadError:
                assert is_broken
            else:
                assert not is_broken
        assert json.loads(lines[0])["object"]["metadata"]["name"] == "a"
        assert all(not line.endswith(b"\n") for line in lines[1:])

    asking(work)


def test_a_watch_that_falls_silent_and_one_whose_version_is_gone() -> None:
    async def work(asker: Asker) -> None:
        asker.server.create(pod("a"))
        asker.server.faults.add(Fault.silence(), "watch")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await asker.watch(f"{ALL}?watch=true")
        asker.server.faults.add(Fault.gone(1), "watch")
        events = await asker.watch(f"{ALL}?watch=true")
        assert [each["type"] for each in events] == ["ADDED", "ERROR"]

    asking(work)


def test_a_script_meets_what_it_names() -> None:
    faults = Faults()
    faults.add(Fault.answer(500), "get", "pods*", times=2, when=lambda request: request.name != "b")
    faults.add(Fault.answer(503), times=None)
    faults.add(Fault.cut(), "*")

    def met(verb: str, name: str = "a") -> int | None:
        fault = faults.take(Request(verb, "/", name=name))
        return None if fault is None else fault.status

    assert met("get") == 503  # no resource
    assert faults.waiting == 3
    faults.clear()
    assert (met("get"), faults.waiting) == (None, 0)
    with pytest.raises(ValueError, match="at least one"):
        faults.add(Fault.hang(), times=0)


def test_a_random_plan_is_decided_by_its_seed() -> None:
    def drawn(seed: int, share: float) -> list[Fault | None]:
        plan = RandomFaults(seed, share=share)
        rng = Random(3)
        verbs = [rng.choice(("watch", "create", "list")) for _ in range(2000)]
        return [plan.draw(Request(verb, "/")) for verb in verbs]

    assert drawn(1, 0.3) == drawn(1, 0.3)
    assert drawn(1, 0.3) != drawn(2, 0.3)
    assert drawn(1, 0.0) == [None] * 2000
    faults = drawn(1, 0.3)
    assert 450 < sum(fault is not None for fault in faults) < 750
    kinds = {fault.kind for fault in faults if fault is not None}
    assert kinds == {fault.kind for fault in (*MIX, *STREAM_MIX)}
