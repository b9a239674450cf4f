"""One replica of an election: takes the lease, renews it, gives it back, and moves the fence with it.

The clocks of two replicas are never compared. A replica takes the lease of another one when it has not seen
it change for the duration that the lease says, by its own clock. So a leader that stops writing earlier than
that after its last renewal is safe, whatever the clocks show.

The resource version proves that nothing was written between two looks at a Lease. Nothing proves it for one
that is absent at both, because it may have been created and deleted in between. So no time is counted from
absence: a standby creates the Lease, in the name of the holder that it saw last or in its own, and waits from
then on for the duration.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum
from math import inf
from random import Random
from typing import Final

from attrs import field

from ...._base.value import record
from ....errors import ClusterError
from ..errors import CONFLICT, FORBIDDEN, ApiError
from ..fence import Fence
from .lease import UNHELD, LeaseRecord, Leases
from .settings import ElectionSettings
from .watchdog import NoWatchdog, Watchdog

logger = logging.getLogger("schedframe.leader")

RENEW_JITTER: Final = (0.8, 1.0)
"""Range of the wait between two renewals, as a share of the retry period: never longer than it."""
LOOK_JITTER: Final = (0.4, 0.6)
"""The same between two looks at the lease of another replica, so that a released lease is taken soon."""
RETRY_JITTER: Final = (0.3, 0.5)
"""The same after a failure."""
SETTLE_SECONDS: Final = 0.25
"""Seconds between taking a lease that was given back and the first decision.

The watch must show the last binds of the former leader by then. An expired lease leaves enough time anyway.
"""
RELEASE_SECONDS: Final = 2.0
"""Deadline for giving the lease back."""


def new_identity() -> str:
    """Return a name for this replica that no other process has, at no time."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Role(Enum):
    """State of a replica in the election."""

    STANDBY = "standby"
    """It follows the cluster and writes nothing."""
    TAKING_OVER = "taking over"
    """It has the lease, and waits until it sees what the former leader did."""
    LEADER = "leader"


