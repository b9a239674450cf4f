"""Figures of ``schedframe run``: a live table on a terminal, otherwise a line every half minute."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Final

from attrs import evolve, field
from typing_extensions import override

from ..._base.value import record
from ..._base.visible import visible
from ...api import Pod
from ...cluster.kubernetes import KubernetesCluster
from ...cycle import Scheduler, SchedulerObserver
from ...framework import Status
from .leadership import is_for_want_of_the_lease

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

logger = logging.getLogger("schedframe.run")

SECONDS_OF_A_LINE: Final = 30.0
"""Seconds between two lines; a line that would say the same is left out."""
SECONDS_OF_A_TABLE: Final = 1.0
"""Seconds between two states of the table."""


@record(frozen=True)
class Figures:
    """The state at one moment."""

    bound: int
    """Pods bound since the start."""
    rate: float
    """Pods bound a second since the last figures."""
    binding: int
    pools: dict[str, int]
    """Pool of the queue → pods in it."""
    faults: int
    last_fault: str

    def fields(self) -> dict[str, object]:
        """Return names and values to show; pools without pods are left out."""
        shown: dict[str, object] = {
            "bound": self.bound,
            "rate": f"{self.rate:.1f}/s",
            "binding": self.binding,
        }
        shown |= {pool: count for pool, count in self.pools.items() if count}
        if self.faults:
            shown |= {"faults": self.faults, "last_fault": self.last_fault}
        return shown


@record(eq=False)
class StatusDisplay(SchedulerObserver):
    """Shows the figures of a scheduler, in its own thread by its own timer."""

    cluster: KubernetesCluster
    on_terminal: bool = field(factory=sys.stderr.isatty)
    faults: int = field(default=0, init=False)
    """Faults so far."""
    _last_fault: str = field(default="", init=False)
    _before: Figures | None = field(default=None, init=False)
    _before_at: float = field(default=0.0, init=False)
    _live: Live | None = field(default=None, init=False)

    @override
    def faulted(self, status: Status, pod: Pod | None) -> None:
        if is_for_want_of_the_lease(status.error):
            return
        self.faults += 1
        self._last_fault = status.message if pod is None else f"{pod.key}: {status.message}"

    def begin(self, scheduler: Scheduler) -> None:
        """Show the figures from now on."""
        if self.on_terminal:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()
        self._tick(scheduler)

    def end(self) -> None:
        """Show nothing more."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _tick(self, scheduler: Scheduler) -> None:
        core = scheduler.core
        now = core.clock()
        self._show(self._figures(scheduler, now))
        seconds = SECONDS_OF_A_TABLE if self.on_terminal else SECONDS_OF_A_LINE
        core.timers.add(now + seconds, lambda: self._tick(scheduler))

    def _figures(self, scheduler: Scheduler, now: float) -> Figures:
        bound, before = self.cluster.binder.bound, self._before
        rate = 0.0
        if before is not None and now > self._before_at:
            rate = (bound - before.bound) / (now - self._before_at)
        self._before_at = now
        pools = {str(pool): count for pool, count in scheduler.core.queue.counts().items()}
        return Figures(bound, rate, scheduler.binds_under_way(), pools, self.faults, self._last_fault)

    def _show(self, figures: Figures) -> None:
        before, self._before = self._before, figures
        if self._live is not None:
            self._live.update(_table(figures), refresh=True)
        elif before is not None and evolve(figures, rate=0.0) != evolve(before, rate=0.0):
            logger.info("status", extra=figures.fields())


def _table(figures: Figures) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    for name, value in figures.fields().items():
        table.add_row(name, Text(visible(str(value))))  # without markup, which a fault may look like
    return table
