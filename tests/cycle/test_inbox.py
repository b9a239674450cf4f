"""The inbox: order, messages that bring messages, and whom it wakes."""

from __future__ import annotations

import threading

import pytest

from schedframe.cycle.runtime.inbox import Inbox


def test_messages_are_taken_in_order_with_those_that_come_meanwhile() -> None:
    inbox = Inbox()
    seen: list[str] = []

    def first(message: str) -> None:
        seen.append(message)
        inbox.put(seen.append, "third")

    inbox.put(first, "first")
    inbox.put(seen.append, "second")
    assert len(inbox) == 2
    inbox.drain()
    assert seen == ["first", "second", "third"]
    assert not inbox


def test_a_message_that_fails_is_gone_and_the_others_stay() -> None:
    inbox = Inbox()
    seen: list[int] = []

    def fail(message: object) -> None:
        raise RuntimeError("no")

    inbox.put(fail, None)
    inbox.put(seen.append, 2)
    with pytest.raises(RuntimeError, match="no"):
        inbox.drain()
    inbox.drain()
    assert seen == [2]


def test_who_is_woken_finds_the_message() -> None:
    inbox = Inbox()
    found: list[int] = []
    inbox.wake_up = lambda: found.append(len(inbox))
    inbox.put(_ignore, "a")
    inbox.put(_ignore, "b")
    assert found == [1, 2]


def test_taking_the_wake_up_away_while_others_put_is_safe() -> None:
    inbox = Inbox()
    stop = threading.Event()
    errors: list[Exception] = []

    def put() -> None:
        try:
            while not stop.is_set():
                inbox.put(_ignore, None)
        except Exception as error:  # noqa: BLE001 - shown by the assertion below
            errors.append(error)

    threads = [threading.Thread(target=put) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(2000):
        inbox.wake_up = _do_nothing
        inbox.wake_up = None
    stop.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert not errors
    inbox.drain()
    assert not inbox


def test_messages_of_a_poster_are_diverted_from_one_moment_to_another() -> None:
    inbox, plain, other, found = Inbox(), list[int](), list[int](), list[int]()
    post, divert = inbox.diverting_poster(plain.append, other.append)
    inbox.wake_up = lambda: found.append(len(inbox))
    for diverted in (None, True, True, False, True, False):
        if diverted is not None:
            divert(diverted)
        post(len(found))
    inbox.drain()
    assert (plain, other, found) == ([0, 3, 5], [1, 2, 4], [1, 2, 3, 4, 5, 6])


def _ignore(message: object) -> None:
    """A message without an effect."""


def _do_nothing() -> None:
    """No thread to wake."""
