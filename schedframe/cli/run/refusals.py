"""The event about a configuration that is refused while ``schedframe run`` goes on."""

from __future__ import annotations

import logging
import os
from typing import Final

from ..._base.value import record
from ...api import ClusterObject
from ...cycle import Scheduler
from ...errors import SchedframeError
from .leadership import Leadership

logger = logging.getLogger("schedframe.run")

REASON: Final = "ConfigurationRefused"
ACTION: Final = "Reload"
POD_NAME: Final = "POD_NAME"
"""Environment variable with the name of the pod of this process; without it, there is no event on a pod."""
POD_NAMESPACE: Final = "POD_NAMESPACE"
"""Environment variable with the namespace of that pod."""


@record(eq=False)
class RefusalEvents:
    """Records an event for each configuration that is refused, on an object that stands for this process."""

    scheduler: Scheduler
    leadership: Leadership

    def record(self, problem: str) -> bool:
        """Record why the configuration is refused; return whether there is an object for the event."""
        try:
            about = self._object()
        except SchedframeError as error:
            logger.warning("no event about the refused configuration: %s", error)
            return False
        if about is None:
            return False
        return self.scheduler.events.record(about, REASON, problem, warning=True, action=ACTION)

    def _object(self) -> ClusterObject | None:
        """Return the lease of a leader, or the pod of this process without an election; ``None``: neither.

        A standby writes no events. Its configuration is usually the leader's, which reports it.
        """
        if self.leadership.settings is not None:
            return self.leadership.held_lease()
        name, namespace = os.environ.get(POD_NAME), os.environ.get(POD_NAMESPACE)
        if not name or not namespace:
            return None
        pod: ClusterObject | None = self.leadership.cluster.get("Pod", f"{namespace}/{name}")
        return pod
