"""Content of the pages of ``schedframe run``, and of the log entries for SIGUSR2."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..._base.value import record
from ...cluster.kubernetes import KubernetesCluster
from ...cycle import Scheduler
from ...cycle.inspection import cache_dump, compare, on_core
from ...errors import SchedframeError
from .leadership import Leadership

if TYPE_CHECKING:
    from ...serve import Endpoints

logger = logging.getLogger("schedframe.run")


@record(eq=False)
class Observed:
    """The running scheduler, as its pages show it."""

    cluster: KubernetesCluster
    scheduler: Scheduler
    leadership: Leadership
    metrics: Callable[[], bytes] | None = None
    """The text of ``/metrics``."""
    refused: Callable[[], bool] = lambda: False
    """Whether the file of the configuration, as it is now, is refused."""
    is_synced: bool = False
    """Whether the first lists are complete; set by ``run``."""
    is_ending: bool = False
    """Whether a signal came that ends the process; set by ``run``."""

    def endpoints(self, *, profiling: bool) -> Endpoints:
        """Return the pages of the server."""
        from ...serve import Check, Endpoints, HealthChecks, SchedulerProbes
        from ...serve.checks import PING
        from ...serve.pod_resources import pod_resource_metrics

        scheduler, leadership = self.scheduler, self.leadership
        probes = SchedulerProbes(scheduler, lambda: leadership.leads)
        election = Check("leaderElection", leadership.problem, leadership.role)
        configuration = Check("configuration", lambda: None, self._refusal)
        # Another replica would see no more of the cluster, so the condition is met whatever the note says.
        view = Check("cluster-view", lambda: None, scheduler.core.view.description)
        return Endpoints(
            checks=HealthChecks(
                live=[PING, election],
                ready=[
                    Check("shutdown", self._shutdown),
                    Check("sched-handler-sync", self._unsynced),
                    probes.alive(),
                    probes.queue(),
                    configuration,
                    view,
                ],
            ),
            metrics=self.metrics,
            # A standby shows no pods, as with kube-scheduler: of several replicas one says what pods take.
            pod_resources=lambda: pod_resource_metrics(self.cluster.list("Pod") if leadership.leads else ()),
            config=lambda: {"componentconfig": scheduler.config.to_manifest()},
            cache=lambda: on_core(scheduler, lambda: cache_dump(scheduler)),
            queue=lambda: on_core(scheduler, lambda: scheduler.pending().to_dict()),
            comparison=lambda: on_core(scheduler, lambda: compare(scheduler)),
            profiling=profiling,
        )

    def _refusal(self) -> str | None:
        return (
            "the file as it is now is refused, the former one is in use; see the log"
            if self.refused()
            else None
        )

    def _shutdown(self) -> str | None:
        return "the process is ending" if self.is_ending else None

    def _unsynced(self) -> str | None:
        if self.is_synced:
            return None
        waits = self.leadership.settings is not None and not self.leadership.leads
        if waits and self.scheduler.config.config.delay_cache_until_active:
            return None  # a standby that follows nothing yet, as configured, is as ready as it can be
        return "the cluster is still being read"

    def log_state(self) -> None:
        """Write cache, queue and their comparison with the cluster to the log, from a thread of its own."""
        threading.Thread(target=self._log_state, name="schedframe-dump", daemon=True).start()

    def _log_state(self) -> None:
        scheduler = self.scheduler
        looks = {
            "cache": lambda: cache_dump(scheduler),
            "queue": lambda: scheduler.pending().to_dict(),
            "comparison of the cache with the cluster": lambda: compare(scheduler),
        }
        for name, look in looks.items():
            try:
                logger.info("%s: %s", name, json.dumps(on_core(scheduler, look), default=str))
            except SchedframeError as error:
                logger.warning("%s: %s", name, error)
