"""``ApiServer.wait_for``: it returns when the server's objects or requests make a condition true."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable

import pytest

from schedframe.testing import node
from schedframe.testing.api_server import ApiServer
from schedframe.testing.api_server import server as module


def ask(server: ApiServer) -> None:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    token = server.config_of("admin")["users"][0]["user"]["token"]
    connection.request("GET", "/api/v1/nodes", headers={"Authorization": f"Bearer {token}"})
    connection.getresponse().read()
    connection.close()


def in_a_thread(asked: threading.Event, act: Callable[[], object]) -> threading.Thread:
    """Return a thread that acts once the condition was asked for the first time."""

    def wait_and_act() -> None:
        assert asked.wait(30)
        act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def test_a_change_and_a_request_end_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASK_AGAIN_SECONDS", 1000.0)
    with ApiServer() as server:
        for act, condition in (
            (lambda: server.create(node("n")), lambda: server.list("Node")),
            (lambda: ask(server), lambda: server.requests),
        ):
            asked = threading.Event()

            def asking(condition: Callable[[], object] = condition, asked: threading.Event = asked) -> object:
                answer = condition()
                asked.set()
                return answer

            thread = in_a_thread(asked, act)
            assert server.wait_for(asking)
            thread.join()
        assert not server.objects.store.listeners
        assert not server.hooks


def test_what_happens_elsewhere_is_seen_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASK_AGAIN_SECONDS", 0.01)
    answers = iter([0, None, "there"])
    with ApiServer() as server:
        assert server.wait_for(lambda: next(answers)) == "there"


def test_what_does_not_happen_is_an_error() -> None:
    with ApiServer() as server:
        with pytest.raises(TimeoutError, match=r"not within 0\.01 s"):
            server.wait_for(list, seconds=0.01)
        assert not server.hooks
