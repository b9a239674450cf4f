"""The view of the cluster: when it holds, until when, and what waits for that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from schedframe.cluster import ViewChange
from schedframe.cluster.kubernetes.errors import NoAnswer, Unreachable
from schedframe.cluster.kubernetes.view import HEARD_SECONDS, REFUSED_SECONDS, View

from .scripted import refusal, run

Body = Callable[[View, list[ViewChange]], Coroutine[Any, Any, None]]

AWAY = Unreachable("no route")


def with_view(body: Body, patience: float = 30.0) -> list[ViewChange]:
    """Run *body* with a view, in virtual time; return the changes that it reported."""
    view, changes = View(patience), []
    view.on_change = changes.append

    async def work() -> None:
        await body(view, changes)

    run(work)
    return changes


def fail(view: View, *kinds: str) -> None:
    for kind in kinds:
        view.failed(kind, AWAY, "no route")


def test_it_holds_while_any_kind_is_stale() -> None:
    async def body(view: View, changes: list[ViewChange]) -> None:
        view.lost("Pod", "reset")
        view.lost("Node", "reset")
        view.lost("Node", "reset")
        view.current("Pod")
        view.current("Service")
        assert view.holds
        view.current("Node")
        assert not view.holds

    assert with_view(body) == [
        ViewChange({"Pod": "reset"}, True),
        ViewChange({"Pod": "reset", "Node": "reset"}, True),
        ViewChange({"Node": "reset"}, True),
        ViewChange({}, False),
    ]


def test_the_deadline_counts_from_the_first_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def body(view: View, changes: list[ViewChange]) -> None:
        fail(view, "Pod", "Node")
        await asyncio.sleep(1000)
        assert view.holds
        view.current("Pod")
        for _ in range(29):
            await asyncio.sleep(1)
            view.carried()
        assert view.holds
        await asyncio.sleep(1.1)
        assert not view.holds

    changes = with_view(body)
    assert changes[-1] == ViewChange({"Node": "no route"}, False)
    assert (
        "pods are decided on a stale view from now on, 30 s after the server answered again: Node"
        in caplog.text
    )


def test_the_deadline_begins_again_if_the_server_goes_away_again() -> None:
    async def body(view: View, changes: list[ViewChange]) -> None:
        fail(view, "Pod", "Node")
        view.current("Pod")
        fail(view, "Pod")
        await asyncio.sleep(30 + 1)
        assert view.holds
        await asyncio.sleep(1000)
        assert view.holds
        view.current("Pod")
        await asyncio.sleep(30 - HEARD_SECONDS / 2)
        view.answered()
        assert view.holds
        await asyncio.sleep(HEARD_SECONDS)
        assert not view.holds

    with_view(body)


def test_what_a_dying_server_has_sent_is_no_answer() -> None:
    async def body(view: View, changes: list[ViewChange]) -> None:
        view.lost("Pod", "reset")
        view.carried()
        await asyncio.sleep(100)
        assert view.holds
        view.carried()
        await asyncio.sleep(25)
        view.carried()
        await asyncio.sleep(6)
        assert not view.holds

    with_view(body)


def test_a_kind_that_was_given_up_holds_again_only_once_it_was_current() -> None:
    async def body(view: View, changes: list[ViewChange]) -> None:
        fail(view, "Node")
        view.answered()
        await asyncio.sleep(4)
        fail(view, "Node")
        await asyncio.sleep(2)
        assert not view.holds
        view.failed("Node", AWAY, "another reason")
        assert not view.holds
        view.lost("Pod", "reset")
        assert view.holds
        view.current("Pod")
        assert not view.holds
        view.current("Node")
        view.lost("Node", "reset")
        assert view.holds

    with_view(body, patience=5.0)


def test_refusals_count_once_the_server_answers_others(caplog: pytest.LogCaptureFixture) -> None:
    """Just after its start an API server refuses everything."""
    forbidden = refusal(403, "Forbidden")

    async def body(view: View, changes: list[ViewChange]) -> None:
        for _ in range(20):
            view.failed("Pod", forbidden, "403")
            view.failed("Node", forbidden, "403")
            await asyncio.sleep(2)
        assert view.holds
        view.current("Pod")
        view.failed("Node", forbidden, "403")
        await asyncio.sleep(REFUSED_SECONDS - 0.1)
        view.failed("Node", forbidden, "403")
        assert view.holds
        await asyncio.sleep(0.2)
        view.failed("Node", forbidden, "403")
        assert not view.holds

    assert with_view(body)[-1] == ViewChange({"Node": "403"}, False)
    assert "decisions no longer wait for Node, which the server refuses: 403" in caplog.text


def test_another_failure_between_refusals_begins_their_time_again() -> None:
    async def body(view: View, changes: list[ViewChange]) -> None:
        view.lost("Pod", "reset")
        view.failed("Node", refusal(404), "404")
        view.current("Pod")
        for answer in (refusal(404), NoAnswer("reset"), refusal(404)):
            view.failed("Node", answer, "why")
            await asyncio.sleep(REFUSED_SECONDS - 1)
        view.failed("Node", refusal(404), "why")
        assert view.holds

    with_view(body)


def test_the_first_answer_wakes_all_that_sleep() -> None:
    woken: list[tuple[bool, float]] = []

    async def body(view: View, changes: list[ViewChange]) -> None:
        loop = asyncio.get_running_loop()

        async def sleep() -> None:
            result = await view.sleep(3)
            woken.append((result, loop.time()))

        fail(view, "Pod", "Node", "Service")
        sleepers = [asyncio.ensure_future(sleep()) for _ in range(2)]
        await asyncio.sleep(1)
        view.current("Pod")
        await asyncio.gather(*sleepers)
        view.current("Node")
        await sleep()

    with_view(body)
    assert woken == [(True, 1.0), (True, 1.0), (False, 4.0)]


def test_binds_wait_until_it_is_open_or_closed() -> None:
    async def body(view: View, changes: list[ViewChange]) -> None:
        await view.until_open()
        for end in (lambda: view.current("Pod"), view.close):
            view.lost("Pod", "reset")
            waiting = asyncio.ensure_future(view.until_open())
            await asyncio.sleep(1)
            assert not waiting.done()
            end()
            await waiting

    with_view(body)


def test_a_long_hold_is_logged_and_a_short_one_is_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def body(view: View, changes: list[ViewChange]) -> None:
        view.lost("Pod", "its watch is quiet")
        await asyncio.sleep(0.5)
        view.current("Pod")
        assert not caplog.records
        view.lost("Node", "reset")
        await asyncio.sleep(3)
        view.current("Node")

    with_view(body)
    assert [(each.levelname, each.message) for each in caplog.records] == [
        ("WARNING", "no pod is decided while the view of the cluster is stale: Node (reset)"),
        ("INFO", "pods are decided again, after 3.0 s"),
    ]


def test_a_scheduler_that_comes_late_gets_to_know_what_is_stale() -> None:
    async def body(view: View, changes: list[ViewChange]) -> None:
        view.report()
        view.lost("Node", "reset")
        changes.clear()
        view.report()

    assert with_view(body) == [ViewChange({"Node": "reset"}, True)]
