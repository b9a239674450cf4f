"""The view of the cluster as a whole: which followed kinds are known to be stale, and what waits for that.

A kind is stale from the end of its watch until everything that happened to it since then was handed over.
While one is, the view *holds*: no bind is sent, and the scheduler decides no pod, because its node may be
gone. The hold is bounded. From the first answer of the server after an outage the kinds have ``patience``
seconds; those that are stale then are no longer waited for until they are current again. All methods belong
to the thread of the loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from attrs import field

from ..._base.value import record
from ...errors import ClusterError
from ..port import ViewChange
from .errors import FORBIDDEN, METHOD_NOT_ALLOWED, NOT_FOUND, ApiError
from .loop_time import loop_time

logger = logging.getLogger("schedframe.kubernetes")

STALE_VIEW_SECONDS: Final = 30.0
"""Seconds from the first answer of the server for which decisions wait for stale kinds, by default."""
REFUSED_SECONDS: Final = 10.0
"""Seconds of refusals after which a kind is not waited for, while the server answers others. Just after its
start an API server refuses everything, because it has not read the roles yet."""
REFUSALS: Final = frozenset({FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED})
WARN_SECONDS: Final = 1.0
"""Seconds of a hold after which it is logged; to open a quiet watch again takes some hundredths."""
RESIDUE_SECONDS: Final = 1.0
"""Seconds after the beginning of a hold in which lines of open watches are no sign that the server answers:
what it sent before it died still arrives."""
HEARD_SECONDS: Final = 10.0
"""Seconds without an answer after which the server counts as away again, so that the deadline counts from its
next answer; pods and nodes are asked for every 5 s."""


@record(eq=False)
class View:
    """Stale kinds, and whether decisions and binds wait for them."""

    patience: float = STALE_VIEW_SECONDS
    on_change: Callable[[ViewChange], None] | None = None
    """Called with each change."""
    holds: bool = field(default=False, init=False)
    """Whether nothing may be sent to a node."""
    _stale: dict[str, str] = field(factory=dict, init=False)
    """Kind → why it is stale."""
    _left_out: set[str] = field(factory=set, init=False)
    """Stale kinds that are not waited for."""
    _refused_since: dict[str, float] = field(factory=dict, init=False)
    """Kinds of which the server has answered nothing but refusals since then."""
    _began: float = field(default=0.0, init=False)
    """When the hold began."""
    _heard_at: float | None = field(default=None, init=False)
    """When the server answered last during the hold."""
    _warning: asyncio.TimerHandle | None = field(default=None, init=False)
    _deadline: asyncio.TimerHandle | None = field(default=None, init=False)
    _warned: bool = field(default=False, init=False)
    _open: asyncio.Event = field(factory=asyncio.Event, init=False)
    """Set while nothing holds."""
    _sleepers: set[asyncio.Future[None]] = field(factory=set, init=False)
    _closed: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._open.set()

    def report(self) -> None:
        """Call ``on_change`` again, for one who comes late, if anything is stale."""
        if self._stale and self.on_change is not None:
            self.on_change(ViewChange(dict(self._stale), self.holds))

    # ---- what reflectors report --------------------------------------------------------------------------

    @property
    def is_away(self) -> bool:
        """Return whether the server has answered nothing since the hold began."""
        return self.holds and self._heard_at is None

    def is_stale(self, kind: str) -> bool:
        """Return whether *kind* is known to be stale."""
        return kind in self._stale

    def lost(self, kind: str, why: str) -> None:
        """Note that *kind* is stale from now on."""
        if self._stale.get(kind) != why:
            self._stale[kind] = why
            self._changed()

    def failed(self, kind: str, error: ClusterError, why: str) -> None:
        """Note that *kind* is stale, and could not be read."""
        if self._is_refused(kind, error) and kind not in self._left_out:
            logger.warning("decisions no longer wait for %s, which the server refuses: %s", kind, why)
            self._left_out.add(kind)
            self._stale[kind] = why
            self._changed()
        else:
            self.lost(kind, why)

    def _is_refused(self, kind: str, error: ClusterError) -> bool:
        """Return whether the server has answered nothing but refusals for long, while it answers others."""
        if not (isinstance(error, ApiError) and error.status in REFUSALS):
            self._refused_since.pop(kind, None)
            return False
        if self._heard_at is None:
            return False
        return loop_time() - self._refused_since.setdefault(kind, loop_time()) >= REFUSED_SECONDS

    def current(self, kind: str) -> None:
        """Note that everything that happened to *kind* was handed over."""
        if kind not in self._stale:
            return
        del self._stale[kind]
        self._left_out.discard(kind)
        self._refused_since.pop(kind, None)
        self.answered()
        self._changed()

    def answered(self) -> None:
        """Note that the server has answered a request; the first time, all that sleep are woken."""
        if not self.holds:
            return
        if self._heard_at is None:
            self._deadline = asyncio.get_running_loop().call_later(self.patience, self._expire)
            for sleeper in self._sleepers:
                if not sleeper.done():
                    sleeper.set_result(None)
        self._heard_at = loop_time()

    def carried(self) -> None:
        """Note that an open watch has carried something, which during a hold is an answer of the server."""
        if self._heard_at is not None or loop_time() - self._began > RESIDUE_SECONDS:
            self.answered()

    # ---- what waits --------------------------------------------------------------------------------------

    async def sleep(self, seconds: float) -> bool:
        """Wait so long; return early, and true, when the server answers again after an outage."""
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.add(sleeper)
        try:
            await asyncio.wait_for(sleeper, seconds)
        except TimeoutError:
            return False
        finally:
            self._sleepers.discard(sleeper)
        return True

    async def until_open(self) -> None:
        """Wait until something may be sent to nodes, or the cluster is closed."""
        await self._open.wait()

    def close(self) -> None:
        """Hold nothing up any more."""
        self._closed = True
        self._changed()

    # ---- the hold ----------------------------------------------------------------------------------------

    def _changed(self) -> None:
        held, waited = self.holds, self._stale.keys() - self._left_out
        self.holds = bool(waited) and not self._closed
        if self.holds and not held:
            self._begin()
        elif held and not self.holds:
            self._end()
        if self.on_change is not None and not self._closed:
            self.on_change(ViewChange(dict(self._stale), self.holds))

    def _begin(self) -> None:
        self._open.clear()
        self._began, self._heard_at, self._warned = loop_time(), None, False
        self._warning = asyncio.get_running_loop().call_later(WARN_SECONDS, self._warn)

    def _end(self) -> None:
        for timer in (self._warning, self._deadline):
            if timer is not None:
                timer.cancel()
        self._warning = self._deadline = None
        self._open.set()
        if self._warned:
            logger.info("pods are decided again, after %.1f s", loop_time() - self._began)

    def _warn(self) -> None:
        self._warned = True
        logger.warning("no pod is decided while the view of the cluster is stale: %s", self._reasons())

    def _expire(self) -> None:
        """Go on without the kinds that are stale still, unless the server is away again."""
        assert self._heard_at is not None  # the timer began with it
        if loop_time() - self._heard_at > HEARD_SECONDS:
            self._heard_at = None
            return
        logger.warning(
            "pods are decided on a stale view from now on, %g s after the server answered again: %s",
            self.patience,
            self._reasons(),
        )
        self._warned = False
        self._left_out.update(self._stale)
        self._changed()

    def _reasons(self) -> str:
        return "; ".join(f"{kind} ({why})" for kind, why in sorted(self._stale.items()))
