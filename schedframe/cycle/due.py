"""Work that is due without any message: ends of backoffs and waits, timeouts of permit, expiries, timers."""

from __future__ import annotations

from .._base.plugin_faults import plugin_faults
from .._base.value import record
from ..framework.faults import from_exception
from .binding.bind import resume
from .binding.permit import PermitDesk
from .core import Core
from .handlers import EventHandlers


@record(eq=False)
class DueWork:
    """Work of the core with a deadline. Core only."""

    core: Core
    permits: PermitDesk
    handlers: EventHandlers

    def next_deadline(self) -> float | None:
        """Return when something is due, in seconds of the clock; ``None`` if nothing is."""
        core = self.core
        first = core.queue.next_deadline() if core.queue.is_timed() else None
        for part in (core.waiting, core.paused, core.cache, core.timers):
            deadline = part.next_deadline()
            if deadline is not None and (first is None or deadline < first):
                first = deadline
        return first

    def do(self) -> None:
        """Do what is due in this turn. What is left when it is interrupted stays due."""
        core, now, deadline = self.core, self.core.now, self.next_deadline()
        if deadline is None or deadline > now:
            return
        core.queue.flush()
        self.permits.expire(now)
        resume(core, list(core.paused.due(now)))
        for pod in core.cache.expire(now):
            self.handlers.expired(pod)
        for action in core.timers.due(now):
            try:
                action()
            except plugin_faults() as error:  # a fault of the plugin that asked for the call
                core.report(from_exception("", "call_later", error), None, "call_later")
            core.inbox.drain()  # what it asked for happens before the next cycle, too

    def take_in(self) -> None:
        """Begin a turn in the middle of a cycle, while an extender is asked: the pod may be gone then."""
        self.core.begin_turn()
        self.do()
