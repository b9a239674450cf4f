"""The callback by which a program learns that its scheduler has something to do."""

from __future__ import annotations

from collections.abc import Callable

from ..framework import Status
from .core import Core
from .messages import Fault


def contained_wake_up(core: Core, wake_up: Callable[[], None] | None) -> Callable[[], None] | None:
    """Return *wake_up* without its exceptions, which would leave the call that put a message.

    The first one is reported by the core, when it handles that message.
    """
    if wake_up is None:
        return None
    has_failed = False

    def contained() -> None:
        nonlocal has_failed
        try:
            wake_up()
        except Exception as error:  # noqa: BLE001 - a callback must not stop the thread that put a message
            if not has_failed:
                has_failed = True
                core.inbox.note(Fault(Status.from_error(error), None, "wake_up"))

    return contained
