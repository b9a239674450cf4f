"""The inbox: order, messages that bring messages, and whom it wakes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from schedframe.cycle.runtime.inbox import Inbox


def inbox_of_texts(handle: Callable[[str], None]) -> Inbox[str]:
    inbox: Inbox[str] = Inbox()
    inbox.handlers[str] = handle
    return inbox


def test_messages_are_taken_in_order_with_those_that_come_meanwhile() -> None:
    seen: list[str] = []

    def handle(message: str) -> None:
        seen.append(message)
        if message == "first":
            inbox.put("third")

    inbox = inbox_of_texts(handle)
    inbox.put("first")
    inbox.put("second")
    assert len(inbox) == 2
    inbox.drain()
    assert seen == ["first", "second", "third"]
    assert not inbox


def test_each_type_of_message_has_its_handler() -> None:
    texts: list[str] = []
    numbers: list[int] = []
    inbox: Inbox[Any] = Inbox()
    inbox.handlers |= {str: texts.append, int: numbers.append}
    for message in ("a", 1, 2, "b"):
        inbox.put(message)
    inbox.drain()
    assert (texts, numbers) == (["a", "b"], [1, 2])


def test_a_message_that_fails_is_gone_and_the_others_stay() -> None:
    seen: list[str] = []

    def handle(message: str) -> None:
        if message == "bad":
            raise RuntimeError("no")
        seen.append(message)

    inbox = inbox_of_texts(handle)
    inbox.put("bad")
    inbox.put("good")
    with pytest.raises(RuntimeError, match="no"):
        inbox.drain()
    inbox.drain()
    assert seen == ["good"]


def test_a_message_that_is_interrupted_is_handled_again() -> None:
    seen: list[str] = []

    def handle(message: str) -> None:
        seen.append(message)
        if len(seen) == 1:
            raise KeyboardInterrupt

    inbox = inbox_of_texts(handle)
    inbox.put("a")
    inbox.put("b")
    with pytest.raises(KeyboardInterrupt):
        inbox.drain()
    inbox.drain()
    assert seen == ["a", "a", "b"]


def test_an_interruption_is_raised_once_and_before_all_else() -> None:
    seen: list[str] = []
    inbox = inbox_of_texts(seen.append)
    inbox.put("a")
    inbox.interrupt(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        inbox.drain()
    assert seen == []
    inbox.drain()
    assert seen == ["a"]


def test_who_is_woken_finds_the_message() -> None:
    inbox = inbox_of_texts(_ignore)
    found: list[int] = []
    inbox.wake_up = lambda: found.append(len(inbox))
    inbox.put("a")
    inbox.put("b")
    assert found == [1, 2]


def test_taking_the_wake_up_away_while_others_put_is_safe() -> None:
    inbox = inbox_of_texts(_ignore)
    stop = threading.Event()
    errors: list[Exception] = []

    def put() -> None:
        try:
            while not stop.is_set():
                inbox.put("a")
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


def _ignore(message: str) -> None:
    """A message without an effect."""


def _do_nothing() -> None:
    """No thread to wake."""