@record(eq=False)
class Elector:
    """One replica in an election. All methods but the looks at it belong to the thread of the loop."""

    leases: Leases
    settings: ElectionSettings
    fence: Fence
    on_change: Callable[[bool], None]
    """Called with whether this replica leads, on the thread of the loop."""
    cut_off: Callable[[], Awaitable[None]] | None = None
    """Ends the connections over which something was written, when the lease was lost."""
    identity: str = field(factory=new_identity)
    watchdog: Watchdog = field(factory=NoWatchdog)
    wall: Callable[[], float] = time.time
    role: Role = field(default=Role.STANDBY, init=False)
    _record: LeaseRecord = field(default=UNHELD, init=False)
    """The lease as it was seen last."""
    _changed_at: float = field(default=0.0, init=False)
    """When the record was first seen so, by the clock of the fence."""
    _duration: float = field(default=0.0, init=False)
    """That of the holder, in seconds: two renewals in a row came with it; until then the longest one."""
    _is_confirmed: bool = field(default=False, init=False)
    """Whether two renewals of the holder in a row came with that duration."""
    _shown: float = field(default=0.0, init=False)
    """The duration that the last renewal was first seen with; it may have been edited since the renewal."""
    _opens_at: float = field(default=-inf, init=False)
    """The fence stays closed until then: the holder of a Lease that was deleted may write until then."""
    _is_fresh: bool = field(default=False, init=False)
    """Whether the record is as stored, as far as this replica knows, so that it need not be read."""
    _may_be_stored: bool = field(default=False, init=False)
    """Whether the stored lease may name this replica: it claimed it, and saw nothing else since."""
    _was_given_back: bool = field(default=False, init=False)
    """Whether no replica had the lease when this one claimed it last."""
    _failure: str = field(default="", init=False)
    """Error of the last attempt; empty after a success."""
    _ending: asyncio.Event = field(factory=asyncio.Event, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _rng: Random = field(factory=lambda: Random(os.urandom(8)), init=False)

    # ---- looking -----------------------------------------------------------------------------------------

    @property
    def holder(self) -> str:
        """Identity of the replica that had the lease when it was last seen; empty if none had it."""
        return self._record.holder

    @property
    def uid(self) -> str:
        """The uid of the Lease as it was seen last; empty before."""
        return self._record.uid

    def problem(self) -> str | None:
        """Return why this replica is not healthy: it leads, and its renewals stall. ``None`` if it is."""
        if self._task is not None and self._task.done() and not self._ending.is_set():
            return "the election ended by a fault"
        if self.role is Role.STANDBY:
            return None
        late = self.fence.clock() - self.fence.deadline
        return f"no renewal of the lease until {late:.1f} s after the deadline" if late > 0 else None

    def __str__(self) -> str:
        if self.role is not Role.STANDBY:
            return f"{self.role.value} as {self.identity}"
        held = f", lease held by {self.holder}" if self.holder else ""
        return f"standby{held}{f' ({self._failure})' if self._failure else ''}"

    # ---- the loop ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take part, until :meth:`resign` is called."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            while not self._ending.is_set():
                if self.role is Role.STANDBY:
                    await self._stand_by()
                else:
                    await self._lead()
        except Exception:
            logger.exception("a fault in the election for %s", self.settings.lease)
            raise

    async def resign(self) -> None:
        """Take part no more, and give back the lease. Nothing may be written any more when this is called."""
        self._ending.set()
        if self._task is not None:
            await asyncio.wait((self._task,), timeout=self.settings.request_seconds)
            self._task.cancel()
        self.role = Role.STANDBY
        self.fence.close()
        try:
            if self._may_be_stored:
                await self._release()
        finally:
            self.watchdog.disarm()

    async def _stand_by(self) -> None:
        if not await self._attempt():
            await self._pause(self._seconds_to_next_look())
            return
        self.role = Role.TAKING_OVER
        logger.info("%s has the lease %s", self.identity, self.settings.lease)
        if self._was_given_back:
            await self._pause(SETTLE_SECONDS)
        if self._ending.is_set():
            return
        if not self.fence.is_open():  # the process was suspended until the answer
            self.role = Role.STANDBY
            return
        self.role = Role.LEADER
        self.on_change(True)

    def _seconds_to_next_look(self) -> float:
        if self._failure:
            return self._share(RETRY_JITTER)
        ends_at = self._opens_at if self.holder == self.identity else self._expires_at()
        return max(0.0, min(self._share(LOOK_JITTER), ends_at - self.fence.clock()))

    async def _lead(self) -> None:
        remaining = self.fence.deadline - self.fence.clock()
        wait = self._share(RENEW_JITTER if self._is_fresh else RETRY_JITTER)
        await self._pause(min(wait, max(0.0, remaining)))
        if self._ending.is_set() or await self._attempt():
            return
        if not self.fence.is_open():
            await self._lose(f"not renewed for {self.settings.renew_deadline:g} s: {self._failure}")
        elif self._is_held_by_another():
            await self._lose(f"taken by {self.holder}")

    async def _lose(self, why: str) -> None:
        self.fence.close()
        self.watchdog.disarm()
        self.role = Role.STANDBY
        logger.warning("the lease %s is lost: %s; waiting for it again", self.settings.lease, why)
        self.on_change(False)
        if self.cut_off is not None:
            await self.cut_off()

    # ---- one attempt -------------------------------------------------------------------------------------

    async def _attempt(self) -> bool:
        """Take or renew the lease; return whether this replica has it now, and may write."""
        try:
            if not self._is_fresh:
                self._observe(await self.leases.read(self._seconds()) or await self._in_place_of_none())
            if self._is_held_by_another():
                self._succeeded()
                self._is_fresh = False
                return False
            return await self._claim()
        except ClusterError as error:
            self._is_fresh = False
            self._failed(error)
            return False
        except Exception as error:
            # A lease of an unexpected form, edited by hand for example, is as good as no answer.
            self._is_fresh = False
            if not self._failure:
                logger.exception("a fault in the election for %s; trying again", self.settings.lease)
            self._failure = f"{type(error).__name__}: {error}"
            return False

    async def _in_place_of_none(self) -> LeaseRecord:
        """Restore a Lease that was deleted, if another replica held it when it was seen last.

        The holder writes until it notices. If it is alive it goes on with the restored Lease; if it is not,
        the Lease expires like any other.
        """
        if self.holder in ("", self.identity):
            return UNHELD
        lost = self._record.restored(self._seconds_held())
        restored = await self.leases.write(lost, self._seconds())
        logger.info("the lease %s was deleted; restored for %s", self.settings.lease, self.holder)
        return restored

    async def _claim(self) -> bool:
        """Write the claim; return whether the fence is open with it."""
        started = self.fence.clock()
        self._was_given_back = bool(self._record.manifest) and not self._record.holder
        claim = self._record.claimed(self.identity, self.settings.lease_duration, self.wall())
        if self.role is not Role.STANDBY and not self.fence.is_open():
            raise ClusterError("the deadline passed before the renewal")
        self._may_be_stored, self._is_fresh = True, False  # until the answer comes
        self._observe(await self.leases.write(claim, self._seconds()))
        self._is_fresh = True
        self._succeeded()
        if self.fence.clock() < self._opens_at:
            return False
        self.fence.extend(started + self.settings.renew_deadline)
        self.watchdog.arm(started + self.settings.last_moment - self.fence.clock())
        return True

    def _observe(self, record: LeaseRecord) -> None:
        before, self._record = self._record, record
        if record != before:
            self._changed_at = self.fence.clock()
        if record.holder != before.holder:
            self._duration = self._shown = record.duration
            self._is_confirmed = False
        elif record.renewed != before.renewed:
            self._learn_duration(record.duration)
        if record.holder not in ("", before.holder, self.identity):
            logger.info("the lease %s is held by %s", self.settings.lease, record.holder)
        self._may_be_stored = record.holder == self.identity
        is_new = not before.manifest or before.uid != record.uid
        if self._may_be_stored and is_new and not self.fence.is_open():
            self._keep_closed()

    def _learn_duration(self, shown: float) -> None:
        """Take the holder's duration from a renewal, unless it was edited between that and this look.

        Each renewal writes the holder's own number, which its process never changes. So two renewals in a
        row that show one number tell it, and another number after that is an edit: it may not shorten the
        wait for a holder that lives, nor let a dead one hold the lease for 68 years.
        """
        if shown == self._shown:
            self._duration, self._is_confirmed = shown, True
        elif not self._is_confirmed:
            self._duration = max(shown, self._duration)
        self._shown = shown

    def _keep_closed(self) -> None:
        """Let the fence stay closed for the duration: this Lease may replace one of another replica."""
        self._opens_at = self.fence.clock() + self._seconds_held()
        logger.info(
            "the lease %s was not there, so it may have been deleted while another replica leads: "
            "scheduling begins in %g s",
            self.settings.lease,
            self._seconds_held(),
        )

    def _is_held_by_another(self) -> bool:
        record = self._record
        if record.holder in ("", self.identity):
            return False
        return self.fence.clock() < self._expires_at()

    def _expires_at(self) -> float:
        """Return when the lease of another replica may be taken."""
        return self._changed_at + self._seconds_held()

    def _seconds_held(self) -> float:
        """Return for how long the holder may write after its last renewal.

        Not shorter than by the settings of this replica: the Lease may have been edited before it was seen.
        """
        return max(self._duration, self.settings.lease_duration)

    def _succeeded(self) -> None:
        if self._failure:
            logger.info("the lease %s can be reached again", self.settings.lease)
        self._failure = ""

    def _failed(self, error: ClusterError) -> None:
        if isinstance(error, ApiError) and error.status == CONFLICT:
            return  # another replica was faster; the next attempt reads what it wrote
        if not self._failure:
            fix = ""
            if isinstance(error, ApiError) and error.status == FORBIDDEN:
                fix = "; grant get, create and update of leases, or run one replica with --leader-elect=false"
            logger.warning("the lease %s: %s%s", self.settings.lease, error, fix)
        self._failure = str(error)

    async def _release(self) -> None:
        """Store that no replica has the lease. A failure is logged: then it expires."""
        with suppress(TimeoutError):
            async with asyncio.timeout(RELEASE_SECONDS):
                try:
                    try:
                        await self._store_release()
                    except ApiError as error:
                        if error.status != CONFLICT:
                            raise
                        self._is_fresh = False  # it was edited in between
                        await self._store_release()
                except Exception as error:  # noqa: BLE001 - whatever the lease looks like, the process ends
                    logger.warning("the lease %s is not given back: %s", self.settings.lease, error)

    async def _store_release(self) -> None:
        if not self._is_fresh:
            self._observe(await self.leases.read(RELEASE_SECONDS) or UNHELD)
        if self.holder != self.identity:
            return
        if self.fence.clock() < self._opens_at:  # then the next holder must wait as well
            logger.info("the lease %s is new; it is left to expire", self.settings.lease)
            return
        self._record = await self.leases.write(self._record.released(self.wall()), RELEASE_SECONDS)
        logger.info("the lease %s is given back", self.settings.lease)

    # ---- time --------------------------------------------------------------------------------------------

    def _seconds(self) -> float:
        """Return the deadline of the next request: the fence's if that is earlier."""
        seconds = self.settings.request_seconds
        if self.role is Role.STANDBY:
            return seconds
        return max(0.001, min(seconds, self.fence.deadline - self.fence.clock()))

    def _share(self, jitter: tuple[float, float]) -> float:
        return self.settings.retry_period * self._rng.uniform(*jitter)

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until :meth:`resign` is called."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ending.wait(), seconds)
