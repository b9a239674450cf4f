"""Time in a fork: go to the next end of a pod or deadline of the scheduler, free what ended, schedule."""

from __future__ import annotations

from collections.abc import Callable

from .._base.value import record
from ..cycle import Scheduler, VirtualClock
from ..cycle.runtime.interrupts import Hold
from .calendar import Calendar


@record(frozen=True, eq=False)
class Course:
    """Parts that move while time passes."""

    scheduler: Scheduler
    clock: VirtualClock
    calendar: Calendar
    end_due: Callable[[], None]
    """Removes the pods whose end has come."""

    def advance(self, to: float | None, until: Callable[[], bool] | None) -> float | None:
        """See :meth:`.Fork.advance`. O(log n) for each end, and the attempts that it makes possible."""
        clock = self.clock
        with Hold() as hold:
            while True:
                while self.scheduler.schedule_one() is not None:
                    pass
                hold.check()
                if until is not None and until():
                    return clock.now
                end = self.calendar.next_end()
                if end is None and to is None:
                    return None  # nothing is known that could change anything
                moment = _first(end, self.scheduler.next_deadline())
                if to is not None and (moment is None or moment > to):
                    break
                assert moment is not None
                clock.advance_to(moment)
                self.end_due()
        clock.advance_to(to)
        return clock.now if until is None else None


def _first(end: float | None, deadline: float | None) -> float | None:
    """Return the earlier one of two moments of which either may be missing."""
    return deadline if end is None else end if deadline is None else min(end, deadline)
