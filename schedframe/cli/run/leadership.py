"""Leadership of this process: always, or while it has the lease that its replicas share."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Coroutine
from typing import Any, ClassVar, Final

from attrs import field

from ..._base.value import record
from ...api import NamespacedObject, ObjectMeta
from ...cluster.kubernetes import KubernetesCluster
from ...cluster.kubernetes.client import ApiClient
from ...cluster.kubernetes.errors import NotLeading
from ...cluster.kubernetes.events import Occurrence
from ...cluster.kubernetes.fence import Fence
from ...cluster.kubernetes.leader import (
    ApiLeases,
    ElectionSettings,
    Elector,
    LeaseName,
    ProcessWatchdog,
)
from ...config import LeaderElectionConfiguration
from ...cycle import Scheduler

logger = logging.getLogger("schedframe.leader")

LAST_EVENTS_SECONDS: Final = 0.3
"""Seconds in which events about the last binds are written before the lease is given back."""


def election_settings(config: LeaderElectionConfiguration) -> ElectionSettings:
    """Return the settings in a configuration with its defaults. Raises :class:`InputError`."""
    return ElectionSettings(
        lease_duration=config.lease_duration.seconds,
        renew_deadline=config.renew_deadline.seconds,
        retry_period=config.retry_period.seconds,
        lease=LeaseName(config.resource_namespace, config.resource_name),
    )


@record(frozen=True)
class HeldLease(NamespacedObject):
    """The names of a lease."""

    KIND: ClassVar[str] = "Lease"
    API_VERSION: ClassVar[str] = "coordination.k8s.io/v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta


@record(eq=False)
class Leadership:
    """Runs the scheduler while this replica leads, and otherwise lets it follow the cluster."""

    cluster: KubernetesCluster
    settings: ElectionSettings | None = None
    """``None`` without an election: this process schedules always."""
    elector: Elector | None = field(default=None, init=False)
    """``None`` before :meth:`join`, and without an election."""
    leads: bool = field(init=False)
    _client: ApiClient | None = field(default=None, init=False)
    _scheduler: Scheduler | None = field(default=None, init=False)
    _woken: threading.Event = field(factory=threading.Event, init=False)
    _ended: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.leads = self.settings is None

    def join(self) -> None:
        """Take part in the election, if there is one and this replica does not take part in it already."""
        fence = self.cluster.fence
        if self.settings is None or fence is None or self.elector is not None:
            return
        watchdog = ProcessWatchdog()
        if not watchdog.install():
            logger.warning(
                "this platform has no interval timer: a suspended leader is fenced by checks alone"
            )
        # Its own connections: requests for the lease never wait behind others, and have no fence.
        self._client = ApiClient(self.cluster.access)
        self.elector = Elector(
            ApiLeases(self._client, self.settings.lease),
            self.settings,
            fence,
            self._changed,
            cut_off=self.cluster.client.cut_off,
            watchdog=watchdog,
        )
        for handler in logging.getLogger("schedframe").handlers:
            handler.addFilter(LeaseFilter())
        self._on_loop(self._start(self.elector))

    async def _start(self, elector: Elector) -> None:
        elector.start()

    def drive(self, scheduler: Scheduler) -> None:
        """Schedule while this replica leads and follow the cluster while it does not, until :meth:`end`."""
        self._scheduler = scheduler
        while not self._ended:
            if self.leads:
                scheduler.run()
            else:
                self._follow(scheduler)

    def _follow(self, scheduler: Scheduler) -> None:
        """Take in what happened, then wait for more."""
        inbox = scheduler.core.inbox
        inbox.wake_up = self._wake
        try:
            self._woken.clear()
            scheduler.sync()
            if not (self.leads or self._ended or inbox):
                self._woken.wait()
        finally:
            inbox.wake_up = None

    def problem(self) -> str | None:
        """Return why this replica is not healthy, ``None`` if it is. Safe to call in any thread."""
        elector = self.elector
        return None if elector is None else elector.problem()

    def held_lease(self) -> HeldLease | None:
        """Return the lease, which events may be about; ``None`` if this replica does not hold it."""
        elector, settings = self.elector, self.settings
        if elector is None or settings is None or not self.leads:
            return None
        lease = settings.lease
        return HeldLease(ObjectMeta(lease.name, lease.namespace, elector.uid))

    def role(self) -> str | None:
        """Return what this replica does in the election; ``None`` outside of one. Safe in any thread."""
        elector = self.elector
        return None if elector is None else elector.role.value

    def wait_until_it_leads(self) -> bool:
        """Wait; return whether this replica leads, which it does not when :meth:`end` was called."""
        while not (self.leads or self._ended):
            self._woken.wait()
            self._woken.clear()
        return self.leads and not self._ended

    def end(self) -> None:
        """Let :meth:`drive` return. Safe to call in a handler of a signal."""
        self._ended = True
        self._woken.set()
        if self._scheduler is not None:
            self._scheduler.stop()

    def resign(self) -> None:
        """Give back the lease, once nothing is being written any more."""
        elector, client = self.elector, self._client
        if elector is None or client is None:
            return
        self.elector = None
        if self.leads:
            self._on_loop(self.cluster.recorder.flush(LAST_EVENTS_SECONDS))
        self._on_loop(elector.resign())
        self._on_loop(client.close())

    def _on_loop(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self.cluster.loop).result()

    def _changed(self, leads: bool) -> None:
        """Take note of a change; called on the thread of the loop."""
        self.leads = leads
        logger.info("scheduling begins" if leads else "scheduling pauses; the cluster is still followed")
        if leads:
            self._announce()
        elif self._scheduler is not None:
            self._scheduler.stop()
        self._woken.set()

    def _announce(self) -> None:
        """Record the event by which kube-scheduler says who leads."""
        elector, lease = self.elector, self.held_lease()
        if elector is None or lease is None:
            return
        regarding = {
            "apiVersion": lease.API_VERSION,
            "kind": lease.KIND,
            "namespace": lease.namespace,
            "name": lease.name,
            "uid": lease.uid,
        }
        note = f"{elector.identity} became leader"
        self.cluster.recorder.record(
            Occurrence(regarding, "Normal", "LeaderElection", note, "LeaderElection", lease.name, time.time())
        )

    def _wake(self) -> None:
        if not self._woken.is_set():
            self._woken.set()


def is_for_want_of_the_lease(error: BaseException | None) -> bool:
    """Return whether a write failed because another replica leads, which is no fault."""
    return isinstance(error, NotLeading) or (error is not None and isinstance(error.__cause__, NotLeading))


class LeaseFilter(logging.Filter):
    """Drops reports of writes that were not made because another replica leads."""

    def filter(self, record: logging.LogRecord) -> bool:
        """See :class:`logging.Filter`."""
        return not (record.exc_info and is_for_want_of_the_lease(record.exc_info[1]))


def new_fence(settings: ElectionSettings | None) -> Fence | None:
    """Return what stops writes without the lease; ``None`` if every write is allowed."""
    return None if settings is None else Fence()
