"""The end of ``schedframe run``: what is under way gets some time to be answered."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from ...cluster.kubernetes import KubernetesCluster
from ...cycle import Scheduler
from ...cycle.binding.pod_status import write_delayed_nominations

logger = logging.getLogger("schedframe.run")

POLL_SECONDS: Final = 0.02
"""Seconds between two looks at what is still under way."""
STATUS_SECONDS: Final = 1.0
"""Seconds without an answer to any status write after which these are given up: the next scheduler writes its
own."""


def finish_binds(
    scheduler: Scheduler,
    cluster: KubernetesCluster,
    grace: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Wait for binds and status writes under way, at most for *grace* seconds; then give them up.

    With no bind left, status writes are waited for only while they are answered. The next scheduler reads in
    the status of pods whose binds are left where they were going to be.
    """
    deadline = clock() + grace
    scheduler.sync()
    writes = scheduler.core.writes
    write_delayed_nominations(scheduler.core)
    left, answered_at = len(writes), clock()
    while (now := clock()) < deadline:
        binds = scheduler.binds_under_way()
        if binds or len(writes) != left:
            left, answered_at = len(writes), now
        if not binds and (not writes or now >= answered_at + STATUS_SECONDS):
            break
        sleep(POLL_SECONDS)
        scheduler.sync()
    if binds_left := scheduler.binds_under_way():
        logger.warning("%d binds had no answer within %g s", binds_left, grace)
    elif writes:
        logger.info("%d writes of the status of pods had no answer", len(writes))
    if binds_left or writes:
        cluster.abort()
